package model

import (
	"fmt"
	"testing"
)

// cleanup is the protocol that deletes what intents leave behind, by partition and hour. Time is counted in ticks. A request arrives
// within a tick, or never; a worker may sleep for as long as it likes between its steps.
type cleanup struct {
	ops       int // with one, both workers do everything; with two, one of them is for the clean-ups
	retention uint8
	ticks     uint8
	lastOp    uint8 // no op begins later

	insertFirst  bool // the row ~g|hour is inserted, and only who succeeds sends the message
	overOnly     bool // who finds an intent closed sends no clean-up: that was the business of who closed it
	oldOnly      bool // who finds an op too old sends none
	hidesBriefly bool // the message is hidden for the retention, and not for what is left of the hour besides
	hourOfOp     bool // the hour is the op's, not that of the worker's clock after closing
	hourBefore   bool // the hour is that of the worker's clock before closing
	sleepy       bool // who has slept since looking for the row sends the clean-up all the same
	ownFirst     bool // the clean-up deletes its own row first
	deletesLive  bool
	deletesYoung bool // the clean-up looks at states alone
	neverTooOld  bool // an absent intent is fenced however old its op is
	staleFence   bool // the age is looked at before reading the intent, and not when the abort marker is sent
	weak         bool // not a bug: what stays is wrong only if there was a later clean-up
}

const (
	hour    = 2 // ticks
	maxHour = 6
	opsMax  = 2
)

type cleanOp struct {
	began   uint8 // tick + 1
	flying  bool  // its EGT is on its way, for the first time or again
	intent  uint8
	closed  uint8 // hour + 1
	done    bool  // its effects
	told    bool  // somebody was told that it was not committed
	commits uint8
}

type cleanHand struct{ pc, op, hour, sent uint8 }

type cleanState struct {
	now     uint8
	ops     [opsMax]cleanOp
	msgs    uint8
	rows    uint8          // ~g|hour
	due     [maxHour]uint8 // messages of clean-ups; 0 is none
	sent    uint8          // hours of which there has ever been one
	workers [2]cleanHand
	wrong   uint8
}

const (
	cIdle = iota
	cRead
	cAbort
	cClose
	cLook
	cSend
	cInsert
	cDrop
	cOwnFirst
	cIntents
	cOlder
	cOwn
	cMessage
)

var cleanWrongs = [...]string{"", "a write was committed twice", "a write was committed of which somebody was told that it was not",
	"somebody was told that a committed write was not committed"}

func (c *cleanup) next(s cleanState, step func(who, what string, to cleanState)) {
	for i := range c.ops {
		n, op := s, &s.ops[i]
		if op.began == 0 && s.now <= c.lastOp && (i == 0 || s.ops[i-1].began != 0) { // they are alike: one order will do
			n.ops[i].began, n.ops[i].flying = s.now+1, true
			n.msgs |= 1 << i
			step("writer", "enqueues, and sends its EGT", n)
		}
		if op.flying && op.intent == absent { // it goes on flying: the next one to arrive is a duplicate
			n := s
			o := &n.ops[i]
			if o.intent, o.commits = live, min(2, o.commits+1); o.commits == 2 {
				n.wrong = 1
			} else if o.told {
				n.wrong = 2
			}
			step("storage", "EGT arrives", n)
		}
	}
	// The last tick is the end of time: all that sleeps has woken up, and all clean-ups are due.
	if s.now < c.ticks-1 || s.now < c.ticks && s.msgs == 0 && c.resting(s) {
		n := s
		n.now++
		for i := range n.ops {
			if n.ops[i].flying && n.now > n.ops[i].began { // a tick after it was sent
				n.ops[i].flying = false
			}
		}
		step("time", "passes", n)
	}
	for i := range s.workers {
		c.worker(s, i, step)
	}
}

// resting says that no worker has more to do than to clean up.
func (c *cleanup) resting(s cleanState) bool { return s.workers == [2]cleanHand{} }

// old says that nothing asks for an op any more.
func (c *cleanup) old(s cleanState, op uint8) bool { return s.now > s.ops[op].began-1+c.retention }

