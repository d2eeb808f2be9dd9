package model

import (
	"fmt"
	"testing"
)

// outboxProtocol is the protocol of one write with two effects, a and b, and of the workers that execute them. Some workers are of
// an old release that knows only a. A mutant sets one of the options.
type outboxProtocol struct {
	oldCloses        bool // the old release closes the commit record after a
	oldDrops         bool // the old release deletes the message after a
	returnCounts     bool // returning a message counts as an attempt: no fault, but the message becomes poison early
	blindClose       bool
	trustMessage     bool // a worker executes the effects without reading the commit record
	dropWithoutAbort bool // a worker deletes a message without an abort record
	writeFirst       bool
	deleteFirst      bool // a worker deletes a poison message before it copies the message
	replayDeletes    bool // a replay deletes a message from the poison queue before it enqueues the message

	sleeps    bool // writers and workers may be suspended for longer than the retention, and old records are swept
	jumps     bool // clocks may jump by more than the retention, and back
	writeOld  bool // a writer sends its transaction without checking the age of the operation
	abortOld  bool // a worker sends its abort record without checking the age of the operation
	ignoreAge bool // a worker also does not check the age when it reads the commit record
	dropsOld  bool // a worker deletes a message whose operation is too old, and does not copy it to the poison queue

	size int // long: explored with -models=2
}

const (
	attempts   = 2 // before a message is poison
	allEffects = 3
)

type message struct{ there, count uint8 }

type outboxWorker struct{ pc, slot, release, fresh uint8 }

type outboxState struct {
	record  record
	writer  uint8
	late    bool // the transaction was sent and has not arrived when the writer continues
	queue   [2]message
	poison  uint8 // copies; 2 is two or more
	replay  uint8
	workers [2]outboxWorker
	old     bool // the operation is older than the retention

	committed       bool
	applied         uint8
	reportedAborted bool // a worker or a writer concluded that the write was aborted
	fault           bool // the write was committed and reported as aborted
}

const (
	oIdle = iota
	oRead
	oAbort
	oA
	oB
	oReturn
	oClose
	oDelete
	oCopy
	oDeleteCopied
	oDeleteUncopied
	oCopyDeleted
)

const (
	noSlot     = 9 // another worker has deleted the message
	oldRelease = 1
)

func (o *outboxProtocol) next(s outboxState, step func(actor, what string, to outboxState)) {
	o.writer(s, step)
	o.operator(s, step)
	if s.late {
		n := s
		n.late = false
		n.commit()
		step("late", "transaction arrives", n)
	}
	for i := range s.workers {
		o.worker(s, i, step)
	}
	n := s
	switch {
	case o.sleeps && !s.old:
		n.old, n.late = true, false // a request arrives within the retention or never
		step("time", "the retention is over", n)
	case s.old && (s.record.kind == done || s.record.kind == aborted):
		n.record = record{}
		n.forget()
		step("sweep", "deletes the commit record", n)
	}
}

// ages calls f with each age of the operation that a clock may report.
func (o *outboxProtocol) ages(s outboxState, f func(old bool)) {
	f(s.old)
	if o.jumps && !s.old {
		f(true)
	}
}

// forget invalidates the ETag of the commit record for all workers.
func (s *outboxState) forget() {
	for i := range s.workers {
		s.workers[i].fresh = 0
	}
}

func (s *outboxState) commit() bool {
	if s.record.kind != absent {
		return false
	}
	s.fault = s.fault || s.reportedAborted
	s.record, s.committed = record{kind: pending, effects: allEffects}, true
	return true
}

const (
	writerEnqueues = iota
	writerWrites
	writerWithdraws
	writerIsDone
)

func (o *outboxProtocol) writer(s outboxState, step func(actor, what string, to outboxState)) {
	if s.writer == writerIsDone {
		return
	}
	to := func(what string, n outboxState, pc uint8) { n.writer = pc; step("writer", what, n) }
	to("crashes", s, writerIsDone)
	n := s
	switch {
	case s.writer == writerEnqueues && o.writeFirst && !s.committed || s.writer == writerWrites && !o.writeFirst:
		refused, after := uint8(writerWithdraws), uint8(writerIsDone)
		if o.writeFirst {
			refused, after = writerIsDone, writerWrites
		}
		o.ages(s, func(old bool) {
			if old && !o.writeOld {
				to("its operation is too old", s, refused)
				return
			}
			n := s
			if n.commit() {
				to("transaction", n, after)
			} else {
				to("transaction: refused", n, refused)
			}
			n = s
			n.late = true
			to("transaction, which is late", n, writerIsDone)
		})
	case s.writer == writerWithdraws:
		n.remove(0)
		to("deletes the notification", n, writerIsDone)
	default:
		n.queue[0] = message{there: 1}
		if o.writeFirst {
			to("sends the notification", n, writerIsDone)
		} else {
			to("sends the notification", n, writerWrites)
		}
	}
}

