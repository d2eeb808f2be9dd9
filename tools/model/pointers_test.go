package model

import (
	"fmt"
	"testing"
)

// pointersProtocol is the protocol of pointers over all partitions. A write stores its pointer,
// then the entity by its ETag, which names the pointer, and then deletes the pointer that the
// entity named before. A pointer belongs to one operation, and after a refused change to one
// attempt. Writers with scripts of values, 0 to delete, and touching to write the entity with the
// value and the pointer that it has; and a program that deletes old pointers which no entity names.
// A program sends nothing later than a tick after it has stored the pointer, and no request arrives
// more than a tick after it was sent; a pointer older than both may be deleted. A mutant sets one
// of the options.
type pointersProtocol struct {
	start   uint8 // the value of the entity in the beginning, 0 for none
	scripts [][]uint8
	ticks   uint8
	crashes uint8
	noLate  bool

	after        bool // the pointer is stored after the entity
	shared       bool // one pointer for all operations with a value
	cleansYoung  bool // pointers of any age are deleted
	blind        bool // a pointer is deleted without its ETag
	noRecord     bool // an insert without a commit record
	sleeps       bool // a writer goes on however old its pointer is
	insertsOnly  bool // only the insert itself has a record, and not what follows it under the same operation
	noAbort      bool // a writer that gives up an insert stores no abort record
	samePointer  bool // a writer stores the same pointer again after a change that was refused
	dropsBare    bool // a writer that gives up a change, which has no commit record, deletes its pointer
	keepsPointer bool // no mutant: a writer that gives up leaves its pointer to the cleaner
}

// touching is the value of a step that keeps the value.
const touching = 9

const (
	pointerSteps = 3 // of a script
	pointerOps   = 1 + 2*pointerSteps
	pointerOld   = 2 // ticks
	pointerAges  = pointerOld + 2
)

// The steps of a writer.
const (
	pReads = iota
	pStores
	pWrites
	pDeletes
	pAborts // its write was refused, and it gives up
	pDrops  // deletes the pointer of the write that it has given up
	pGone
)

var pointerRequests = [...]string{pStores: "store of the pointer", pWrites: "write of the entity", pDeletes: "delete of the old pointer", pDrops: "delete of its own pointer"}

// pointedEntity is a version of the entity: the operation that has stored its value, its pointer,
// and how often it was touched since.
type pointedEntity struct{ value, by, pointer, touched uint8 }

type pointerWriter struct {
	pc, step, age uint8
	pointer       uint8
	record        bool // the operation has a commit record: it was sent as an insert
	again         bool // a second attempt with a pointer of its own
	read          pointedEntity
}

type pointersState struct {
	now      uint8
	entity   pointedEntity
	pointers [2*pointerOps + 3]uint8 // 1 and the age, 0 for none
	records  uint8                   // of the inserts that have committed, or never will, one bit for each
	writers  [2]pointerWriter
	cleaning uint8 // 1 and the pointer that the cleaner has found to be old, and the entity not to name
	crashes  uint8
	lateUsed bool
	late     struct {
		kind, op, age uint8 // kind 0 for none
		pointer       uint8
		record        bool
		read          pointedEntity
	}
}

func (k *pointersProtocol) op(i int, step uint8) uint8 { return 1 + uint8(i)*pointerSteps + step }

func (k *pointersProtocol) valueOf(op uint8) uint8 {
	if op == 0 {
		return k.start
	}
	return k.scripts[(op-1)/pointerSteps][(op-1)%pointerSteps]
}

// pointerOf is the pointer of an operation, in its first or second attempt.
func (k *pointersProtocol) pointerOf(op uint8, again bool) uint8 {
	switch {
	case k.shared:
		return 2*pointerOps + k.valueOf(op)
	case again:
		return pointerOps + op
	}
	return op
}