func (c *cleanup) worker(s cleanState, i int, step func(who, what string, to cleanState)) {
	w := s.workers[i]
	to := func(what string, n cleanState, h cleanHand) {
		if n.workers[i] = h; h.pc == cIdle {
			n.workers[i] = cleanHand{}
		}
		if a, b := n.workers[0], n.workers[1]; c.ops > 1 {
			// each has its own work
		} else if a.pc > b.pc || a.pc == b.pc && (a.op > b.op || a.op == b.op && (a.hour > b.hour || a.hour == b.hour && a.sent > b.sent)) {
			n.workers[0], n.workers[1] = b, a
		}
		step("worker", what, n)
	}
	at := func(pc uint8) cleanHand { return cleanHand{pc: pc, op: w.op, hour: w.hour} }
	n := s
	op := &n.ops[w.op]
	clock := s.now / hour
	if w.pc != cIdle {
		to("crashes", s, cleanHand{})
	}
	switch w.pc {
	case cIdle:
		for op := range uint8(c.ops) {
			if s.msgs&(1<<op) != 0 && (c.ops == 1 || i == 0) {
				to(fmt.Sprint("takes the message of op ", op), s, cleanHand{pc: cRead, op: op})
			}
		}
		for h, due := range s.due {
			if due != 0 && due <= s.now && (c.ops == 1 || i == 1) {
				first := cleanHand{pc: cIntents, hour: uint8(h)}
				if c.ownFirst {
					first.pc = cOwnFirst
				}
				to(fmt.Sprint("takes the clean-up of hour ", h), s, first)
			}
		}
	case cRead:
		h := at(cAbort)
		h.sent = s.now
		switch op.intent {
		case live:
			h = at(cClose)
			if h.hour = clock; !c.hourBefore {
				h.hour = 0
			}
		case done, aborted:
			if h = at(cLook); c.overOnly {
				h = at(cDrop)
			}
		default:
			if c.old(s, w.op) && !c.neverTooOld { // whoever asks is told that it is too late to know
				if h = at(cLook); c.overOnly || c.oldOnly { // another worker's abort marker may be on its way
					h = at(cDrop)
				}
			}
		}
		to("reads the intent", s, h)
	case cAbort:
		if s.now > w.sent+1 && !c.staleFence {
			to("has slept too long", s, at(cRead))
			return
		}
		if op.intent != absent {
			to("abort marker: refused", s, at(cRead))
			return
		}
		if op.intent, op.told, op.closed = aborted, true, clock+1; op.commits > 0 {
			n.wrong = 3
		}
		to("abort marker", n, at(cLook))
	case cClose:
		if op.intent != live {
			to("close: refused", s, at(cRead))
			return
		}
		op.intent, op.done, op.closed = done, true, clock+1
		to("does the effects, and closes", n, at(cLook))
	case cLook: // the hour is that of the clock now, after the intent is closed
		h := w
		if !c.hourBefore {
			h.hour = clock
		}
		if c.hourOfOp {
			h.hour = (op.began - 1) / hour
		}
		switch there := s.rows&(1<<h.hour) != 0; {
		case there:
			h.pc = cDrop
		case c.insertFirst:
			h.pc = cSend
			n.rows |= 1 << h.hour
		default:
			h.pc = cSend
		}
		to("looks for the hour's row", n, h)
	case cSend:
		if w.hour != clock && !c.sleepy && !c.insertFirst && !c.hourOfOp && !c.hourBefore {
			to("has slept too long", s, at(cLook))
			return
		}
		due := (w.hour+1)*hour + c.retention
		if c.hidesBriefly {
			due = s.now + c.retention + 1
		}
		n.due[w.hour] = min(due, c.ticks)
		n.sent |= 1 << w.hour
		h := at(cInsert)
		if h.sent = s.now; c.insertFirst {
			h = at(cDrop)
		}
		to("sends the clean-up", n, h)
	case cInsert:
		if s.now <= w.sent+1 { // else it is left alone: the clean-up might be over
			n.rows |= 1 << w.hour
		}
		to("inserts the hour's row", n, at(cDrop))
	case cDrop:
		n.msgs &^= 1 << w.op
		to("deletes the message", n, cleanHand{})
	case cOwnFirst:
		n.rows &^= 1 << w.hour
		to("deletes its own row", n, at(cIntents))
	case cIntents: // one request for each
		if op.intent == done || op.intent == aborted || op.intent == live && c.deletesLive {
			if c.old(s, w.op) || c.deletesYoung {
				op.intent = absent
			}
		}
		h := at(cIntents)
		if h.op++; int(h.op) == c.ops {
			h.pc, h.op = cOlder, 0
		}
		to("deletes an intent if it is old", n, h)
	case cOlder:
		n.rows &^= 1<<w.hour - 1
		to("deletes the rows of hours before", n, at(cOwn))
	case cOwn:
		n.rows &^= 1 << w.hour
		to("deletes its own row", n, at(cMessage))
	case cMessage:
		n.due[w.hour] = 0
		to("deletes the clean-up's message", n, cleanHand{})
	}
}