// operator replays a poison message.
func (o *outboxProtocol) operator(s outboxState, step func(actor, what string, to outboxState)) {
	n := s
	switch {
	case s.replay == 1 && o.replayDeletes:
		if n.replay = 0; n.enqueue() {
			step("operator", "sends the notification", n)
		}
		n = s
		n.replay = 0
		step("operator", "crashes", n)
	case s.replay == 1:
		n.replay = 0
		step("operator", "crashes", n)
		n.poison -= min(n.poison, 1)
		step("operator", "deletes a poison copy", n)
	case s.poison > 0 && o.replayDeletes:
		n.poison, n.replay = n.poison-1, 1
		step("operator", "deletes a poison copy", n)
	case s.poison > 0:
		if n.replay = 1; n.enqueue() {
			step("operator", "enqueues a copy again", n)
		}
	}
}

func (s *outboxState) enqueue() bool {
	for i := range s.queue {
		if s.queue[i].there == 0 {
			s.queue[i] = message{there: 1}
			return true
		}
	}
	return false // the queue of the model is full
}

// remove deletes a message. A worker with the message then cannot delete the next message in the same slot.
func (s *outboxState) remove(slot uint8) {
	if slot == noSlot {
		return
	}
	s.queue[slot] = message{}
	for i := range s.workers {
		if w := &s.workers[i]; w.pc != oIdle && w.slot == slot {
			w.slot = noSlot
		}
	}
}

func (o *outboxProtocol) worker(s outboxState, i int, step func(actor, what string, to outboxState)) {
	w, actor := s.workers[i], "worker"
	if w.release == oldRelease {
		actor = "old worker"
	}
	to := func(what string, n outboxState, pc uint8) {
		slot := n.workers[i].slot // remove may have changed the slot
		n.workers[i] = outboxWorker{}
		if pc != oIdle {
			n.workers[i] = outboxWorker{pc: pc, slot: slot, release: w.release, fresh: n.workers[i].fresh | w.fresh}
		}
		step(actor, what, n)
	}
	n := s
	if w.pc == oIdle {
		for slot, m := range s.queue {
			for release := range uint8(2) {
				n := s
				if m.there == 0 {
					continue
				}
				h := outboxWorker{pc: oRead, slot: uint8(slot), release: release}
				switch {
				case m.count == attempts && o.deleteFirst:
					h.pc = oDeleteUncopied
				case m.count == attempts:
					h.pc = oCopy
				default:
					n.queue[slot].count++
				}
				n.workers[i] = h
				step("worker", [...]string{"takes the message", "takes the message (old release)"}[release], n)
			}
		}
		return
	}
	to("crashes", s, oIdle)
	last := uint8(oClose)
	if w.release == oldRelease {
		switch last = oReturn; {
		case o.oldCloses:
			last = oClose
		case o.oldDrops:
			last = oDelete
		}
	}
	expired := uint8(oCopy)
	if o.dropsOld {
		expired = oDelete
	}
	switch w.pc {
	case oRead:
		w.fresh = 1
		switch {
		case o.trustMessage && s.record.kind != done:
			to("reads nothing", s, oA)
		case s.record.kind == absent && o.dropWithoutAbort:
			to("reads the commit record: none", s, oDelete)
		case s.record.kind == absent:
			o.ages(s, func(old bool) {
				if old && !o.ignoreAge {
					to("reads the commit record: none, and its operation is too old", s, expired)
				} else {
					to("reads the commit record: none", s, oAbort)
				}
			})
		case s.record.kind != pending:
			to("reads the commit record: not pending", s, oDelete)
		default:
			to("reads the commit record: pending", s, oA)
		}
	case oAbort:
		o.ages(s, func(old bool) {
			n := s
			switch {
			case old && !o.abortOld:
				to("the operation is too old", s, expired)
			case s.record.kind != absent:
				to("abort record: refused", s, oRead)
			default:
				n.record.kind, n.reportedAborted = aborted, true
				n.fault = n.fault || n.committed
				to("abort record", n, oDelete)
			}
		})
	case oA:
		if n.applied |= 1; w.release == oldRelease {
			to("executes a", n, last)
		} else {
			to("executes a", n, oB)
		}
	case oB:
		n.applied |= 2
		to("executes b", n, oClose)
	case oClose:
		if w.fresh == 0 && !o.blindClose {
			to("close: refused", s, oRead)
			return
		}
		n.record.kind, n.record.effects = done, 0
		for j := range n.workers {
			n.workers[j].fresh = 0
		}
		w.fresh = 0
		to("close", n, oDelete)
	case oReturn:
		to("returns the message, counted", s, oIdle)
		if w.slot != noSlot && !o.returnCounts {
			n.queue[w.slot].count -= min(n.queue[w.slot].count, 1)
			to("returns the message", n, oIdle)
		}
	case oDelete, oDeleteCopied:
		n.remove(w.slot)
		to("deletes the message", n, oIdle)
	case oCopy, oCopyDeleted:
		n.poison = min(2, n.poison+1)
		if w.pc == oCopy {
			to("copies the message to the poison queue", n, oDeleteCopied)
		} else {
			to("copies the message to the poison queue", n, oIdle)
		}
	case oDeleteUncopied:
		n.remove(w.slot)
		to("deletes the message", n, oCopyDeleted)
	}
}

