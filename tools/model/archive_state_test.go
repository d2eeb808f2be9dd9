package model

import "fmt"

const (
	maxOps          = 6 // the numbers of operations begin with 1
	maxIncarnations = 6 // the numbers of incarnations begin with 1; 0 is none

	renewed = 3 // the new incarnation of an entity that has left its key and come back, in place of a tombstone's
	alike   = 4 // the incarnation of another entity, which is archived from the start
	forged  = 5 // a text that is not an incarnation, and that has the same row of the destination as alike
)

// Freshness replaces ETags: a reader of a row gets a flag for it, and every write of the row removes all flags for it. An ETag
// never recurs, and the number of states is finite for any number of deliveries.
const (
	freshCurrent = 1 << iota
	freshDest
	freshRecord
	freshIndex
)

// The states of a row of the destination, and of a commit record.
const (
	absent = iota
	present
	tombstone
	pending
	done
	aborted
)

// The effects of a commit record.
const (
	effMove = 1 << iota
	effIndex
	effDropRow
)

// The states of an incarnation.
const (
	unused = iota
	alive
	deleted  // by a user
	restored // another incarnation has its content
)

type row struct{ incarnation, ver uint8 }

// dest is a row of the destination: a content, and the operations that wrote it.
type dest struct{ kind, incarnation, ver, ops uint8 }

// record is a commit record or an abort record.
type record struct{ kind, effects, incarnation uint8 }

// request is a write that was sent to the storage.
type request struct{ kind, op, incarnation, ver, from, fresh uint8 }

const (
	reqNone            = iota
	reqStartMove       // transaction: insert commit record, update entity
	reqUpdate          // CAS
	reqDelete          // CAS; with a commit record if there is an index
	reqCreate          // Insert; with a commit record if there is an index
	reqRestore         // transaction: insert commit record, entity and restore note
	reqInsert          // insert into the destination
	reqPut             // CAS on the row of the destination
	reqTombstone       // CAS of the row of the destination to a tombstone
	reqInsertTombstone // insert a tombstone into the destination
	reqMove            // transaction: update commit record, delete entity, both by CAS
	reqClose           // CAS on the commit record
	reqAbort           // insert the abort record
	reqIndex           // CAS on the index row
	reqReplace         // unconditional replace of an existing row
	reqRaw             // unconditional write of a row by a program that does not know incarnations
	reqRenew           // transaction: update commit record, give the entity a new incarnation, both by CAS
	reqLeave           // CAS: the entity gets another key
	reqReturn          // the entity gets its key back
)

var requestNames = [...]string{"", "transaction that starts the move", "update", "delete", "create", "transaction of the restore", "insert into the destination",
	"update of the row of the destination", "tombstone in place of the row", "tombstone without a row", "transaction of the move", "close", "abort record", "index row",
	"unconditional replace", "raw write", "transaction that renews the incarnation", "move to another key", "move back"}

// needs contains the rows that must be unchanged for a request to succeed.
var needs = [...]uint8{reqStartMove: freshCurrent, reqUpdate: freshCurrent, reqDelete: freshCurrent, reqPut: freshDest, reqTombstone: freshDest,
	reqMove: freshCurrent | freshRecord, reqClose: freshRecord, reqIndex: freshIndex,
	reqRenew: freshCurrent | freshRecord, reqLeave: freshCurrent, reqReturn: 0}

// worker is a worker with a message. The zero worker is idle.
type worker struct{ pc, op, incarnation, kind, todo, ver, fresh uint8 }

// user is a user with a script of actions.
type user struct{ at, pc, incarnation, ver, todo, fresh uint8 }

// archiveState contains all stored rows, messages and the progress of users and workers. The last fields serve the checks only.
type archiveState struct {
	current       row
	away          row // the entity under another key
	dest          [maxIncarnations]dest
	records       [maxOps]record
	restoredOnce  uint8 // restore notes, by incarnation
	moved         uint8 // notes of moved incarnations, by incarnation
	writtenBy     uint8 // notes of the destination, by operation
	moving        uint8 // the operation that moves the entity, as the entity in Current names it
	index         uint8 // the incarnation that the index row names; 0 is a tombstone
	notifications uint8 // notifications, by operation
	poison        uint8 // copies in the poison queue, by operation
	users         [4]user
	workers       [2]worker
	late          request // a request that was sent, and has not arrived when its sender continues

	asked  bool // a move of the entity was requested, since it has this key and this incarnation
	newest [maxIncarnations]uint8
	status [maxIncarnations]uint8
	fault  uint8
}