func (c *cleanup) model() Model[cleanState] {
	return Model[cleanState]{
		Next:  c.next,
		Check: func(s cleanState) string { return cleanWrongs[s.wrong] },
		Quiet: func(s cleanState) bool {
			for i := range c.ops {
				if s.ops[i].flying || s.ops[i].began == 0 && s.now <= c.lastOp {
					return false
				}
			}
			return s.now == c.ticks && s.msgs == 0 && s.due == [maxHour]uint8{} && s.workers == [2]cleanHand{}
		},
		Settled: func(s cleanState) string {
			for _, op := range s.ops {
				switch {
				case op.commits > 0 && !op.done:
					return "the effects of a write are lost"
				case op.intent == absent:
				case s.sent>>op.closed != 0: // an hour after the one in which it was closed
					return "something old stays although there was a later clean-up"
				case !c.weak:
					return "something old stays"
				}
			}
			if s.rows != 0 && !c.weak {
				return "an hour's row stays"
			}
			return ""
		},
		Show: func(s cleanState) string {
			out := fmt.Sprint("tick ", s.now)
			for i, op := range s.ops[:c.ops] {
				if op.began != 0 {
					out += fmt.Sprintf(", op %d of %d %s", i, op.began-1, [...]string{absent: "-", live: "live", done: "done", aborted: "aborted"}[op.intent])
				}
				if op.flying {
					out += " flying"
				}
			}
			return out + fmt.Sprintf(", rows %b, clean-ups due %d", s.rows, s.due)
		},
	}
}

func TestCleanup(t *testing.T) {
	t.Parallel()
	const (
		stays   = "something old stays"
		rowStay = "an hour's row stays"
	)
	for _, m := range []struct {
		name  string
		c     cleanup
		ops   int // 0 is both
		wrong string
	}{
		{"the protocol", cleanup{}, 0, ""},
		{"own row first", cleanup{ownFirst: true}, 0, ""},
		{"row, then message", cleanup{insertFirst: true}, 1, rowStay},
		{"what stays goes with a later hour", cleanup{weak: true, insertFirst: true, overOnly: true, oldOnly: true, hidesBriefly: true}, 0, ""},
		{"nobody sends for what is closed", cleanup{overOnly: true}, 1, stays},
		{"nobody sends for what is too old", cleanup{oldOnly: true}, 1, stays},
		{"who has slept sends all the same", cleanup{sleepy: true}, 1, rowStay},
		{"hidden for the retention alone", cleanup{hidesBriefly: true}, 2, stays},
		{"the op's hour", cleanup{hourOfOp: true}, 1, rowStay},
		{"the hour before closing", cleanup{hourBefore: true}, 1, rowStay},
		{"live intents are deleted", cleanup{deletesLive: true}, 2, "the effects of a write are lost"},
		{"young intents are deleted", cleanup{deletesYoung: true, lastOp: 2}, 2, cleanWrongs[3]},
		{"retention shorter than a request's life", cleanup{retention: 0xff}, 1, cleanWrongs[2]},
		{"absent intents are fenced however old", cleanup{neverTooOld: true}, 1, cleanWrongs[3]},
		{"age looked at only before", cleanup{staleFence: true}, 1, cleanWrongs[3]},
	} {
		for ops := 1; ops <= 2; ops++ {
			if m.ops != 0 && ops != m.ops || ops == 2 && testing.Short() {
				continue
			}
			t.Run(fmt.Sprintf("%s, %d", m.name, ops), func(t *testing.T) {
				t.Parallel()
				c := m.c
				switch c.ops = ops; c.retention {
				case 0:
					c.retention = 2
				case 0xff:
					c.retention = 0
				}
				if c.lastOp == 0 {
					c.lastOp = uint8(3 - ops)
				}
				c.ticks = c.lastOp + 5
				r := c.model().Explore()
				if t.Log(r); r.Wrong != m.wrong {
					t.Errorf("want: %q", m.wrong)
				}
			})
		}
	}
}