// apply executes a request, and reports whether the storage accepted it.
func (k *pointersProtocol) apply(s *pointersState, kind, op, pointer uint8, record bool, read pointedEntity) bool {
	switch kind {
	case pStores:
		s.pointers[pointer] = 1
	case pWrites:
		insert := read.value == 0 // "absent" has no ETag: any absence will do
		if insert && s.entity.value != 0 || !insert && s.entity != read || record && s.records&(1<<op) != 0 {
			return false
		}
		if record {
			s.records |= 1 << op
		}
		if k.valueOf(op) == touching {
			s.entity.touched++
			return true
		}
		s.entity = pointedEntity{value: k.valueOf(op), by: op, pointer: pointer}
	case pDeletes:
		s.pointers[read.pointer] = 0
	case pDrops:
		s.pointers[pointer] = 0
	}
	return true
}

func (k *pointersProtocol) next(s pointersState, step func(actor, what string, to pointersState)) {
	if s.now < k.ticks && (s.late.kind == 0 || s.late.age == 0) {
		n := s
		n.now++
		for i, age := range n.pointers {
			if age != 0 {
				n.pointers[i] = min(age+1, pointerAges)
			}
		}
		for i := range n.writers {
			n.writers[i].age = min(n.writers[i].age+1, pointerAges)
		}
		if n.late.kind != 0 {
			n.late.age++
		}
		step("time", "passes", n)
	}
	if q := s.late; q.kind != 0 {
		n := s
		n.late = pointersState{}.late
		step("late", "request never arrives", n)
		if k.apply(&n, q.kind, q.op, q.pointer, q.record, q.read) {
			step("late", fmt.Sprintf("%s of %d arrives", pointerRequests[q.kind], q.op), n)
		}
	}
	for i := range k.scripts {
		k.writer(s, i, step)
	}
	k.clean(s, step)
}

// send executes a request of a writer, with a response; perhaps it arrives once more later, or
// later and its sender has crashed, or before and its response is lost.
func (k *pointersProtocol) send(s pointersState, i int, step func(actor, what string, to pointersState), accepted, refused func(w *pointerWriter)) {
	w, actor := s.writers[i], fmt.Sprintf("writer %d", i)
	op := k.op(i, w.step)
	what := fmt.Sprintf("%s of %d", pointerRequests[w.pc], op)
	n := s
	if k.apply(&n, w.pc, op, w.pointer, w.record, w.read) {
		accepted(&n.writers[i])
	} else {
		what += ": refused"
		refused(&n.writers[i])
	}
	step(actor, what, n)
	if s.lateUsed || k.noLate {
		return
	}
	n.lateUsed = true
	n.late.kind, n.late.op, n.late.pointer, n.late.record, n.late.read = w.pc, op, w.pointer, w.record, w.read
	step(actor, what+", and again later", n)
	lost := s
	lost.lateUsed, lost.late, lost.writers[i] = true, n.late, pointerWriter{pc: pGone}
	step(actor, what+" is late, and its sender crashes", lost)
	unseen := s
	unseen.lateUsed = true
	if k.apply(&unseen, w.pc, op, w.pointer, w.record, w.read) {
		step(actor, what+" arrives, and nothing is heard of it", unseen)
	}
}

