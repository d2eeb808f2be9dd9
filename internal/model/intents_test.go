package model

import (
	"fmt"
	"testing"
)

// outbox is the protocol of one write with two effects, a and b, and of the workers that carry them out. Some workers are of an old
// release that knows a alone; any worker may be of either at any time.
type outbox struct {
	closeUnknown  bool // the old release closes after a
	dropUnknown   bool // the old release deletes the message after a
	countUnknown  bool // giving back counts: not wrong, but such a message goes to the poison queue early
	blindClose    bool
	trustMessage  bool // the effects are done without a look at the intent
	dropAbsent    bool // without the abort marker
	writeFirst    bool
	deleteFirst   bool // poison: delete, then copy
	replayDeletes bool // replay: delete from the poison queue, then enqueue

	sleeps      bool // writers and workers may be suspended for longer than the retention, and what is left is swept
	jumps       bool // clocks may jump by more than the retention, and back
	sleepyWrite bool // a writer sends its EGT however old its op is
	sleepyFence bool // a worker sends its abort marker however old the op is
	neverOld    bool // and also where it has looked before
	dropsOld    bool // a message whose op is too old is deleted, and not poison
}

const (
	attempts   = 2 // counted, before a message is poison
	allEffects = 3
)

type message struct{ there, count uint8 }

type outboxHand struct{ pc, slot, release, fresh uint8 }

type outboxState struct {
	intent  intent
	writer  uint8
	late    bool // the EGT is still on its way although the writer has gone on
	queue   [2]message
	poison  uint8 // copies; 2 is two or more
	replay  uint8
	workers [2]outboxHand
	old     bool // the retention is over since the op was named

	committed bool
	applied   uint8
	told      bool // somebody was told that it was not committed
	wrong     bool // and it was
}

const (
	oIdle = iota
	oRead
	oAbort
	oA
	oB
	oGiveBack
	oClose
	oDelete
	oCopy
	oDeleteCopied
	oDeleteUncopied
	oCopyDeleted
)

const (
	noSlot     = 9 // the message that a worker holds is not there any more
	oldRelease = 1
)

func (o *outbox) next(s outboxState, step func(who, what string, to outboxState)) {
	o.writer(s, step)
	o.operator(s, step)
	if s.late {
		n := s
		n.late = false
		n.commit()
		step("late", "EGT arrives", n)
	}
	for i := range s.workers {
		o.worker(s, i, step)
	}
	n := s
	switch {
	case o.sleeps && !s.old:
		n.old, n.late = true, false // what was sent arrives by then, or never
		step("time", "the retention is over", n)
	case s.old && (s.intent.kind == done || s.intent.kind == aborted):
		n.intent = intent{}
		n.forget()
		step("sweep", "deletes the intent", n)
	}
}

// looks calls f with what a clock may say of the age of the op.
func (o *outbox) looks(s outboxState, f func(old bool)) {
	f(s.old)
	if o.jumps && !s.old {
		f(true)
	}
}

// forget takes the versions of the intent away from those who have read it.
func (s *outboxState) forget() {
	for i := range s.workers {
		s.workers[i].fresh = 0
	}
}

func (s *outboxState) commit() bool {
	if s.intent.kind != absent {
		return false
	}
	s.wrong = s.wrong || s.told
	s.intent, s.committed = intent{kind: live, effects: allEffects}, true
	return true
}

const (
	writerEnqueues = iota
	writerWrites
	writerWithdraws
	writerIsDone
)

func (o *outbox) writer(s outboxState, step func(who, what string, to outboxState)) {
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
		o.looks(s, func(old bool) {
			if old && !o.sleepyWrite {
				to("its op is too old", s, refused)
				return
			}
			n := s
			if n.commit() {
				to("EGT", n, after)
			} else {
				to("EGT: refused", n, refused)
			}
			n = s
			n.late = true
			to("EGT, which is late", n, writerIsDone)
		})
	case s.writer == writerWithdraws:
		n.remove(0)
		to("withdraws the hint", n, writerIsDone)
	default:
		n.queue[0] = message{there: 1}
		if o.writeFirst {
			to("enqueues", n, writerIsDone)
		} else {
			to("enqueues", n, writerWrites)
		}
	}
}

