package model

import (
	"fmt"
	"testing"
)

// cleanupProtocol is the protocol that deletes old commit records and abort records by partition and hour. Time is counted in
// ticks. A request arrives within a tick or never. A worker may sleep for any time between two steps. A mutant sets one of the
// options.
type cleanupProtocol struct {
	ops       int // with one operation, both workers do everything; with two, one worker does the clean-ups
	retention uint8
	ticks     uint8
	lastOp    uint8 // the last tick at which an operation begins

	insertFirst     bool // a worker inserts the note of the hour first, and sends the clean-up only if the insert succeeds
	closersOnly     bool // a worker that did not close the commit record itself sends no clean-up
	notForOld       bool // a worker that finds an operation too old sends no clean-up
	hidesBriefly    bool // the clean-up is invisible for the retention, and not for the rest of the hour
	hourOfOp        bool // the hour is that of the operation, and not of the worker's clock after closing
	hourBefore      bool // the hour is that of the worker's clock before closing
	sendAfterSleep  bool // a worker sends the clean-up even if it slept after it looked for the note
	ownFirst        bool // the clean-up deletes its own note first
	deletesPending  bool
	deletesYoung    bool // the clean-up does not check ages
	abortOld        bool // a worker writes an abort record however old the operation is
	staleAge        bool // a worker checks the age before it reads the commit record, and not when it sends the abort record
	allowUntilLater bool // no mutant: a leftover is a fault only if there was a later clean-up
}

const (
	hour    = 2 // ticks
	maxHour = 6
	opsMax  = 2
)

type operation struct {
	began           uint8 // tick + 1
	flying          bool  // its transaction was sent and may arrive, or arrive again
	record          uint8
	closed          uint8 // hour + 1
	done            bool  // its effects are executed
	reportedAborted bool  // a worker concluded that the write was aborted
	commits         uint8
}

type cleanupWorker struct{ pc, op, hour, sent uint8 }

type cleanupState struct {
	now           uint8
	ops           [opsMax]operation
	notifications uint8
	notes         uint8          // notes of hours
	due           [maxHour]uint8 // when the clean-up of an hour is due; 0 if there is none
	sent          uint8          // hours of which a clean-up was ever sent
	workers       [2]cleanupWorker
	fault         uint8
}

const (
	cIdle = iota
	cRead
	cAbort
	cClose
	cFindNote
	cSend
	cInsert
	cDrop
	cDeleteNoteFirst
	cDeleteRecords
	cDeleteEarlierNotes
	cDeleteNote
	cDeleteMessage
)

var cleanupFaults = [...]string{"", "a write was committed twice", "an aborted write was committed",
	"a committed write was reported as aborted"}