const (
	deletedOther = iota + 1
	restoredAgain
	restoredOld
)

var faults = [...]string{"", "a worker deleted an entity of another incarnation", "a deleted or restored entity was restored",
	"a restored entity has an old content"}

func (s *archiveState) String() string {
	out := "current "
	if s.current.incarnation == 0 {
		out += "-"
	} else {
		out += fmt.Sprintf("I%d@%d", s.current.incarnation, s.current.ver)
	}
	for i, d := range s.dest {
		switch d.kind {
		case present:
			out += fmt.Sprintf(" dest%d=I%d@%d ops%b", i, d.incarnation, d.ver, d.ops>>1)
		case tombstone:
			out += fmt.Sprintf(" dest%d=tombstone", i)
		}
	}
	for op, rec := range s.records {
		switch rec.kind {
		case pending:
			out += fmt.Sprintf(" op%d=pending%03b(I%d)", op, rec.effects, rec.incarnation)
		case done:
			out += fmt.Sprintf(" op%d=done", op)
		case aborted:
			out += fmt.Sprintf(" op%d=aborted", op)
		}
	}
	return out
}

func (a *archiveProtocol) slot(incarnation uint8) uint8 {
	switch {
	case incarnation == forged:
		return alike
	case a.keyWithoutIncarnation:
		return 0
	}
	return incarnation
}

// invalidate removes the flags of one kind for a row: op identifies the commit record, and incarnation the row of the destination.
func (a *archiveProtocol) invalidate(s *archiveState, flag, op, incarnation uint8) {
	hit := func(o, l uint8) bool {
		return flag == freshCurrent || flag == freshIndex || flag == freshRecord && o == op || flag == freshDest && a.slot(l) == a.slot(incarnation)
	}
	for i := range s.users {
		if flag == freshCurrent {
			s.users[i].fresh &^= flag
		}
	}
	for i := range s.workers {
		if w := &s.workers[i]; hit(w.op, w.incarnation) {
			w.fresh &^= flag
		}
	}
	if r := &s.late; r.kind != reqNone && hit(r.op, r.incarnation) {
		if r.fresh &^= flag; !a.canSucceed(*r) {
			*r = request{}
		}
	}
}

// canSucceed reports whether the ETags of a request are current.
func (a *archiveProtocol) canSucceed(r request) bool {
	need := needs[r.kind]
	switch {
	case r.kind == reqClose && a.blindClose:
		need = 0
	case r.kind == reqMove && a.deleteAny:
		need &^= freshCurrent
	case r.kind == reqMove && a.moveThenClose:
		need &^= freshRecord
	}
	return r.fresh&need == need
}

// insertRecord inserts a commit record unless a commit record or an abort record exists.
func (s *archiveState) insertRecord(r request, effects uint8) bool {
	if s.records[r.op].kind != absent {
		return false
	}
	s.records[r.op] = record{pending, effects, r.incarnation}
	return true
}

