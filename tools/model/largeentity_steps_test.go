package model

// largeProtocol is the protocol of values in blobs, with a script for each user. A mutant sets one of the options.
type largeProtocol struct {
	users       [][]linkAction
	empty       bool // there is no entity at first
	reader      bool
	clockBehind bool // the second user takes every blob for young

	// Mutants.
	noCondemned, condemnedAtOnce, condemnByUpsert, noGrace, unlinkedAtOnce, linkOld, ageAtPlan, linkByUpsert, unconditional bool
	reclaimFirst, noUnlinked, sweepRows, moveIsDelete, restoreBlind, destFirst, movedBlind, keepMoved, readOnce             bool
}

// linkAction is a line of a script.
type linkAction struct {
	kind   uint8
	upload bool // the user uploads its blob first
	create bool // the entity is inserted
	again  bool // the user stores the link that it read first, and not that of its own blob
}

const (
	actLink = iota
	actRemove
	actMove
	actRestore
	actPurge // a program deletes the row from the destination
)

// The steps of a user in an action.
const (
	luBegin = iota
	luRead
	luSend
	luPutArchive // of a move
	luWithdraw
	luReclaim
	luReclaimRow
	luDiscard // of a restore
)

const readerDone = 9

type largeStepper = func(actor, what string, to largeState)

func (l *largeProtocol) next(s largeState, step largeStepper) {
	for i := range l.users {
		if int(s.users[i].at) < len(l.users[i]) {
			l.user(s, i, step)
		}
	}
	l.sweep(s, step)
	l.read(s, step)
	l.time(s, step)
	if s.late.kind != blobRequestNone {
		n := s
		n.late = linkRequest{}
		l.arrive(&n, s.late)
		step("late", blobRequestNames[s.late.kind]+" arrives or is refused", n)
	}
}

// time lets the blobs age.
func (l *largeProtocol) time(s largeState, step largeStepper) {
	for i := range uint8(blobCount) {
		if s.age[i] == ancient || s.age[i] >= old && l.linkUnderWay(s, i, s.age[i] == settled) {
			continue
		}
		n := s
		n.age[i]++
		step("time", "passes for blob "+string(rune('0'+i)), n)
	}
}

// linkUnderWay reports whether a request that links a blob may arrive, also one of a program that has only planned it if its clock is
// behind.
func (l *largeProtocol) linkUnderWay(s largeState, b uint8, clockBehind bool) bool {
	if s.late.kind == blobLink && s.late.blob == b && (clockBehind || !s.late.clockBehind) {
		return true
	}
	if !clockBehind {
		return false
	}
	for i := range l.users {
		if u := s.users[i]; l.clockBehind && int(u.at) < len(l.users[i]) && l.users[i][u.at].kind == actLink && l.blobOf(s, i) == b {
			return true
		}
	}
	return false
}

// blobOf returns the blob that a user links in its action.
func (l *largeProtocol) blobOf(s largeState, i int) uint8 {
	u := s.users[i]
	if l.users[i][u.at].again {
		return u.first
	}
	return uint8(i + 1)
}

var largeUserNames = [...]string{"user 0", "user 1"}

