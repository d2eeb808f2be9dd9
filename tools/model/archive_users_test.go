package model

var userNames = [...]string{"user 1", "user 2", "user 3", "user 4"}

func (a *archiveProtocol) user(s archiveState, i int, step stepper) {
	u, act, actor := s.users[i], a.users[i][s.users[i].at], userNames[i]
	to := func(what string, u user) {
		n := s
		n.users[i] = u
		step(actor, what, n)
	}
	over := user{at: u.at + 1}
	to("stops, or is refused", over)
	at := func(pc uint8) user { u := u; u.pc = pc; return u }
	notifies := act.kind == doMove || act.kind == doRestore || a.index && (act.kind == doDelete || act.kind == doCreate)
	send := at(uSend)
	if notifies && !a.writeFirst {
		send = at(uNotify)
	}
	switch u.pc {
	case uRead:
		switch act.kind {
		case doCreate, doRaw, doForge, doReturn:
			to("prepares a write", send)
		case doRestore:
			if !a.currentFirst && !a.destFirst && !a.restoreAnyRow { // its transaction checks that Current is empty
				to("begins", at(uReadDest))
			} else if s.current.incarnation == 0 && a.destFirst && u.incarnation == 0 {
				to("begins", at(uReadDest))
			} else if s.current.incarnation == 0 {
				n := at(uReadDest)
				switch {
				case a.destFirst && a.restoreAnyRow:
					n = send
				case a.destFirst:
					n = at(uReadRecords)
				}
				to("reads Current: nothing", n)
			} else if a.destFirst && u.incarnation == 0 {
				to("begins", at(uReadDest))
			}
		default:
			if s.current.incarnation == 0 || act.kind == doMove && a.oneOperation && s.moving != 0 || act.kind == doMove && s.current.incarnation == forged && !a.trustIncarnation {
				return
			}
			send.incarnation, send.fresh = s.current.incarnation, freshCurrent
			to("reads Current", send)
		}
	case uNotify:
		n := s
		n.notifications |= 1 << act.op
		n.users[i] = at(uSend)
		if a.writeFirst {
			n.users[i] = over
		}
		step(actor, "sends the notification", n)
	case uSend:
		r := request{kind: [...]uint8{reqStartMove, reqUpdate, reqDelete, reqCreate, reqRestore, reqReplace, reqRaw, reqRaw, reqReplace, reqLeave, reqReturn}[act.kind], op: act.op, incarnation: u.incarnation, ver: u.ver, fresh: u.fresh}
		switch {
		case act.kind == doCreate:
			r.incarnation = act.incarnation
		case act.kind == doRestore && a.keepIncarnation:
			r.from = u.incarnation
		case act.kind == doReplace && a.staleIncarnation, act.kind == doStale:
			r.from = u.incarnation
		case act.kind >= doRestore:
			r.from = act.incarnation
		}
		if act.kind > doRestore && act.kind != doLeave {
			r.fresh, r.incarnation = 0, 0
		}
		n := s
		if !a.arrive(&n, r) {
			return // like a user that stops
		}
		n.users[i] = over
		if a.writeFirst && notifies {
			n.users[i] = at(uNotify)
		}
		step(actor, requestNames[r.kind], n)
		if n.users[i] = over; s.late.kind == reqNone {
			n = s
			n.late, n.users[i] = r, over
			step(actor, requestNames[r.kind]+", which is late", n)
		}
	case uReadDest:
		for i, d := range s.dest { // any row of the key
			if d.kind != present || i == alike {
				continue
			}
			n := at(uReadRecords)
			n.incarnation, n.ver, n.todo = d.incarnation, d.ver, d.ops
			if a.restoreAnyRow {
				n = send
				n.incarnation, n.ver = d.incarnation, d.ver
			}
			if a.destFirst {
				n.pc = uRead
			}
			to("reads a row of the destination", n)
		}
	case uReadRecords: // reads the commit records of the list until one has moved the entity; if none has, the entity was deleted
		if a.movedNotes {
			if s.moved&(1<<u.incarnation) != 0 {
				n := at(uReadAgain)
				n.todo = 0
				to("reads the note of the move: present", n)
			}
			return
		}
		if op := lowest(u.todo); op == 0 {
			return
		} else if rec := s.records[op]; rec.kind == pending && rec.effects&effMove != 0 {
			n := u
			n.todo &^= 1 << op
			to("reads a commit record of the row: not moved", n)
		} else {
			n := at(uReadAgain)
			n.todo = 0
			to("reads a commit record of the row: moved", n)
		}
	case uReadAgain:
		if d := s.dest[a.slot(u.incarnation)]; a.noSecondRead {
			to("does not read the row again", send)
		} else if d.kind == present && d.incarnation == u.incarnation {
			if !a.firstContent {
				send.ver = d.ver
			}
			to("reads the row again", send)
		}
	}
}

// lowest returns the first operation of a list, 0 if there is none.
func lowest(ops uint8) uint8 {
	for op := uint8(1); op < maxOps; op++ {
		if ops&(1<<op) != 0 {
			return op
		}
	}
	return 0
}
