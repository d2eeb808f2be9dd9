package model

import (
	"fmt"
	"testing"
)

// cleaningProtocol is the protocol that deletes old commit records and abort records by notes: before a program stores a record, it
// stores a note with the partition and the day, once for each partition, day and process. Two writers of one process, a resolver
// of another, and a sweep. Time is counted in ticks. A request arrives within the retention after its operation began, or never. A
// program may sleep for any time between two steps, or crash. A mutant sets one of the options.
type cleaningProtocol struct {
	noteAfter     bool // the note is stored behind the record
	byPartition   bool // a process stores a note once for each partition, and not for each day
	soon          bool // the sweep takes a note when its day is over
	dropsAlways   bool // the sweep deletes the note although records are left
	young         bool // the sweep deletes the records of the partition without a look at their age
	sweepsPending bool // the sweep deletes pending records
	abortsUnnoted bool // the resolver stores no note
	abortsOld     bool // the resolver stores an abort record however old the operation is
	staleAge      bool // the resolver checks the age before it reads the record, and not when it stores the abort record
	blind         bool // no mutant: the sweep deletes the note without its ETag
}

const (
	cleaningDay   = 2 // ticks
	cleaningKeep  = 2 // the retention
	cleaningBegin = 2 // the last tick at which an operation begins
	cleaningTicks = 8
	cleaningDays  = cleaningTicks/cleaningDay + 1
)

// The steps of a writer, the resolver and the sweep.
const (
	cleaningIdle = iota
	cleaningNote
	cleaningStore
	cleaningClose
	cleaningOver
)

type cleaningOp struct {
	pc       uint8
	began    uint8 // tick
	flying   bool  // its transaction may arrive, or arrive again
	record   uint8
	commits  uint8
	executed bool
}

type cleaningState struct {
	now     uint8
	ops     [2]cleaningOp
	notes   [cleaningDays]uint8 // versions, 0 for none
	version uint8
	known   [2]uint8 // days whose notes the processes have stored
	flights uint8    // transactions that the network has held or repeated

	resolver struct{ pc, op, read uint8 }
	aborted  [2]bool // operations that the resolver has reported as aborted
	sweep    struct {
		pc, day, version uint8
		kept             bool
	}
	fault uint8
}

var cleaningFaults = [...]string{"", "a write was applied twice", "a write was applied after it was reported as aborted",
	"the effects of a write are lost"}

const recordStays = "an old record stays"

// canonical numbers the versions of the notes anew: only which of them are equal matters.
func (s cleaningState) canonical() cleaningState {
	names := map[uint8]uint8{0: 0}
	name := func(v *uint8) {
		if _, known := names[*v]; !known {
			names[*v] = uint8(len(names))
		}
		*v = names[*v]
	}
	for day := range s.notes {
		name(&s.notes[day])
	}
	name(&s.sweep.version)
	s.version = uint8(len(names)) - 1
	return s
}

func (c *cleaningProtocol) next(s cleaningState, emit func(actor, what string, to cleaningState)) {
	step := func(actor, what string, to cleaningState) { emit(actor, what, to.canonical()) }
	passes := s.now < cleaningTicks
	for i, op := range s.ops {
		if op.flying {
			passes = passes && s.now < op.began+cleaningKeep
			n := s
			n.ops[i].flying = false
			step("network", fmt.Sprint("loses the transaction of ", i), n)
			c.arrive(&n, i)
			step("network", fmt.Sprint("delivers the transaction of ", i), n)
		}
	}
	if passes {
		n := s
		n.now++
		step("time", "passes", n)
	}
	for i := range s.ops {
		c.writer(s, i, step)
		if s.ops[i].record == pending {
			n := s
			n.ops[i].record, n.ops[i].executed = done, true
			step("worker", fmt.Sprint("executes the effects of ", i), n)
		}
	}
	c.resolve(s, step)
	c.clean(s, step)
}

