package model

// archive is the protocol of moves and restores: a script for each user, and what is left out or done otherwise.
type archive struct {
	users    [][]action
	index    bool // the table has an index elsewhere
	archived bool // see workload
	unread   bool // see workload
	beside   bool // see workload
	jumps    bool // see workload

	// What the protocol must not do.
	keyWithoutLife, keepLife, physicalDelete, insertOverTombstone, noLeft, deleteAny, blindClose, noOwn, noOthers, noWithdraw, splitMove,
	dropAbsent, writeFirst, staleLife, trustLife, dropExpired, putAnyway bool
	emptyFinish  bool // the worker finishes where the destination is empty, and leaves no tombstone
	unasked      bool // the restore takes any row that it finds, whether it is archived or not
	firstContent bool // the restore asks, but takes the content that it read before it knew
	noSecondLook bool // the restore asks, but does not look again whether the row is still there
	destFirst    bool // the restore reads the destination before Current
	looks        bool // the restore reads Current before the destination

	// What it might do instead.
	opMarkers   bool // a marker for each op in the destination, and no tombstones
	goneMarkers bool // the move's EGT inserts gone(life), and nobody needs a list of ops
	oneOp       bool // an entity carries the op that moves it, and a second request joins the first
}

const (
	doAsk = iota
	doUpdate
	doDelete
	doCreate
	doRestore
	doReplace // unconditionally, by an entity that was read before
	doRaw     // a raw write: what the row keeps for the library is gone
	doForge   // a raw write that brings a text in the place of an incarnation
	doStale   // a raw write that brings the incarnation which was read before
)

// action is a line of a script. Its op and its life, if it needs any, are its own.
type action struct{ kind, op, life uint8 }

// Where a user is in an action.
const (
	uRead = iota
	uHint
	uSend
	uDest
	uAsk
	uAgain
)

// Where a worker is.
const (
	wIdle = iota
	wRead
	wAbort
	wDest
	wCurrent
	wMoved
	wPut
	wMove
	wOwn
	wOthers
	wGone
	wWithdraw
	wFinish
	wDrop
	wForget
	wBury
	wIndex
	wIndexCurrent
	wIndexWrite
)

type stepper func(who, what string, to state)

