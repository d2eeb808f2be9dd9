package model

import (
	"fmt"
	"testing"
)

// laterProtocol is the protocol by which an effect waits on purpose: its handler asks for a delay, and succeeds when it is called from
// laterDue on. The commit record contains the time before which the effect is not due, and the ID of the message that waits. Daily
// work sends messages for records whose time has passed. Workers crash, and are so slow that a message shows again. A mutant sets one
// of the options.
type laterProtocol struct {
	workers, days           uint8
	crashes, clears, lapses uint8

	most     uint8 // messages that may wait at the same time, 0 for any number
	mostRuns uint8 // calls of the handler, 0 for any number

	alone bool // there is no daily work

	untimed bool // the record contains no time
	unnamed bool // the record does not name the message that waits
	blind   bool // the time is stored without the ETag of the record
}

const (
	laterDue      = 3
	laterTicks    = 4
	laterMessages = 6
)

// A message is hidden until a tick, held by a worker, or gone.
const (
	laterGone = 0xff
	laterHeld = 0x80 // and the worker
)

type laterRecord struct {
	done      bool
	notBefore uint8
	message   uint8 // + 1
}

// The steps of a worker.
const (
	laterIdle = iota
	laterReads
	laterHandles
	laterStores
	laterHides
	laterMarks
	laterDeletes
)

type laterWorker struct {
	pc, message uint8
	read        laterRecord
}

type laterState struct {
	now                           uint8
	record                        laterRecord
	messages                      [laterMessages]uint8
	sent                          uint8
	workers                       [2]laterWorker
	runs                          uint8
	crashes, clears, lapses, days uint8
	early                         bool
}

const (
	laterNever   = "the effect is never executed"
	laterMany    = "several messages wait for one effect"
	laterCalled  = "the handler was called too often"
	laterTooSoon = "the handler ran before its time"
)

func (s laterState) empty() bool {
	for _, m := range s.messages {
		if m != laterGone {
			return false
		}
	}
	return true
}

func (l *laterProtocol) next(s laterState, step func(actor, what string, to laterState)) {
	n := s
	if s.now < laterTicks {
		n.now++
		step("time", "passes", n)
	}
	if s.clears > 0 && !s.empty() {
		n = s
		for i := range n.messages {
			n.messages[i] = laterGone
		}
		n.clears--
		n.days = max(n.days, 1)
		step("operator", "clears the queue", n)
	}
	l.daily(s, step)
	for i := range l.workers {
		l.worker(s, i, step)
	}
}

// daily sends a message for a pending record. There is one more run at the end if no message is left.
func (l *laterProtocol) daily(s laterState, step func(actor, what string, to laterState)) {
	passed := l.untimed || s.record.notBefore == 0 || s.now > s.record.notBefore
	if s.record.done || s.sent == laterMessages || l.alone {
		return
	}
	n := s
	n.messages[s.sent] = s.now
	n.sent++
	if s.days > 0 && s.now > 0 && passed {
		n.days--
		step("daily work", fmt.Sprint("sends message ", s.sent), n)
	}
	if s.now == laterTicks && s.empty() && s.workers == [2]laterWorker{} {
		n.days = s.days
		step("a later daily work", fmt.Sprint("sends message ", s.sent), n)
	}
}