func (l *largeProtocol) user(s largeState, i int, step largeStepper) {
	u := s.users[i]
	a := l.users[i][u.at]
	set := func(what string, n largeState, to linkUser) {
		n.users[i] = to
		step(largeUserNames[i], what, n)
	}
	end := linkUser{at: u.at + 1, first: u.first}
	gone := linkUser{at: uint8(len(l.users[i]))}
	set("crashes", s, gone)
	send := func(r linkRequest, what string, ok, no linkUser) {
		r.user, r.clockBehind = uint8(i), l.clockBehind && i == 1
		n := s
		if !l.arrive(&n, r) {
			set(what+": refused", n, no)
			return
		}
		set(what, n, ok)
		if s.late.kind == blobRequestNone {
			n.late = r
			set(what+", duplicated", n, ok)
			n = s
			n.late = r
			set(what+", which is late", n, gone)
		}
	}
	next := func(pc uint8) linkUser { n := u; n.pc = pc; return n }
	switch u.pc {
	case luBegin:
		if a.again {
			n := next(luRead)
			n.first = s.entity.link
			set("reads a value to store it later", s, n)
			return
		}
		if a.upload {
			send(linkRequest{kind: blobPut, blob: uint8(i + 1)}, "uploads its blob", next(luRead), end)
			return
		}
		set("begins", s, next(luRead))
	case luRead:
		l.userReads(s, i, set, end)
	case luSend:
		l.userSends(s, i, send, set, end)
	case luPutArchive:
		n := s
		n.dest = linkArchive{kind: present, incarnation: u.from.incarnation, link: u.from.link}
		set("stores the row in the destination", n, next(luSend))
	case luWithdraw:
		n := s
		if n.dest.kind == present && !n.dest.moved {
			n.dest = linkArchive{kind: tombstone}
		}
		set("withdraws the archived row", n, end)
	case luReclaim:
		after := end
		if !l.unlinkedAtOnce && s.age[u.reclaim] >= settled || l.unlinkedAtOnce {
			after = next(luReclaimRow)
		}
		send(linkRequest{kind: blobDelete, blob: u.reclaim}, "deletes the old blob", after, after)
	case luReclaimRow:
		send(linkRequest{kind: blobDeleteRow, blob: u.reclaim}, "deletes the row of the old blob", end, end)
	case luDiscard:
		n := s
		if n.dest.kind == present && n.dest.incarnation == u.archived.incarnation {
			n.dest = linkArchive{kind: tombstone}
		}
		set("deletes the restored row from the destination", n, end)
	}
}

// userReads reads what the action is about.
func (l *largeProtocol) userReads(s largeState, i int, set func(string, largeState, linkUser), end linkUser) {
	u := s.users[i]
	a := l.users[i][u.at]
	n := u
	n.from, n.archived, n.pc = s.entity, s.dest, luSend
	switch {
	case a.kind == actPurge:
		to := s
		if to.dest.moved {
			to.dest = linkArchive{kind: tombstone}
		}
		set("deletes the archived row", to, end)
	case a.kind == actRestore && (s.dest.kind != present || !s.dest.moved || s.entity.exists):
		set("finds nothing to restore", s, end)
	case a.kind == actRestore:
		set("reads the destination", s, n)
	case a.kind == actMove && s.entity.exists:
		n.pc = luPutArchive
		set("reads the entity", s, n)
	case a.kind == actMove && u.from.exists: // again, after a conflict
		n = u
		n.pc = luWithdraw
		set("reads the entity: none", s, n)
	case a.kind == actLink && s.entity.exists == a.create, a.kind != actLink && !s.entity.exists:
		set("reads the entity: nothing to do", s, end)
	case a.kind == actLink && s.entity.exists && s.entity.link == l.blobOf(s, i):
		set("reads the entity: it has the link", s, end)
	case a.kind == actLink && !l.mayLink(s, i):
		set("the blob is too old to be linked", s, end)
	case l.reclaimFirst && s.entity.exists:
		to := s
		to.exists[s.entity.link] = false
		set("reads the entity, deletes its blob", to, n)
	default:
		n.planned = true
		set("reads the entity", s, n)
	}
}

// mayLink reports whether a user may send a request that links its blob.
func (l *largeProtocol) mayLink(s largeState, i int) bool {
	return s.age[l.blobOf(s, i)] == young || l.linkOld || l.clockBehind && i == 1
}

