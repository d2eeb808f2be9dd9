package model

// archiveProtocol is the protocol of moves and restores, with a script for each user. A mutant sets one of the options.
type archiveProtocol struct {
	users             [][]action
	index             bool // the table has an index elsewhere
	archived          bool // see workload
	archivedAfterRead bool // see workload
	otherArchived     bool // see workload
	jumps             bool // see workload

	// Mutants.
	keyWithoutIncarnation, keepIncarnation, physicalDelete, insertOverTombstone, noRestoreNote, deleteAny, blindClose bool
	ignoreOwnRecord, ignoreOtherRecords, noTombstone, moveThenClose, dropWithoutAbort, writeFirst, staleIncarnation   bool
	trustIncarnation, dropExpired, putMovedAgain                                                                      bool

	emptyFinish   bool // a worker writes no tombstone if the destination has no row
	restoreAnyRow bool // a restore takes any row without reading commit records
	firstContent  bool // a restore takes the content that it read before the commit records
	noSecondRead  bool // a restore does not read the row again after the commit records
	destFirst     bool // a restore reads the destination before Current
	currentFirst  bool // a restore reads Current before the destination

	tombstoneEnds   bool // a tombstone ends a move, although the incarnation is in Current
	tombstoneYields bool // the row replaces a tombstone, and the entity keeps its incarnation

	// Alternatives.
	operationNotes bool // the destination has a note for each operation, and no tombstones
	movedNotes     bool // the transaction of the move inserts a note with the incarnation, so that no list of operations is needed
	oneOperation   bool // an entity names the operation that moves it, and a second request joins the first
}

const (
	doMove = iota
	doUpdate
	doDelete
	doCreate
	doRestore
	doReplace // an unconditional replace by an entity that was read earlier
	doRaw     // a raw write that loses the system properties
	doForge   // a raw write that forges the incarnation
	doStale   // a raw write with an incarnation that was read earlier
	doLeave   // a move to another key, with the incarnation
	doReturn  // the move back
)

// action is a line of a script, with an operation and an incarnation of its own if it needs them.
type action struct{ kind, op, incarnation uint8 }

// The steps of a user in an action.
const (
	uRead = iota
	uNotify
	uSend
	uReadDest
	uReadRecords
	uReadAgain
)

// The steps of a worker.
const (
	wIdle = iota
	wRead
	wAbort
	wReadDest
	wReadCurrent
	wReadMovers
	wPut
	wMove
	wReadOwnRecord
	wReadOtherRecords
	wReadMoved
	wTombstone
	wClose
	wDrop
	wReadRestored
	wRemoveRestored
	wReadIndex
	wReadCurrentForIndex
	wWriteIndex
	wRenew
)

type stepper func(actor, what string, to archiveState)

func (a *archiveProtocol) next(s archiveState, step stepper) {
	for i := range a.users {
		if int(s.users[i].at) < len(a.users[i]) {
			a.user(s, i, step)
		}
	}
	for i := range s.workers {
		a.worker(s, i, step)
	}
	if s.poison != 0 {
		n := s
		n.notifications, n.poison = s.notifications|s.poison, 0
		step("operator", "replays the poison queue", n)
	}
	if r := s.late; r.kind != reqNone {
		n := s
		n.late = request{}
		if a.arrive(&n, r) {
			step("late", requestNames[r.kind]+" arrives", n)
		} else {
			step("late", requestNames[r.kind]+" is refused", n)
		}
	}
}

var workerNames = [...]string{"worker", "worker 1", "worker 2", "worker 3", "worker 4", "worker 5"}