func (k *pointersProtocol) writer(s pointersState, i int, step func(actor, what string, to pointersState)) {
	w, actor := s.writers[i], fmt.Sprintf("writer %d", i)
	if w.pc == pGone || int(w.step) == len(k.scripts[i]) {
		return
	}
	if w.pc != pReads && s.crashes < k.crashes {
		n := s
		n.crashes++
		n.writers[i] = pointerWriter{pc: pGone}
		step(actor, "crashes", n)
	}
	op := k.op(i, w.step)
	goes := func(pc uint8) func(w *pointerWriter) { return func(w *pointerWriter) { w.pc = pc } }
	ends := func(w *pointerWriter) { *w = pointerWriter{step: w.step + 1} }
	n := s
	me := &n.writers[i]
	switch w.pc {
	case pReads:
		value := k.valueOf(op)
		if s.entity.value == value || value == touching && s.entity.value == 0 {
			ends(me)
			step(actor, "has nothing to do", n)
			return
		}
		me.read, me.age, me.pc = s.entity, 0, pStores
		me.pointer = k.pointerOf(op, w.again)
		me.record = (s.entity.value == 0 || me.record && !k.insertsOnly) && !k.noRecord
		if value == 0 || value == touching || k.after {
			me.pc = pWrites
		}
		step(actor, fmt.Sprintf("reads the entity: %d", s.entity.value), n)
	case pStores:
		k.send(s, i, step, func(w *pointerWriter) {
			w.age, w.pc = 0, pWrites
			if k.after {
				w.pc = pDeletes
			}
		}, nil)
	case pWrites:
		if w.age > 1 && !k.sleeps {
			*me = pointerWriter{pc: pGone}
			step(actor, "is too late, and gives up", n)
			return
		}
		k.send(s, i, step, func(w *pointerWriter) {
			switch {
			case k.after && k.valueOf(op) != 0:
				w.pc = pStores
			case w.read.value == 0 || k.valueOf(op) == touching:
				ends(w)
			default:
				w.pc = pDeletes
			}
		}, goes(pAborts))
	case pDeletes:
		if w.read.value == 0 {
			ends(me)
			step(actor, "has no old pointer", n)
			return
		}
		k.send(s, i, step, ends, nil)
	case pAborts:
		if s.entity.by == op && s.entity.touched == 0 && k.valueOf(op) != touching { // the row shows it
			me.pc = pDeletes
			step(actor, "finds that it was applied", n)
			return
		}
		if !w.again {
			*me = pointerWriter{step: w.step, record: w.record, again: !w.record && !k.samePointer}
			step(actor, "reads again", n)
		}
		n = s
		if w.record && !k.noAbort {
			if s.records&(1<<op) != 0 {
				ends(&n.writers[i])
				step(actor, "finds that its insert has committed", n)
				return
			}
			n.records |= 1 << op
		}
		n.writers[i].pc = pDrops
		if k.keepsPointer || !w.record && !k.dropsBare && !k.noAbort {
			ends(&n.writers[i])
		}
		step(actor, "gives up", n)
	case pDrops:
		k.send(s, i, step, ends, nil)
	}
}

// clean deletes a pointer that the entity does not name, by its ETag: one that was stored again
// stays.
func (k *pointersProtocol) clean(s pointersState, step func(actor, what string, to pointersState)) {
	mayGo := func(age uint8) bool { return age > 1+pointerOld || k.cleansYoung && age != 0 }
	n := s
	if s.cleaning == 0 {
		for p, age := range s.pointers {
			if mayGo(age) && (s.entity.value == 0 || int(s.entity.pointer) != p) {
				n.cleaning = uint8(p) + 1
				step("cleaner", fmt.Sprintf("finds pointer %d, which the entity does not name", p), n)
			}
		}
		return
	}
	n.cleaning = 0
	p := s.cleaning - 1
	if !mayGo(s.pointers[p]) && !k.blind {
		step("cleaner", "is refused", n)
		return
	}
	n.pointers[p] = 0
	step("cleaner", fmt.Sprintf("deletes pointer %d", p), n)
}

const pointerMissing = "the entity has a value, and its pointer is gone"