// userSends sends the request of the action.
func (l *largeProtocol) userSends(s largeState, i int, send func(linkRequest, string, linkUser, linkUser), set func(string, largeState, linkUser), end linkUser) {
	u := s.users[i]
	a := l.users[i][u.at]
	ok, no := end, linkUser{pc: luRead, at: u.at, first: u.first, from: u.from}
	r := linkRequest{from: u.from, archived: u.archived}
	reclaim := u
	reclaim.pc, reclaim.reclaim = luReclaim, u.from.link
	switch a.kind {
	case actLink:
		if !l.mayLink(s, i) && !(l.ageAtPlan && u.planned) {
			set("the blob is too old to be linked now", s, end)
			return
		}
		if r.kind, r.blob = blobLink, l.blobOf(s, i); u.from.exists && !l.reclaimFirst {
			ok = reclaim
		}
		if s.rows[r.blob].state != rowNone {
			no = end // the writer must upload again
		}
	case actRemove:
		r.kind, ok = blobRemove, reclaim
	case actMove:
		r.kind = blobMove
	case actRestore:
		r.kind, no = blobRestore, end
		ok = u
		ok.pc = luDiscard
	}
	send(r, "sends the "+blobRequestNames[r.kind], ok, no)
}

// arrive applies a request to the storage, all of it or nothing, and reports whether it succeeded.
func (l *largeProtocol) arrive(s *largeState, r linkRequest) bool {
	if r.kind >= blobLink && r.kind <= blobMove && !l.unconditional && (s.entity.exists != r.from.exists || s.entity.exists && s.entity.ver != r.from.ver) {
		return false
	}
	switch r.kind {
	case blobPut:
		if s.exists[r.blob] {
			return false
		}
		s.exists[r.blob] = true
	case blobLink:
		if s.rows[r.blob].state != rowNone && !l.linkByUpsert {
			return false
		}
		if s.dropped[r.blob] && s.exists[r.blob] {
			s.fault = linkedAgain
		}
		if r.from.exists {
			l.drop(s, r.from.link, rowUnlinked)
		}
		s.rows[r.blob] = blobRow{state: rowLive}
		s.entity = linkEntity{exists: true, ver: r.from.ver + 1, incarnation: max(r.from.incarnation, 1), link: r.blob}
	case blobRemove:
		l.drop(s, r.from.link, rowUnlinked)
		s.entity = linkEntity{ver: s.entity.ver}
	case blobMove:
		if l.moveIsDelete {
			l.drop(s, r.from.link, rowUnlinked)
		} else {
			s.rows[r.from.link] = blobRow{rowMoved, r.from.incarnation}
		}
		s.entity = linkEntity{ver: s.entity.ver}
		s.dest.moved = s.dest.kind == present && s.dest.incarnation == r.from.incarnation
	case blobRestore:
		row := &s.rows[r.archived.link]
		if s.entity.exists || !l.restoreBlind && *row != (blobRow{rowMoved, r.archived.incarnation}) {
			return false
		}
		*row = blobRow{state: rowLive}
		s.entity = linkEntity{exists: true, ver: s.entity.ver + 1, incarnation: r.archived.incarnation + 1, link: r.archived.link}
		s.dest.moved = false
	case blobDelete:
		s.exists[r.blob] = false
	case blobDeleteRow:
		s.rows[r.blob] = blobRow{}
	}
	return true
}

// drop notes in a transaction that the entity does not link a blob any more.
func (l *largeProtocol) drop(s *largeState, b, state uint8) {
	s.dropped[b] = true
	if !l.noUnlinked {
		s.rows[b] = blobRow{state: state}
	}
}

// read is a reader of the entity and its blob.
func (l *largeProtocol) read(s largeState, step largeStepper) {
	r, n := s.reader, s
	switch {
	case r.pc == readerDone:
		return
	case r.pc == 0 && !s.entity.exists:
		n.reader = blobReader{pc: readerDone}
		step("reader", "reads the entity: none", n)
	case r.pc == 0:
		n.reader = blobReader{pc: 1, link: s.entity.link, tries: r.tries}
		step("reader", "reads the entity", n)
	case s.exists[r.link]:
		n.reader = blobReader{pc: readerDone}
		step("reader", "reads the blob", n)
	case r.tries == 3 || l.readOnce:
		n.fault = readerFails
		step("reader", "finds no blob and gives up", n)
	default:
		n.reader = blobReader{tries: r.tries + 1}
		step("reader", "finds no blob", n)
	}
}