// arrive applies the transaction of a writer: it inserts the record and changes the entity.
func (c *cleaningProtocol) arrive(s *cleaningState, i int) {
	op := &s.ops[i]
	if op.record != absent {
		return
	}
	op.record = done
	if i == 0 {
		op.record = pending // the first write has effects
	}
	op.commits++
	switch {
	case op.commits > 1:
		s.fault = 1
	case s.aborted[i]:
		s.fault = 2
	}
}

// note stores the note of a day.
func (c *cleaningProtocol) note(s *cleaningState, process int, began uint8) {
	day := began / cleaningDay
	s.version++
	s.notes[day] = s.version
	s.known[process] |= c.memory(day)
}

// memory is what a process remembers of a note.
func (c *cleaningProtocol) memory(day uint8) uint8 {
	if c.byPartition {
		return 1
	}
	return 1 << day
}

func (c *cleaningProtocol) writer(s cleaningState, i int, step func(actor, what string, to cleaningState)) {
	actor, n := fmt.Sprint("writer ", i), s
	op := &n.ops[i]
	to := func(what string, pc uint8) {
		n.ops[i].pc = pc
		step(actor, what, n)
		n = s
	}
	switch op.pc {
	case cleaningIdle:
		if s.now > cleaningBegin {
			to("does not begin", cleaningOver)
			return
		}
		op.began = s.now
		if c.noteAfter || s.known[0]&c.memory(s.now/cleaningDay) != 0 {
			to("begins", cleaningStore)
			return
		}
		to("begins", cleaningNote)
	case cleaningNote:
		after := uint8(cleaningStore)
		if c.noteAfter {
			after = cleaningOver
		}
		c.note(&n, 0, op.began)
		to("stores the note", after)
		to("crashes", cleaningOver)
	case cleaningStore:
		if s.now > op.began+1 {
			to("has slept too long", cleaningOver)
			return
		}
		after := uint8(cleaningOver)
		if c.noteAfter {
			after = cleaningNote
		}
		c.arrive(&n, i)
		to("transaction", after)
		if s.flights == 0 {
			c.arrive(&n, i)
			op.flying, n.flights = true, 1
			to("transaction, which the network may repeat", after)
			op.flying, n.flights = true, 1
			to("transaction, which is late, and crashes", cleaningOver)
		}
	}
}

// resolve is a program that looks for the outcome of an operation, and stores an abort record if there is no record.
func (c *cleaningProtocol) resolve(s cleaningState, step func(actor, what string, to cleaningState)) {
	n := s
	r := &n.resolver
	op := s.ops[r.op]
	old := s.now > op.began+cleaningKeep
	switch r.pc {
	case cleaningIdle:
		for i, op := range s.ops {
			if op.pc != cleaningIdle && op.record == absent && (c.abortsOld || s.now <= op.began+cleaningKeep) {
				n.resolver.pc, n.resolver.op = cleaningNote, uint8(i)
				step("resolver", fmt.Sprint("finds no record of ", i), n)
			}
		}
	case cleaningNote:
		if !c.abortsUnnoted {
			c.note(&n, 1, op.began)
		}
		r.pc = cleaningStore
		step("resolver", "stores the note", n)
	case cleaningStore:
		r.pc = cleaningOver
		switch {
		case old && !c.abortsOld && !c.staleAge:
			step("resolver", "has slept too long", n)
		case op.record != absent:
			step("resolver", "abort record: refused", n)
		default:
			n.ops[r.op].record, n.aborted[r.op] = aborted, true
			if op.commits > 0 {
				n.fault = 2
			}
			step("resolver", "abort record", n)
		}
	}
}