func (k *pointersProtocol) model() Model[pointersState] {
	start := pointersState{entity: pointedEntity{value: k.start}}
	if k.start != 0 {
		start.entity.pointer = k.pointerOf(0, false)
		start.pointers[start.entity.pointer] = pointerAges
	}
	return Model[pointersState]{
		Start: start, Termination: true, Next: k.next,
		Check: func(s pointersState) string {
			if s.entity.value != 0 && s.pointers[s.entity.pointer] == 0 {
				return pointerMissing
			}
			return ""
		},
		Quiet: func(s pointersState) bool {
			for i, w := range s.writers[:len(k.scripts)] {
				if w.pc != pGone && int(w.step) < len(k.scripts[i]) {
					return false
				}
			}
			for p, age := range s.pointers {
				if age > 1+pointerOld && (s.entity.value == 0 || int(s.entity.pointer) != p) {
					return false
				}
			}
			return s.now == k.ticks && s.late.kind == 0 && s.cleaning == 0
		},
		CheckQuiet: func(pointersState) string { return "" },
		Show: func(s pointersState) string {
			return fmt.Sprintf("tick %d, entity %d by %d, pointers %v, late %v", s.now, s.entity.value, s.entity.by, s.pointers, s.late)
		},
	}
}

// TestPointers explores the protocol, and mutants with the fault that each part prevents.
func TestPointers(t *testing.T) {
	t.Parallel()
	type p = pointersProtocol
	for _, m := range []struct {
		name  string
		p     p
		wrong string
	}{
		{"there and back beside each other", p{start: 1, scripts: [][]uint8{{2, 1}, {1}}, ticks: 3}, ""},
		{"two values against each other, and a crash", p{start: 1, scripts: [][]uint8{{2}, {2}}, ticks: 3, crashes: 1}, ""},
		{"delete and insert again, beside a change", p{start: 1, scripts: [][]uint8{{0, 1}, {2}}, ticks: 3}, ""},
		{"insert and delete, beside an insert of the same value", p{scripts: [][]uint8{{1, 0}, {1}}, ticks: 3}, ""},
		{"insert, change, delete, beside an insert", p{scripts: [][]uint8{{1, 2, 0}, {1}}, ticks: 3, noLate: true}, ""},
		{"an insert that becomes a change, beside an insert and a delete", p{scripts: [][]uint8{{2, 0}, {1}}, ticks: 3}, ""},
		{"two changes beside a write that keeps the value", p{start: 1, scripts: [][]uint8{{2, 1}, {touching, touching}}, ticks: 3}, ""},
		{"pointers are left to the cleaner", p{scripts: [][]uint8{{1, 0}, {1}}, ticks: 3, keepsPointer: true}, ""},
		{"the pointer after the entity", p{start: 1, scripts: [][]uint8{{2}}, ticks: 3, after: true}, pointerMissing},
		{"one pointer for all operations with a value", p{scripts: [][]uint8{{1, 0}, {1}}, ticks: 3, shared: true, noLate: true}, pointerMissing},
		{"young pointers are deleted", p{start: 1, scripts: [][]uint8{{2}}, ticks: 3, cleansYoung: true, noLate: true}, pointerMissing},
		{"deleted without its ETag", p{scripts: [][]uint8{{1, 0}, {1}}, ticks: 4, blind: true}, pointerMissing},
		{"an insert without a commit record", p{scripts: [][]uint8{{1, 0}}, ticks: 2, noRecord: true}, pointerMissing},
		{"only the insert itself has a record", p{scripts: [][]uint8{{2, 0}, {1}}, ticks: 3, insertsOnly: true}, pointerMissing},
		{"a writer that has slept goes on", p{start: 1, scripts: [][]uint8{{2}}, ticks: 4, sleeps: true, noLate: true}, pointerMissing},
		{"the same pointer again after a refused change", p{start: 1, scripts: [][]uint8{{2, 1}, {1}}, ticks: 3, samePointer: true}, pointerMissing},
		{"a refused change deletes its pointer", p{start: 1, scripts: [][]uint8{{2}, {touching}}, ticks: 3, dropsBare: true}, pointerMissing},
		{"an insert is given up without an abort record", p{start: 1, scripts: [][]uint8{{2, 0}, {0, 1}}, ticks: 3, noAbort: true}, pointerMissing},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.wrong == "" {
				expectSound(t, explore(m.p.model()))
				return
			}
			expectFault(t, m.p.model().Explore(), m.wrong)
		})
	}
}