func (o *outboxProtocol) model() Model[outboxState] {
	return Model[outboxState]{
		Termination: true,
		Next:        o.next,
		Check: func(s outboxState) string {
			switch {
			case s.applied != 0 && !s.committed:
				return ghost
			case s.fault:
				return contradiction
			case s.record.kind == done && s.applied != allEffects:
				return early
			}
			return ""
		},
		Quiet: func(s outboxState) bool {
			return s.writer == writerIsDone && !s.late && s.replay == 0 && s.queue == [2]message{} && s.workers == [2]outboxWorker{}
		},
		CheckQuiet: func(s outboxState) string {
			if s.committed && s.applied != allEffects && s.poison == 0 {
				return effectLost
			}
			return ""
		},
		Show: func(s outboxState) string {
			return fmt.Sprintf("commit record %s queue %v poison %d effects %02b", [...]string{absent: "-", pending: "pending", done: "done", aborted: "aborted"}[s.record.kind],
				s.queue, s.poison, s.applied)
		},
	}
}

// The faults of the outbox.
const (
	effectLost    = "an effect is lost"
	ghost         = "an effect of an aborted write was executed"
	early         = "the commit record was closed before all effects were executed"
	contradiction = "a committed write was reported as aborted"
)

// TestOutbox explores the protocol, and mutants with the fault that each part prevents.
func TestOutbox(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name  string
		o     outboxProtocol
		wrong string
	}{
		{"the protocol", outboxProtocol{}, ""},
		{"the protocol, suspended", outboxProtocol{sleeps: true}, ""},
		{"the protocol, suspended, while clocks jump", outboxProtocol{sleeps: true, jumps: true, size: long}, ""},
		{"the protocol, while clocks jump", outboxProtocol{jumps: true}, ""},
		{"a writer does not check the age", outboxProtocol{sleeps: true, writeOld: true}, contradiction},
		{"a worker never checks the age", outboxProtocol{sleeps: true, abortOld: true, ignoreAge: true}, contradiction},
		{"a worker checks the age only when it reads", outboxProtocol{sleeps: true, abortOld: true}, contradiction},
		{"a worker checks the age only when it sends", outboxProtocol{sleeps: true, ignoreAge: true, size: long}, ""},
		{"a message that is too old is deleted", outboxProtocol{sleeps: true, jumps: true, dropsOld: true}, effectLost},
		{"returning a message counts as an attempt", outboxProtocol{returnCounts: true}, ""},
		{"close without CAS", outboxProtocol{blindClose: true}, ""}, // a commit record has one transition here; the effects of a move change
		{"the old release closes", outboxProtocol{oldCloses: true}, early},
		{"the old release drops the message", outboxProtocol{oldDrops: true}, effectLost},
		{"a message is trusted", outboxProtocol{trustMessage: true}, ghost},
		{"message dropped without an abort record", outboxProtocol{dropWithoutAbort: true}, effectLost},
		{"write, then notify", outboxProtocol{writeFirst: true}, effectLost},
		{"poison deleted, then copied", outboxProtocol{deleteFirst: true}, effectLost},
		{"replay deletes, then enqueues", outboxProtocol{replayDeletes: true}, effectLost},
	} {
		if m.o.size >= *models {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.wrong == "" {
				expectFault(t, explore(m.o.model()), "")
				return
			}
			expectFault(t, m.o.model().Explore(), m.wrong)
		})
	}
}