func (c *cleaningProtocol) clean(s cleaningState, step func(actor, what string, to cleaningState)) {
	n := s
	w := &n.sweep
	switch w.pc {
	case cleaningIdle:
		for day, version := range s.notes {
			due := uint8(day+1)*cleaningDay + cleaningKeep
			if c.soon {
				due -= cleaningKeep
			}
			if version != 0 && s.now >= due {
				n.sweep.pc, n.sweep.day, n.sweep.version = cleaningStore, uint8(day), version
				step("sweep", fmt.Sprint("takes the note of day ", day), n)
			}
		}
	case cleaningStore:
		w.pc = cleaningClose
		for i, op := range s.ops {
			ofDay := op.began/cleaningDay <= w.day
			switch old := s.now > op.began+cleaningKeep; {
			case op.record == absent:
			case op.record == pending && !c.sweepsPending:
				w.kept = w.kept || ofDay
			case old, c.young:
				n.ops[i].record = absent
				if op.record == pending {
					n.fault = 3
				}
			default:
				w.kept = w.kept || ofDay
			}
		}
		step("sweep", "deletes old records", n)
	case cleaningClose:
		day, version, kept := w.day, w.version, w.kept
		w.pc, w.day, w.version, w.kept = cleaningIdle, 0, 0, false
		switch {
		case kept && !c.dropsAlways:
			step("sweep", "keeps the note", n)
		case s.notes[day] == version || c.blind:
			n.notes[day] = 0
			step("sweep", "deletes the note", n)
		default:
			step("sweep", "leaves the note, which has changed", n)
		}
	}
}

func (c *cleaningProtocol) model() Model[cleaningState] {
	return Model[cleaningState]{
		Next:  c.next,
		Check: func(s cleaningState) string { return cleaningFaults[s.fault] },
		Quiet: func(s cleaningState) bool {
			for _, op := range s.ops {
				if op.pc != cleaningOver || op.flying || op.record == pending {
					return false
				}
			}
			for day, version := range s.notes {
				if version != 0 && uint8(day+1)*cleaningDay+cleaningKeep <= cleaningTicks {
					return false
				}
			}
			return s.now == cleaningTicks && s.sweep.pc == cleaningIdle &&
				(s.resolver.pc == cleaningIdle || s.resolver.pc == cleaningOver)
		},
		CheckQuiet: func(s cleaningState) string {
			if s.ops[0].record != absent || s.ops[1].record != absent {
				return recordStays
			}
			return ""
		},
		Show: func(s cleaningState) string {
			out := fmt.Sprintf("tick %d, notes %v", s.now, s.notes)
			for i, op := range s.ops {
				out += fmt.Sprintf(", %d of tick %d %s", i, op.began,
					[...]string{absent: "-", pending: "pending", done: "done", aborted: "aborted"}[op.record])
			}
			return out
		},
	}
}

// TestCleaning explores the protocol, and mutants with the fault that each part prevents.
func TestCleaning(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name  string
		c     cleaningProtocol
		wrong string
	}{
		{"the protocol", cleaningProtocol{}, ""},
		{"a note goes without its ETag", cleaningProtocol{blind: true}, ""},
		{"the note after the record", cleaningProtocol{noteAfter: true}, recordStays},
		{"the note is of the partition, and not of the day", cleaningProtocol{byPartition: true}, recordStays},
		{"swept when the day is over", cleaningProtocol{soon: true}, recordStays},
		{"a note goes although a record is pending", cleaningProtocol{dropsAlways: true}, recordStays},
		{"records without a look at their age", cleaningProtocol{young: true}, cleaningFaults[1]},
		{"pending records are deleted", cleaningProtocol{sweepsPending: true}, cleaningFaults[3]},
		{"abort records without a note", cleaningProtocol{abortsUnnoted: true}, recordStays},
		{"abort records for old operations", cleaningProtocol{abortsOld: true}, cleaningFaults[2]},
		{"age checked only before", cleaningProtocol{staleAge: true}, cleaningFaults[2]},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.wrong == "" {
				expectSound(t, explore(m.c.model()))
				return
			}
			expectFault(t, m.c.model().Explore(), m.wrong)
		})
	}
}