func (a *archiveProtocol) worker(s archiveState, i int, step stepper) {
	w, actor := s.workers[i], workerNames[s.workers[i].op]
	set := func(what string, n archiveState, w worker) {
		n.workers[i] = w
		n.workers[0], n.workers[1] = sortedWorkers(n.workers[0], n.workers[1])
		step(actor, what, n)
	}
	if w.pc == wIdle {
		for op := uint8(1); op < maxOps; op++ {
			if s.notifications&(1<<op) != 0 {
				actor = workerNames[op]
				set("takes the message", s, worker{pc: wRead, op: op})
			}
		}
		return
	}
	set("crashes", s, worker{})
	at := func(pc, keep uint8) worker {
		return worker{pc: pc, op: w.op, incarnation: w.incarnation, kind: w.kind, todo: w.todo, ver: w.ver, fresh: w.fresh & keep}
	}
	bare := func(pc, keep uint8) worker {
		return worker{pc: pc, op: w.op, incarnation: w.incarnation, fresh: w.fresh & keep}
	}
	rec := s.records[w.op]
	d := s.dest[a.slot(w.incarnation)]
	send := func(r request, ok, no worker) {
		r.op, r.incarnation, r.fresh = w.op, w.incarnation, w.fresh
		n := s
		if !a.arrive(&n, r) {
			set(requestNames[r.kind]+": refused", n, no)
			return
		}
		set(requestNames[r.kind], n, ok)
		if s.late.kind != reqNone {
			return
		}
		if r.kind == reqInsert {
			n.late = r
			n.late.fresh = 0
			set(requestNames[r.kind]+", duplicated", n, ok)
		}
		n = s
		n.late = r
		n.late.fresh &= needs[r.kind]
		set(requestNames[r.kind]+", which is late", n, worker{}) // without a response the worker starts again
	}
	switch w.pc {
	case wRead:
		a.dispatch(s, w, set)
	case wAbort:
		send(request{kind: reqAbort}, bare(wDrop, 0), bare(wRead, 0))
	case wReadDest:
		n := at(wReadCurrent, freshRecord)
		n.kind, n.todo, n.fresh = d.kind, d.ops&^(1<<w.op), n.fresh|freshDest
		set("reads the destination", s, n)
	case wReadCurrent:
		switch {
		case s.current.incarnation == w.incarnation && w.kind == tombstone && a.tombstoneEnds:
			set("reads Current: present, but a tombstone", s, bare(wClose, freshRecord))
		case s.current.incarnation == w.incarnation && w.kind == tombstone && !a.tombstoneYields:
			n := bare(wRenew, freshRecord)
			n.fresh |= freshCurrent
			set("reads Current: present, and a tombstone", s, n)
		case s.current.incarnation == w.incarnation:
			n := at(wPut, freshRecord|freshDest)
			n.ver, n.fresh = s.current.ver, n.fresh|freshCurrent
			if n.todo != 0 && !a.putMovedAgain {
				n.pc = wReadMovers
			} else {
				n.todo = 0
			}
			set("reads Current: present", s, n)
		case w.kind == absent && !a.emptyFinish:
			set("reads Current: gone, nothing archived", s, at(wTombstone, freshRecord))
		case w.kind != present || a.noTombstone:
			set("reads Current: gone", s, bare(wClose, freshRecord))
		case a.movedNotes:
			set("reads Current: gone", s, at(wReadMoved, freshRecord|freshDest))
		case a.ignoreOwnRecord && a.ignoreOtherRecords:
			set("reads Current: gone", s, at(wTombstone, freshRecord|freshDest))
		case a.ignoreOwnRecord:
			set("reads Current: gone", s, at(wReadOtherRecords, freshRecord|freshDest))
		default:
			set("reads Current: gone", s, at(wReadOwnRecord, freshDest))
		}
	case wReadMovers: // a moved incarnation is not written again: a user wrote it back
		op := lowest(w.todo)
		if other := s.records[op]; !other.moves(w.incarnation) {
			set("reads another commit record: moved", s, bare(wReadDest, freshRecord))
			return
		}
		n := w
		if n.todo &^= 1 << op; n.todo == 0 {
			n.pc = wPut
		}
		set("reads another commit record: not moved", s, n)
	case wPut:
		kind := uint8(reqInsert)
		if w.kind == present || w.kind == tombstone {
			kind = reqPut
		}
		send(request{kind: kind, ver: w.ver}, bare(wMove, freshRecord|freshCurrent), bare(wReadDest, freshRecord))
	case wRenew:
		send(request{kind: reqRenew}, bare(wRead, 0), bare(wRead, 0))
	case wMove:
		ok := bare(wDrop, 0)
		if a.index {
			ok = bare(wReadIndex, 0)
			ok.fresh = freshRecord
		}
		if a.moveThenClose {
			ok = bare(wClose, freshRecord)
		}
		send(request{kind: reqMove}, ok, bare(wRead, 0))
	case wReadOwnRecord:
		if !rec.moves(w.incarnation) {
			a.dispatch(s, w, set)
			return
		}
		n := at(wReadOtherRecords, freshDest)
		n.fresh |= freshRecord
		if n.todo == 0 || a.ignoreOtherRecords || a.oneOperation {
			n.pc, n.todo = wTombstone, 0
		}
		set("reads its own commit record: not moved", s, n)
	case wReadOtherRecords:
		op := lowest(w.todo)
		if op == 0 {
			set("no other operation wrote the row", s, at(wTombstone, freshRecord|freshDest))
			return
		}
		if other := s.records[op]; !other.moves(w.incarnation) {
			set("reads another commit record: moved", s, bare(wClose, freshRecord))
			return
		}
		n := at(wReadOtherRecords, freshRecord|freshDest)
		if n.todo &^= 1 << op; n.todo == 0 {
			n.pc = wTombstone
		}
		set("reads another commit record: not moved", s, n)
	case wReadMoved:
		if s.moved&(1<<w.incarnation) != 0 {
			set("reads the note of the move: present", s, bare(wClose, freshRecord))
			return
		}
		set("reads the note of the move: none", s, at(wTombstone, freshRecord|freshDest))
	case wTombstone:
		kind := uint8(reqTombstone)
		if w.kind == absent {
			kind = reqInsertTombstone
		}
		send(request{kind: kind}, bare(wClose, freshRecord), bare(wReadDest, freshRecord))
	case wClose:
		send(request{kind: reqClose}, bare(wDrop, 0), bare(wRead, 0))
	case wDrop:
		n := s
		n.notifications &^= 1 << w.op
		set("deletes the message", n, worker{})
	case wReadRestored:
		n := bare(wRemoveRestored, freshRecord)
		if n.fresh |= freshDest; d.kind != present {
			n = bare(wClose, freshRecord)
			if a.index {
				n.pc = wReadIndex
			}
		}
		set("reads the destination", s, n)
	case wRemoveRestored:
		ok := bare(wClose, freshRecord)
		if a.index {
			ok.pc = wReadIndex
		}
		send(request{kind: reqTombstone}, ok, bare(wReadRestored, freshRecord))
	case wReadIndex:
		n := bare(wReadCurrentForIndex, freshRecord)
		n.fresh |= freshIndex
		set("reads the index row", s, n)
	case wReadCurrentForIndex:
		n := bare(wWriteIndex, freshRecord|freshIndex)
		n.ver = s.current.incarnation
		set("reads Current, for the index", s, n)
	case wWriteIndex:
		send(request{kind: reqIndex, ver: w.ver}, bare(wClose, freshRecord), bare(wReadIndex, freshRecord))
	}
}