func (a *archive) next(s state, step stepper) {
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
		n.msgs, n.poison = s.msgs|s.poison, 0
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

var workerNames = [...]string{"worker", "worker op1", "worker op2", "worker op3", "worker op4", "worker op5"}

func (a *archive) worker(s state, i int, step stepper) {
	w, who := s.workers[i], workerNames[s.workers[i].op]
	set := func(what string, n state, w hand) {
		n.workers[i] = w
		n.workers[0], n.workers[1] = ordered(n.workers[0], n.workers[1])
		step(who, what, n)
	}
	if w.pc == wIdle {
		for op := uint8(1); op < maxOps; op++ {
			if s.msgs&(1<<op) != 0 {
				who = workerNames[op]
				set("takes the message", s, hand{pc: wRead, op: op})
			}
		}
		return
	}
	set("crashes", s, hand{})
	at := func(pc, keep uint8) hand {
		return hand{pc: pc, op: w.op, kind: w.kind, todo: w.todo, ver: w.ver, fresh: w.fresh & keep}
	}
	bare := func(pc, keep uint8) hand { return hand{pc: pc, op: w.op, fresh: w.fresh & keep} }
	in := s.intents[w.op]
	d := s.dest[a.slot(in.life)]
	send := func(r request, ok, no hand) {
		r.op, r.life, r.fresh = w.op, in.life, w.fresh
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
			set(requestNames[r.kind]+", and once more", n, ok)
		}
		n = s
		n.late = r
		n.late.fresh &= needs[r.kind]
		set(requestNames[r.kind]+", which is late", n, hand{}) // who goes on without an answer begins again
	}
	switch w.pc {
	case wRead:
		a.dispatch(s, w, set)
	case wAbort:
		send(request{kind: reqAbort}, bare(wDrop, 0), bare(wRead, 0))
	case wDest:
		n := at(wCurrent, freshIntent)
		n.kind, n.todo, n.fresh = d.kind, d.ops&^(1<<w.op), n.fresh|freshDest
		set("reads the destination", s, n)
	case wCurrent:
		switch {
		case s.current.life == in.life && w.kind == tombstone:
			set("reads Current: there, but buried", s, bare(wFinish, freshIntent))
		case s.current.life == in.life:
			n := at(wPut, freshIntent|freshDest)
			n.ver, n.fresh = s.current.ver, n.fresh|freshCurrent
			if n.todo != 0 && !a.putAnyway {
				n.pc = wMoved
			} else {
				n.todo = 0
			}
			set("reads Current: there", s, n)
		case w.kind == absent && !a.emptyFinish:
			set("reads Current: gone, nothing archived", s, at(wWithdraw, freshIntent))
		case w.kind != present || a.noWithdraw:
			set("reads Current: gone", s, bare(wFinish, freshIntent))
		case a.goneMarkers:
			set("reads Current: gone", s, at(wGone, freshIntent|freshDest))
		case a.noOwn && a.noOthers:
			set("reads Current: gone", s, at(wWithdraw, freshIntent|freshDest))
		case a.noOwn:
			set("reads Current: gone", s, at(wOthers, freshIntent|freshDest))
		default:
			set("reads Current: gone", s, at(wOwn, freshDest))
		}
	case wMoved: // what was moved once is not put again: somebody has brought its incarnation back
		op := lowest(w.todo)
		if other := s.intents[op]; other.kind != live || other.effects&effMove == 0 {
			set("reads another op: over", s, bare(wDest, freshIntent))
			return
		}
		n := w
		if n.todo &^= 1 << op; n.todo == 0 {
			n.pc = wPut
		}
		set("reads another op: not moved", s, n)
	case wPut:
		kind := uint8(reqInsert)
		if w.kind == present {
			kind = reqPut
		}
		send(request{kind: kind, ver: w.ver}, bare(wMove, freshIntent|freshCurrent), bare(wDest, freshIntent))
	case wMove:
		ok := bare(wDrop, 0)
		if a.index {
			ok = hand{pc: wIndex, op: w.op, fresh: freshIntent}
		}
		if a.splitMove {
			ok = bare(wFinish, freshIntent)
		}
		send(request{kind: reqMove}, ok, bare(wRead, 0))
	case wOwn:
		if in.effects&effMove == 0 {
			a.dispatch(s, w, set)
			return
		}
		n := at(wOthers, freshDest)
		n.fresh |= freshIntent
		if n.todo == 0 || a.noOthers || a.oneOp {
			n.pc, n.todo = wWithdraw, 0
		}
		set("reads its own op: not moved", s, n)
	case wOthers:
		op := lowest(w.todo)
		if op == 0 {
			set("nobody else has put it", s, at(wWithdraw, freshIntent|freshDest))
			return
		}
		if other := s.intents[op]; other.kind != live || other.effects&effMove == 0 {
			set("reads another op: over", s, bare(wFinish, freshIntent))
			return
		}
		n := at(wOthers, freshIntent|freshDest)
		if n.todo &^= 1 << op; n.todo == 0 {
			n.pc = wWithdraw
		}
		set("reads another op: not moved", s, n)
	case wGone:
		if s.gone&(1<<in.life) != 0 {
			set("reads gone: yes", s, bare(wFinish, freshIntent))
			return
		}
		set("reads gone: no", s, at(wWithdraw, freshIntent|freshDest))
	case wWithdraw:
		kind := uint8(reqBury)
		if w.kind == absent {
			kind = reqDig
		}
		send(request{kind: kind}, bare(wFinish, freshIntent), bare(wDest, freshIntent))
	case wFinish:
		send(request{kind: reqClose}, bare(wDrop, 0), bare(wRead, 0))
	case wDrop:
		n := s
		n.msgs &^= 1 << w.op
		set("deletes the message", n, hand{})
	case wForget:
		n := bare(wBury, freshIntent)
		if n.fresh |= freshDest; d.kind != present {
			n = bare(wFinish, freshIntent)
			if a.index {
				n.pc = wIndex
			}
		}
		set("reads the destination", s, n)
	case wBury:
		ok := bare(wFinish, freshIntent)
		if a.index {
			ok.pc = wIndex
		}
		send(request{kind: reqBury}, ok, bare(wForget, freshIntent))
	case wIndex:
		n := bare(wIndexCurrent, freshIntent)
		n.fresh |= freshIndex
		set("reads the index row", s, n)
	case wIndexCurrent:
		n := bare(wIndexWrite, freshIntent|freshIndex)
		n.ver = s.current.life
		set("reads Current, for the index", s, n)
	case wIndexWrite:
		send(request{kind: reqIndex, ver: w.ver}, bare(wFinish, freshIntent), bare(wIndex, freshIntent))
	}
}

// dispatch reads the intent and goes where it says.
func (a *archive) dispatch(s state, w hand, set func(string, state, hand)) {
	n := hand{op: w.op, fresh: freshIntent}
	if a.jumps && s.intents[w.op].kind == absent { // the op seems to be older than the retention
		n := s
		if n.msgs &^= 1 << w.op; !a.dropExpired {
			n.poison |= 1 << w.op
		}
		set("its clock has jumped: the message is poison", n, hand{})
	}
	switch in := s.intents[w.op]; {
	case in.kind == absent && !a.dropAbsent:
		set("reads the intent: nothing", s, hand{pc: wAbort, op: w.op})
	case in.kind != live:
		set("reads the intent: over", s, hand{pc: wDrop, op: w.op})
	case in.effects&effMove != 0:
		n.pc = wDest
		set("reads the intent: move", s, n)
	case in.effects&effForget != 0:
		n.pc = wForget
		set("reads the intent: forget", s, n)
	default:
		n.pc = wIndex
		set("reads the intent: index", s, n)
	}
}

func ordered(a, b hand) (hand, hand) {
	less := func(a, b hand) bool {
		for _, p := range [...][2]uint8{{a.pc, b.pc}, {a.op, b.op}, {a.kind, b.kind}, {a.todo, b.todo}, {a.ver, b.ver}, {a.fresh, b.fresh}} {
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