func (c *cleanupProtocol) next(s cleanupState, step func(actor, what string, to cleanupState)) {
	for i := range c.ops {
		n, op := s, &s.ops[i]
		if op.began == 0 && s.now <= c.lastOp && (i == 0 || s.ops[i-1].began != 0) { // operations are alike, so that one order is enough
			n.ops[i].began, n.ops[i].flying = s.now+1, true
			n.notifications |= 1 << i
			step("writer", "sends the notification and the transaction", n)
		}
		if op.flying && op.record == absent { // it may arrive again, as a duplicate
			n := s
			o := &n.ops[i]
			if o.record, o.commits = pending, min(2, o.commits+1); o.commits == 2 {
				n.fault = 1
			} else if o.reportedAborted {
				n.fault = 2
			}
			step("storage", "transaction arrives", n)
		}
	}
	// At the last tick no worker sleeps, and all clean-ups are due.
	if s.now < c.ticks-1 || s.now < c.ticks && s.notifications == 0 && c.idle(s) {
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

// idle reports whether no worker has a message.
func (c *cleanupProtocol) idle(s cleanupState) bool { return s.workers == [2]cleanupWorker{} }

// old reports whether an operation is older than the retention.
func (c *cleanupProtocol) old(s cleanupState, op uint8) bool {
	return s.now > s.ops[op].began-1+c.retention
}

func (c *cleanupProtocol) worker(s cleanupState, i int, step func(actor, what string, to cleanupState)) {
	w := s.workers[i]
	to := func(what string, n cleanupState, h cleanupWorker) {
		if n.workers[i] = h; h.pc == cIdle {
			n.workers[i] = cleanupWorker{}
		}
		if a, b := n.workers[0], n.workers[1]; c.ops > 1 {
			// each worker has its own messages
		} else if a.pc > b.pc || a.pc == b.pc && (a.op > b.op || a.op == b.op && (a.hour > b.hour || a.hour == b.hour && a.sent > b.sent)) {
			n.workers[0], n.workers[1] = b, a
		}
		step("worker", what, n)
	}
	at := func(pc uint8) cleanupWorker { return cleanupWorker{pc: pc, op: w.op, hour: w.hour} }
	n := s
	op := &n.ops[w.op]
	clock := s.now / hour
	if w.pc != cIdle {
		to("crashes", s, cleanupWorker{})
	}
	switch w.pc {
	case cIdle:
		for op := range uint8(c.ops) {
			if s.notifications&(1<<op) != 0 && (c.ops == 1 || i == 0) {
				to(fmt.Sprint("takes the message of operation ", op), s, cleanupWorker{pc: cRead, op: op})
			}
		}
		for h, due := range s.due {
			if due != 0 && due <= s.now && (c.ops == 1 || i == 1) {
				first := cleanupWorker{pc: cDeleteRecords, hour: uint8(h)}
				if c.ownFirst {
					first.pc = cDeleteNoteFirst
				}
				to(fmt.Sprint("takes the clean-up of hour ", h), s, first)
			}
		}
	case cRead:
		h := at(cAbort)
		h.sent = s.now
		switch op.record {
		case pending:
			h = at(cClose)
			if h.hour = clock; !c.hourBefore {
				h.hour = 0
			}
		case done, aborted:
			if h = at(cFindNote); c.closersOnly {
				h = at(cDrop)
			}
		default:
			if c.old(s, w.op) && !c.abortOld { // the worker reports that the operation is too old
				if h = at(cFindNote); c.closersOnly || c.notForOld { // the abort record of another worker may be late
					h = at(cDrop)
				}
			}
		}
		to("reads the commit record", s, h)
	case cAbort:
		if s.now > w.sent+1 && !c.staleAge {
			to("slept too long", s, at(cRead))
			return
		}
		if op.record != absent {
			to("abort record: refused", s, at(cRead))
			return
		}
		if op.record, op.reportedAborted, op.closed = aborted, true, clock+1; op.commits > 0 {
			n.fault = 3
		}
		to("abort record", n, at(cFindNote))
	case cClose:
		if op.record != pending {
			to("close: refused", s, at(cRead))
			return
		}
		op.record, op.done, op.closed = done, true, clock+1
		to("executes the effects and closes", n, at(cFindNote))
	case cFindNote: // the current hour, after the commit record is closed
		h := w
		if !c.hourBefore {
			h.hour = clock
		}
		if c.hourOfOp {
			h.hour = (op.began - 1) / hour
		}
		switch there := s.notes&(1<<h.hour) != 0; {
		case there:
			h.pc = cDrop
		case c.insertFirst:
			h.pc = cSend
			n.notes |= 1 << h.hour
		default:
			h.pc = cSend
		}
		to("looks for the note of the hour", n, h)
	case cSend:
		if w.hour != clock && !c.sendAfterSleep && !c.insertFirst && !c.hourOfOp && !c.hourBefore {
			to("slept too long", s, at(cFindNote))
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
		if s.now <= w.sent+1 { // later, the clean-up may be done already
			n.notes |= 1 << w.hour
		}
		to("inserts the note of the hour", n, at(cDrop))
	case cDrop:
		n.notifications &^= 1 << w.op
		to("deletes the message", n, cleanupWorker{})
	case cDeleteNoteFirst:
		n.notes &^= 1 << w.hour
		to("deletes its own note", n, at(cDeleteRecords))
	case cDeleteRecords: // one request for each operation
		if op.record == done || op.record == aborted || op.record == pending && c.deletesPending {
			if c.old(s, w.op) || c.deletesYoung {
				op.record = absent
			}
		}
		h := at(cDeleteRecords)
		if h.op++; int(h.op) == c.ops {
			h.pc, h.op = cDeleteEarlierNotes, 0
		}
		to("deletes a commit record if it is old", n, h)
	case cDeleteEarlierNotes:
		n.notes &^= 1<<w.hour - 1
		to("deletes the notes of earlier hours", n, at(cDeleteNote))
	case cDeleteNote:
		n.notes &^= 1 << w.hour
		to("deletes its own note", n, at(cDeleteMessage))
	case cDeleteMessage:
		n.due[w.hour] = 0
		to("deletes the message of the clean-up", n, cleanupWorker{})
	}
}

func (c *cleanupProtocol) model() Model[cleanupState] {
	return Model[cleanupState]{
		Next:  c.next,
		Check: func(s cleanupState) string { return cleanupFaults[s.fault] },
		Quiet: func(s cleanupState) bool {
			for i := range c.ops {
				if s.ops[i].flying || s.ops[i].began == 0 && s.now <= c.lastOp {
					return false
				}
			}
			return s.now == c.ticks && s.notifications == 0 && s.due == [maxHour]uint8{} && s.workers == [2]cleanupWorker{}
		},
		CheckQuiet: func(s cleanupState) string {
			for _, op := range s.ops {
				switch {
				case op.commits > 0 && !op.done:
					return effectsLost
				case op.record == absent:
				case s.sent>>op.closed != 0: // a clean-up of a later hour was sent
					return "an old record stays although there was a later clean-up"
				case !c.allowUntilLater:
					return stays
				}
			}
			if s.notes != 0 && !c.allowUntilLater {
				return noteStays
			}
			return ""
		},
		Show: func(s cleanupState) string {
			out := fmt.Sprint("tick ", s.now)
			for i, op := range s.ops[:c.ops] {
				if op.began != 0 {
					out += fmt.Sprintf(", operation %d of tick %d %s", i, op.began-1, [...]string{absent: "-", pending: "pending", done: "done", aborted: "aborted"}[op.record])
				}
				if op.flying {
					out += " flying"
				}
			}
			return out + fmt.Sprintf(", notes %b, clean-ups due %d", s.notes, s.due)
		},
	}
}

// The faults of a clean-up that leaves something behind, or deletes too much.
const (
	stays       = "an old record stays"
	noteStays   = "the note of an hour stays"
	effectsLost = "the effects of a write are lost"
)

// TestCleanup explores the protocol, and mutants with the fault that each part prevents.
func TestCleanup(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name  string
		c     cleanupProtocol
		ops   int // 1 or 2; 0 means both
		wrong string
	}{
		{"the protocol", cleanupProtocol{}, 0, ""},
		{"own note first", cleanupProtocol{ownFirst: true}, 0, ""},
		{"note, then message", cleanupProtocol{insertFirst: true}, 1, noteStays},
		{"a later hour deletes leftovers", cleanupProtocol{allowUntilLater: true, insertFirst: true, closersOnly: true, notForOld: true, hidesBriefly: true}, 0, ""},
		{"no clean-up for closed records", cleanupProtocol{closersOnly: true}, 1, stays},
		{"no clean-up for old operations", cleanupProtocol{notForOld: true}, 1, stays},
		{"a clean-up sent after a sleep", cleanupProtocol{sendAfterSleep: true}, 1, noteStays},
		{"invisible for the retention only", cleanupProtocol{hidesBriefly: true}, 2, stays},
		{"the hour of the operation", cleanupProtocol{hourOfOp: true}, 1, noteStays},
		{"the hour before closing", cleanupProtocol{hourBefore: true}, 1, noteStays},
		{"pending records are deleted", cleanupProtocol{deletesPending: true}, 2, effectsLost},
		{"young records are deleted", cleanupProtocol{deletesYoung: true, lastOp: 2}, 2, cleanupFaults[3]},
		{"a retention shorter than the delay of a request", cleanupProtocol{retention: 0xff}, 1, cleanupFaults[2]},
		{"abort records for old operations", cleanupProtocol{abortOld: true}, 1, cleanupFaults[3]},
		{"age checked only before", cleanupProtocol{staleAge: true}, 1, cleanupFaults[3]},
	} {
		for ops := 1; ops <= 2; ops++ {
			if m.ops != 0 && ops != m.ops || ops == 2 && (testing.Short() || m.ops == 0 && *models < 2) {
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
				if m.wrong == "" {
					expectFault(t, explore(c.model()), "")
					return
				}
				expectFault(t, c.model().Explore(), m.wrong)
			})
		}
	}
}