func (l *laterProtocol) worker(s laterState, i uint8, step func(actor, what string, to laterState)) {
	w := s.workers[i]
	actor := fmt.Sprint("worker ", i+1)
	mine := s.messages[w.message] == laterHeld|i
	to := func(what string, n laterState, next laterWorker) {
		n.workers[i] = next
		if next.pc == laterIdle {
			n.workers[i] = laterWorker{}
		}
		step(actor, what, n)
	}
	at := func(pc uint8) laterWorker { return laterWorker{pc: pc, message: w.message} }
	hide := func(n laterState, until uint8) laterState {
		if mine {
			n.messages[w.message] = until
		}
		return n
	}
	if w.pc != laterIdle && s.crashes > 0 {
		n := hide(s, s.now)
		n.crashes--
		to("crashes", n, laterWorker{})
	}
	if w.pc != laterIdle && s.lapses > 0 && mine {
		n := hide(s, s.now)
		n.lapses--
		to("is slow, and the message shows again", n, w)
	}
	n := s
	switch w.pc {
	case laterIdle:
		for m, until := range s.messages {
			if until <= s.now {
				n := s
				n.messages[m] = laterHeld | i
				to(fmt.Sprint("takes message ", m), n, laterWorker{pc: laterReads, message: uint8(m)})
			}
		}
	case laterReads:
		next := at(laterHandles)
		next.read = s.record
		switch {
		case s.record.done:
			next = at(laterDeletes)
		case l.untimed || s.now >= s.record.notBefore:
		case l.unnamed || s.record.message != w.message+1:
			next = at(laterDeletes)
		default:
			next.pc = laterHides
		}
		to("reads the record", s, next)
	case laterHandles:
		n.runs = min(s.runs+1, l.mostRuns+1)
		n.early = s.early || !l.untimed && s.record.notBefore > s.now && w.read == s.record
		next := w
		next.pc = laterMarks
		if s.now < laterDue {
			next.pc = laterStores
		}
		to("calls the handler", n, next)
	case laterStores:
		next := w
		next.pc = laterHides
		next.read.notBefore = laterDue
		switch {
		case l.untimed:
			to("goes on without a time", s, next)
		case w.read == s.record || l.blind && !s.record.done:
			n.record = laterRecord{notBefore: laterDue, message: w.message + 1}
			next.read = n.record
			to("stores the time and the message", n, next)
		default:
			to("finds another record", s, at(laterReads))
		}
	case laterHides:
		to("hides the message", hide(s, max(s.now, w.read.notBefore)), laterWorker{})
	case laterMarks:
		if w.read != s.record {
			to("finds another record", s, at(laterReads))
			return
		}
		n.record = laterRecord{done: true}
		to("marks the record as done", n, at(laterDeletes))
	case laterDeletes:
		to("deletes the message", hide(s, laterGone), laterWorker{})
	}
}

func (l *laterProtocol) model() Model[laterState] {
	start := laterState{sent: 1, crashes: l.crashes, clears: l.clears, lapses: l.lapses, days: l.days}
	for i := range start.messages {
		start.messages[i] = laterGone
	}
	start.messages[0] = 0
	return Model[laterState]{
		Start: start,
		Next:  l.next,
		Check: func(s laterState) string {
			waiting := uint8(0)
			for _, until := range s.messages {
				if until < laterHeld && until > s.now {
					waiting++
				}
			}
			switch {
			case s.early:
				return laterTooSoon
			case l.most > 0 && waiting > l.most:
				return laterMany
			case l.mostRuns > 0 && s.runs > l.mostRuns:
				return laterCalled
			}
			return ""
		},
		Quiet: func(s laterState) bool {
			return s.now == laterTicks && s.workers == [2]laterWorker{} && s.empty() && (s.record.done || s.sent == laterMessages || l.alone)
		},
		CheckQuiet: func(s laterState) string {
			if !s.record.done {
				return laterNever
			}
			return ""
		},
		Show: func(s laterState) string {
			return fmt.Sprintf("tick %d, record %+v, messages %v", s.now, s.record, s.messages[:s.sent])
		},
	}
}

// TestLater explores the protocol, and mutants with the fault that each part prevents.
func TestLater(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name  string
		l     laterProtocol
		wrong string
	}{
		{"two workers, a crash, a slow one", laterProtocol{workers: 2, days: 1, crashes: 1, lapses: 1}, ""},
		{"the queue is cleared", laterProtocol{workers: 1, days: 2, crashes: 1, clears: 1, lapses: 1}, ""},
		{"one message waits", laterProtocol{workers: 2, days: 2, most: 1}, ""},
		{"no daily work", laterProtocol{workers: 2, crashes: 1, lapses: 1, alone: true}, ""},
		{"two calls", laterProtocol{workers: 1, days: 2, most: 1, mostRuns: 2}, ""},
		{"no time in the record, messages", laterProtocol{workers: 1, days: 2, most: 1, untimed: true}, laterMany},
		{"no time in the record, calls", laterProtocol{workers: 1, days: 2, mostRuns: 2, untimed: true}, laterCalled},
		{"the record does not name the message", laterProtocol{workers: 1, crashes: 1, alone: true, unnamed: true}, laterNever},
		{"the time is stored without ETag", laterProtocol{workers: 2, days: 1, most: 1, blind: true}, laterMany},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.wrong == "" {
				expectSound(t, explore(m.l.model()))
				return
			}
			expectFault(t, m.l.model().Explore(), m.wrong)
		})
	}
}