// operator plays a poison message again.
func (o *outbox) operator(s outboxState, step func(who, what string, to outboxState)) {
	n := s
	switch {
	case s.replay == 1 && o.replayDeletes:
		if n.replay = 0; n.enqueue() {
			step("operator", "enqueues", n)
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
	return false // the model's queue is full
}

// remove deletes a message; who still works on it cannot delete the next one in its place.
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

func (o *outbox) worker(s outboxState, i int, step func(who, what string, to outboxState)) {
	w, who := s.workers[i], "worker"
	if w.release == oldRelease {
		who = "old worker"
	}
	to := func(what string, n outboxState, pc uint8) {
		slot := n.workers[i].slot // remove may have changed it
		n.workers[i] = outboxHand{}
		if pc != oIdle {
			n.workers[i] = outboxHand{pc: pc, slot: slot, release: w.release, fresh: n.workers[i].fresh | w.fresh}
		}
		step(who, what, n)
	}
	n := s
	if w.pc == oIdle {
		for slot, m := range s.queue {
			for release := range uint8(2) {
				n := s
				if m.there == 0 {
					continue
				}
				h := outboxHand{pc: oRead, slot: uint8(slot), release: release}
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
		switch last = oGiveBack; {
		case o.closeUnknown:
			last = oClose
		case o.dropUnknown:
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
		case o.trustMessage && s.intent.kind != done:
			to("reads nothing", s, oA)
		case s.intent.kind == absent && o.dropAbsent:
			to("reads the intent: nothing", s, oDelete)
		case s.intent.kind == absent:
			o.looks(s, func(old bool) {
				if old && !o.neverOld {
					to("reads the intent: nothing, and its op is too old", s, expired)
				} else {
					to("reads the intent: nothing", s, oAbort)
				}
			})
		case s.intent.kind != live:
			to("reads the intent: over", s, oDelete)
		default:
			to("reads the intent: live", s, oA)
		}
	case oAbort:
		o.looks(s, func(old bool) {
			n := s
			switch {
			case old && !o.sleepyFence:
				to("the op is too old", s, expired)
			case s.intent.kind != absent:
				to("abort marker: refused", s, oRead)
			default:
				n.intent.kind, n.told = aborted, true
				n.wrong = n.wrong || n.committed
				to("abort marker", n, oDelete)
			}
		})
	case oA:
		if n.applied |= 1; w.release == oldRelease {
			to("does a", n, last)
		} else {
			to("does a", n, oB)
		}
	case oB:
		n.applied |= 2
		to("does b", n, oClose)
	case oClose:
		if w.fresh == 0 && !o.blindClose {
			to("close: refused", s, oRead)
			return
		}
		n.intent.kind, n.intent.effects = done, 0
		for j := range n.workers {
			n.workers[j].fresh = 0
		}
		w.fresh = 0
		to("close", n, oDelete)
	case oGiveBack:
		to("gives the message back, counted", s, oIdle)
		if w.slot != noSlot && !o.countUnknown {
			n.queue[w.slot].count -= min(n.queue[w.slot].count, 1)
			to("gives the message back", n, oIdle)
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

func (o *outbox) model() Model[outboxState] {
	return Model[outboxState]{
		Rest: true,
		Next: o.next,
		Check: func(s outboxState) string {
			switch {
			case s.applied != 0 && !s.committed:
				return "an effect of a write that was not committed"
			case s.wrong:
				return "a write was committed of which somebody was told that it was not"
			case s.intent.kind == done && s.applied != allEffects:
				return "closed before all effects were done"
			}
			return ""
		},
		Quiet: func(s outboxState) bool {
			return s.writer == writerIsDone && !s.late && s.replay == 0 && s.queue == [2]message{} && s.workers == [2]outboxHand{}
		},
		Settled: func(s outboxState) string {
			if s.committed && s.applied != allEffects && s.poison == 0 {
				return "an effect is lost"
			}
			return ""
		},
		Show: func(s outboxState) string {
			return fmt.Sprintf("intent %s queue %v poison %d effects %02b", [...]string{absent: "-", live: "live", done: "done", aborted: "aborted"}[s.intent.kind],
				s.queue, s.poison, s.applied)
		},
	}
}

func TestIntents(t *testing.T) {
	t.Parallel()
	const (
		fine    = ""
		lost    = "an effect is lost"
		ghost   = "an effect of a write that was not committed"
		early   = "closed before all effects were done"
		twoEnds = "a write was committed of which somebody was told that it was not"
	)
	for _, m := range []struct {
		name  string
		o     outbox
		wrong string
	}{
		{"the protocol", outbox{}, fine},
		{"the protocol, suspended", outbox{sleeps: true}, fine},
		{"the protocol, suspended, while clocks jump", outbox{sleeps: true, jumps: true}, fine},
		{"the protocol, while clocks jump", outbox{jumps: true}, fine},
		{"a write is sent however old it is", outbox{sleeps: true, sleepyWrite: true}, twoEnds},
		{"a write is fenced however old it is", outbox{sleeps: true, sleepyFence: true, neverOld: true}, twoEnds},
		{"a worker looks at the age before it sleeps", outbox{sleeps: true, sleepyFence: true}, twoEnds},
		{"a worker looks at the age when it sends", outbox{sleeps: true, neverOld: true}, fine},
		{"a message that is too old is deleted", outbox{sleeps: true, jumps: true, dropsOld: true}, lost},
		{"giving back counts", outbox{countUnknown: true}, fine},
		{"close without CAS", outbox{blindClose: true}, fine}, // since an intent here has one way to go: see the move, whose effects change
		{"the old release closes", outbox{closeUnknown: true}, early},
		{"the old release drops the message", outbox{dropUnknown: true}, lost},
		{"what the message says is done", outbox{trustMessage: true}, ghost},
		{"message dropped, intent not fenced", outbox{dropAbsent: true}, lost},
		{"write, then enqueue", outbox{writeFirst: true}, lost},
		{"poison deleted, then copied", outbox{deleteFirst: true}, lost},
		{"replay deletes, then enqueues", outbox{replayDeletes: true}, lost},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			r := m.o.model().Explore()
			if t.Log(r); r.Wrong != m.wrong {
				t.Errorf("want: %q", m.wrong)
			}
		})
	}
}