// arrive applies a request to the storage, all of it or nothing, and reports whether it succeeded.
func (a *archiveProtocol) arrive(s *archiveState, r request) bool {
	if !a.canSucceed(r) {
		return false
	}
	d := &s.dest[a.slot(r.incarnation)]
	switch r.kind {
	case reqStartMove:
		if !s.insertRecord(r, effMove) {
			return false
		}
		s.moving, s.asked = r.op, true
	case reqRenew:
		s.status[r.incarnation] = restored
		s.current.incarnation = renewed
		s.status[renewed], s.newest[renewed] = alive, s.current.ver
		s.records[r.op].incarnation = renewed
		a.invalidate(s, freshRecord, r.op, 0)
	case reqLeave:
		s.away, s.current, s.asked = s.current, row{}, false
	case reqReturn:
		if s.current.incarnation != 0 || s.away.incarnation == 0 {
			return false
		}
		s.current, s.away = s.away, row{}
	case reqUpdate:
		s.current.ver++
		s.newest[s.current.incarnation] = s.current.ver
	case reqDelete, reqCreate:
		if r.kind == reqCreate && s.current.incarnation != 0 || a.index && !s.insertRecord(r, effIndex) {
			return false
		}
		if s.asked = false; r.kind == reqDelete {
			s.status[s.current.incarnation] = deleted
			s.current, s.moving = row{}, 0
		} else {
			s.current, s.status[r.incarnation], s.newest[r.incarnation], s.moving = row{r.incarnation, 1}, alive, 1, 0
		}
	case reqRestore:
		return a.restored(s, r)
	case reqInsert:
		if d.kind == present || d.kind == tombstone && !a.insertOverTombstone || a.operationNotes && s.writtenBy&(1<<r.op) != 0 {
			return false
		}
		*d = dest{present, r.incarnation, r.ver, 1 << r.op}
		s.writtenBy |= a.writtenBit(r.op)
	case reqPut:
		*d = dest{present, r.incarnation, r.ver, d.ops | 1<<r.op}
		s.writtenBy |= a.writtenBit(r.op)
	case reqTombstone:
		*d = a.afterRemoval()
	case reqInsertTombstone:
		if d.kind != absent {
			return false
		}
		*d = a.afterRemoval()
		s.writtenBy |= a.writtenBit(r.op)
	case reqMove:
		return a.moved(s, r)
	case reqClose:
		s.records[r.op].kind, s.records[r.op].effects = done, 0
	case reqAbort:
		if s.records[r.op].kind != absent {
			return false
		}
		s.records[r.op].kind = aborted
	case reqIndex:
		s.index = r.ver
	case reqReplace, reqRaw:
		if s.current.incarnation == 0 && r.kind == reqReplace {
			return false
		}
		s.replaceCurrent(r.from)
	}
	switch r.kind {
	case reqStartMove, reqUpdate, reqDelete, reqCreate, reqReplace, reqRaw, reqRenew, reqLeave, reqReturn:
		a.invalidate(s, freshCurrent, 0, 0)
	case reqInsert, reqPut, reqTombstone, reqInsertTombstone:
		a.invalidate(s, freshDest, 0, r.incarnation)
	case reqClose:
		a.invalidate(s, freshRecord, r.op, 0)
	case reqIndex:
		a.invalidate(s, freshIndex, 0, 0)
	}
	return true
}

// replaceCurrent replaces the row in Current, if there is one, by a new content with the given incarnation. The old incarnation
// then counts as restored. A row without an incarnation gets one only when the incarnation is needed, and no other row can name it
// before, so that the model gives it a unique incarnation at once.
func (s *archiveState) replaceCurrent(incarnation uint8) {
	ver := s.newest[s.current.incarnation] + 1
	if was := s.current.incarnation; was == 0 {
		ver = 1
	} else {
		s.status[was] = restored
	}
	s.current, s.status[incarnation], s.newest[incarnation], s.moving, s.asked = row{incarnation, ver}, alive, ver, 0, false
}

func (a *archiveProtocol) writtenBit(op uint8) uint8 {
	if a.operationNotes {
		return 1 << op
	}
	return 0
}

// afterRemoval returns the row of the destination after its removal.
func (a *archiveProtocol) afterRemoval() dest {
	if a.physicalDelete || a.operationNotes {
		return dest{}
	}
	return dest{kind: tombstone}
}

func (a *archiveProtocol) moved(s *archiveState, r request) bool {
	if s.current.incarnation == 0 { // only with deleteAny, since If-Match: * also requires a row
		return false
	}
	if s.current.incarnation != r.incarnation {
		s.fault = deletedOther
	}
	s.current, s.moving, s.asked = row{}, 0, false
	a.invalidate(s, freshCurrent, 0, 0)
	if a.movedNotes {
		s.moved |= 1 << r.incarnation
	}
	if a.moveThenClose {
		return true
	}
	rec := &s.records[r.op]
	rec.effects &^= effMove
	if a.index {
		rec.effects |= effIndex
	}
	if rec.effects == 0 {
		rec.kind = done
	}
	a.invalidate(s, freshRecord, r.op, 0)
	return true
}

// restored restores the incarnation of r from the destination as the new incarnation r.from.
func (a *archiveProtocol) restored(s *archiveState, r request) bool {
	effects := uint8(effDropRow)
	if a.index {
		effects |= effIndex
	}
	if s.current.incarnation != 0 || s.restoredOnce&(1<<r.incarnation) != 0 || !s.insertRecord(r, effects) {
		return false
	}
	switch {
	case s.status[r.incarnation] != alive:
		s.fault = restoredAgain
	case s.newest[r.incarnation] != r.ver:
		s.fault = restoredOld
	}
	if !a.noRestoreNote {
		s.restoredOnce |= 1 << r.incarnation
	}
	s.status[r.incarnation] = restored
	s.current, s.moving, s.asked = row{r.from, r.ver}, 0, false
	s.status[r.from], s.newest[r.from] = alive, r.ver // the same incarnation with keepIncarnation
	a.invalidate(s, freshCurrent, 0, 0)
	return true
}