// moves reports whether a commit record still contains the effect that moves an incarnation.
func (r record) moves(incarnation uint8) bool {
	return r.kind == pending && r.effects&effMove != 0 && r.incarnation == incarnation
}

// dispatch reads the commit record and continues with its first effect.
func (a *archiveProtocol) dispatch(s archiveState, w worker, set func(string, archiveState, worker)) {
	n := worker{op: w.op, incarnation: s.records[w.op].incarnation, fresh: freshRecord}
	if a.jumps && s.records[w.op].kind == absent { // the operation seems older than the retention
		n := s
		if n.notifications &^= 1 << w.op; !a.dropExpired {
			n.poison |= 1 << w.op
		}
		set("its clock jumped: the message is poison", n, worker{})
	}
	switch rec := s.records[w.op]; {
	case rec.kind == absent && !a.dropWithoutAbort:
		set("reads the commit record: none", s, worker{pc: wAbort, op: w.op})
	case rec.kind != pending:
		set("reads the commit record: not pending", s, worker{pc: wDrop, op: w.op})
	case rec.effects&effMove != 0:
		n.pc = wReadDest
		set("reads the commit record: move", s, n)
	case rec.effects&effDropRow != 0:
		n.pc = wReadRestored
		set("reads the commit record: drop the row", s, n)
	default:
		n.pc = wReadIndex
		set("reads the commit record: index", s, n)
	}
}

func sortedWorkers(a, b worker) (worker, worker) {
	less := func(a, b worker) bool {
		for _, p := range [...][2]uint8{{a.pc, b.pc}, {a.op, b.op}, {a.incarnation, b.incarnation}, {a.kind, b.kind}, {a.todo, b.todo}, {a.ver, b.ver}, {a.fresh, b.fresh}} {
			if p[0] != p[1] {
				return p[0] < p[1]
			}
		}
		return false
	}
	if less(b, a) {
		return b, a
	}
	return a, b
}
