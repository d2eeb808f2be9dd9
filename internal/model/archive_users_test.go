package model

var userNames = [...]string{"user 1", "user 2", "user 3", "user 4"}

func (a *archive) user(s state, i int, step stepper) {
	u, act, who := s.users[i], a.users[i][s.users[i].at], userNames[i]
	to := func(what string, u user) {
		n := s
		n.users[i] = u
		step(who, what, n)
	}
	over := user{at: u.at + 1}
	to("gives up, or is refused", over)
	at := func(pc uint8) user { u := u; u.pc = pc; return u }
	hinted := act.kind == doAsk || act.kind == doRestore || a.index && (act.kind == doDelete || act.kind == doCreate)
	send := at(uSend)
	if hinted && !a.writeFirst {
		send = at(uHint)
	}
	switch u.pc {
	case uRead:
		switch act.kind {
		case doCreate, doRaw, doForge:
			to("wants to write", send)
		case doRestore:
			if !a.looks && !a.destFirst && !a.unasked { // whether Current holds something, its EGT tells
				to("begins", at(uDest))
			} else if s.current.life == 0 && a.destFirst && u.life == 0 {
				to("begins", at(uDest))
			} else if s.current.life == 0 {
				n := at(uDest)
				switch {
				case a.destFirst && a.unasked:
					n = send
				case a.destFirst:
					n = at(uAsk)
				}
				to("reads Current: nothing", n)
			} else if a.destFirst && u.life == 0 {
				to("begins", at(uDest))
			}
		default:
			if s.current.life == 0 || act.kind == doAsk && a.oneOp && s.moving != 0 || act.kind == doAsk && s.current.life == forged && !a.trustLife {
				return
			}
			send.life, send.fresh = s.current.life, freshCurrent
			to("reads Current", send)
		}
	case uHint:
		n := s
		n.msgs |= 1 << act.op
		n.users[i] = at(uSend)
		if a.writeFirst {
			n.users[i] = over
		}
		step(who, "enqueues", n)
	case uSend:
		r := request{kind: [...]uint8{reqAsk, reqUpdate, reqDelete, reqCreate, reqRestore, reqReplace, reqRaw, reqRaw, reqReplace}[act.kind], op: act.op, life: u.life, ver: u.ver, fresh: u.fresh}
		switch {
		case act.kind == doCreate:
			r.life = act.life
		case act.kind == doRestore && a.keepLife:
			r.from = u.life
		case act.kind == doReplace && a.staleLife, act.kind == doStale:
			r.from = u.life
		case act.kind >= doRestore:
			r.from = act.life
		}
		if act.kind > doRestore {
			r.fresh, r.life = 0, 0
		}
		n := s
		if !a.arrive(&n, r) {
			return // as giving up
		}
		n.users[i] = over
		if a.writeFirst && hinted {
			n.users[i] = at(uHint)
		}
		step(who, requestNames[r.kind], n)
		if n.users[i] = over; s.late.kind == reqNone {
			n = s
			n.late, n.users[i] = r, over
			step(who, requestNames[r.kind]+", which is late", n)
		}
	case uDest:
		for i, d := range s.dest { // any row of the key: nothing rests on which one it is
			if d.kind != present || i == alike {
				continue
			}
			n := at(uAsk)
			n.life, n.ver, n.todo = d.life, d.ver, d.ops
			if a.unasked {
				n = send
				n.life, n.ver = d.life, d.ver
			}
			if a.destFirst {
				n.pc = uRead
			}
			to("reads a row of the destination", n)
		}
	case uAsk: // the list, op by op, until one says that it has moved the entity; none: it was deleted
		if a.goneMarkers {
			if s.gone&(1<<u.life) != 0 {
				n := at(uAgain)
				n.todo = 0
				to("reads gone: yes", n)
			}
			return
		}
		if op := lowest(u.todo); op == 0 {
			return
		} else if in := s.intents[op]; in.kind == live && in.effects&effMove != 0 {
			n := u
			n.todo &^= 1 << op
			to("reads an op of the row: not moved", n)
		} else {
			n := at(uAgain)
			n.todo = 0
			to("reads an op of the row: over", n)
		}
	case uAgain:
		if d := s.dest[a.slot(u.life)]; a.noSecondLook {
			to("trusts", send)
		} else if d.kind == present && d.life == u.life {
			if !a.firstContent {
				send.ver = d.ver
			}
			to("reads the row again", send)
		}
	}
}

// lowest is the first op of a list; 0 if there is none.
func lowest(ops uint8) uint8 {
	for op := uint8(1); op < maxOps; op++ {
		if ops&(1<<op) != 0 {
			return op
		}
	}
	return 0
}
