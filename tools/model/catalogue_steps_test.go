package model

// The points between the steps of the programs.
const (
	wStart = iota
	wReading
	wLeased
	wPlanned
	wSent
)

const (
	eStart = iota
	eLooks
	eInserts
	eRecords
)

const (
	fStart = iota
	fFound
	fSent
	fWaiting
	fNext
	fSlot
	fDone
)

const (
	xStart = iota
	xSent
	xWaiting
	xRetires
	xRetired
	xSweeps
	xSlot
	xRemoves
)

const (
	rStart = iota
	rReading
	rLeased
	rSent
	rAnswered
)

// catStep is the step of a program, with the state that it leads to.
type catStep struct {
	c    *catalogueProtocol
	n    int
	from catState
	emit func(actor, what string, to catState)
}

// step makes a step: the program becomes p in the state s.
func (st *catStep) step(what string, s catState, p catProcess) {
	s.programs[st.n] = p
	st.emit(roleNames[st.c.programs[st.n].role], what, s)
}

// end ends the program.
func (st *catStep) end(what string, s catState) { st.step(what, s, catProcess{pc: catEnd}) }

// touched makes the ETag of an entity another one.
func (c *catalogueProtocol) touched(s *catState, slot uint8) {
	for i, p := range c.programs {
		q := &s.programs[i]
		switch p.role {
		case writerWith, writerWithout:
			q.fresh = q.fresh && p.slot != slot
		case fills, retires:
			q.fresh = q.fresh && q.slot != slot
		}
	}
	if s.late.slot == slot {
		s.late.fresh = false
	}
}

// set gives the definition another state, and the row another ETag.
func (c *catalogueProtocol) set(s *catState, state uint8) {
	s.cat = state
	for i, p := range c.programs {
		if p.role >= ensurer && p.role <= retires {
			s.programs[i].named = false
		}
	}
}

// mark makes the program w wait for each lease that others have now, and for each request that was sent under one.
func (c *catalogueProtocol) mark(s *catState, w int) {
	for i, p := range c.programs {
		q := &s.programs[i]
		switch p.role {
		case writerWith, writerWithout, lookUp:
			if q.pc >= 1 && q.pc != catEnd {
				q.old |= 1 << w
			}
		case fills:
			if i != w && (q.pc == fNext || q.pc == fSlot) {
				q.old |= 1 << w
			}
		case retires:
			if i != w && (q.pc == xSweeps || q.pc == xSlot) {
				q.old |= 1 << w
			}
		}
	}
	if s.late.write != 0 {
		s.late.old |= 1 << w
	}
}

// unmark ends the wait of the program w.
func (c *catalogueProtocol) unmark(s *catState, w int) {
	for i := range s.programs {
		s.programs[i].old &^= 1 << w
	}
	s.late.old &^= 1 << w
}

// hasWaited reports whether no lease and no request is left that the program w waits for.
func (c *catalogueProtocol) hasWaited(s *catState, w int) bool {
	for i, p := range c.programs {
		q := s.programs[i]
		if q.old&(1<<w) == 0 {
			continue
		}
		last := uint8(wSent)
		switch {
		case p.role == fills && c.noFillLease, p.role == retires && c.noSweepLease:
			continue
		case p.role == fills:
			last = fSlot
		case p.role == retires:
			last = xSlot
		case p.role == lookUp && c.checksBefore:
			last = rLeased
		case p.role != lookUp && c.unbounded:
			last = wPlanned
		}
		if q.pc <= last {
			return false
		}
	}
	return s.late.old&(1<<w) == 0 || c.unbounded
}

func (c *catalogueProtocol) next(s catState, emit func(actor, what string, to catState)) {
	if s.late.write != 0 {
		n := s
		n.late = catRequest{}
		emit("storage", "a late request does not arrive", n)
		if n, applied := c.apply(s, s.late); applied {
			n.late = catRequest{}
			emit("storage", "a late request arrives", n)
		}
	}
	for i, p := range c.programs {
		st := &catStep{c, i, s, emit}
		switch p.role {
		case writerWith, writerWithout:
			st.write(p)
		case ensurer, ensurerWithout:
			st.ensure(p.role == ensurer)
		case fills:
			st.fill()
		case retires:
			st.retire()
		case lookUp:
			st.lookUp()
		}
	}
}

// apply executes a write in the storage, and reports whether it succeeds.
func (c *catalogueProtocol) apply(s catState, r catRequest) (catState, bool) {
	e := s.entities[r.slot]
	if r.write == catInsert && e.value != 0 || r.write != catInsert && (!r.fresh || e.value == 0) {
		return s, false
	}
	s.rows &^= rowBit(r.slot, e.row)
	to := catEntity{value: r.value}
	if r.maintains && rowBit(r.slot, r.value) != 0 {
		to.row = r.value
		s.rows |= rowBit(r.slot, r.value)
	}
	s.entities[r.slot], s.written[r.slot] = to, r.value
	c.touched(&s, r.slot)
	return s, true
}

// mayWrite reports whether a writer may write under a lease.
func (c *catalogueProtocol) mayWrite(has bool, state uint8) bool {
	if state == catNone {
		return c.writesWithoutRow
	}
	if has {
		return state != catAbsent || c.writesUnnamed
	}
	return state == catAbsent || state == catUnfilled || state == catRetired || c.ignores
}

// maintains reports whether a writer with the definition maintains it in a state.
func (c *catalogueProtocol) maintains(state uint8) bool {
	switch state {
	case catUnfilled:
		return c.unfilledMaintains
	case catRetired:
		return c.retiredMaintains
	}
	return true
}

func (st *catStep) write(w catProgram) {
	c, s, p := st.c, st.from, st.from.programs[st.n]
	has := w.role == writerWith
	lost := func() { st.step("its lease ends", s, catProcess{}) }
	switch p.pc {
	case wStart:
		st.end("ends", s)
		n := catProcess{pc: wReading}
		if c.leasesFromResponse {
			n.saw = s.cat
		}
		st.step("sends the read of the catalogue", s, n)
	case wReading:
		p.pc = wLeased
		if c.leasesFromResponse {
			p.old = 0
		} else {
			p.saw = s.cat
		}
		st.step("reads the catalogue: "+catNames[p.saw], s, p)
	case wLeased:
		lost()
		e := s.entities[w.slot]
		switch {
		case !c.mayWrite(has, p.saw):
			st.end("refuses: "+catNames[p.saw], s)
		case (w.write == catInsert) == (e.value != 0):
			st.end("finds no such entity, or finds one", s)
		case !has && e.row != 0:
			n := s
			n.early = s.early || p.saw == catUnfilled && s.cat == catUnfilled && c.start != catNone
			st.end("refuses: the entity names the definition", n)
		default:
			p.pc, p.fresh, p.value = wPlanned, true, e.value
			st.step("reads the entity", s, p)
		}
	case wPlanned:
		lost()
		p.pc = wSent
		st.step("checks its lease, and sends", s, p)
	case wSent:
		r := catRequest{w.write, w.slot, w.value, p.fresh, has && c.maintains(p.saw), p.old}
		what := catWriteNames[w.write]
		n, applied := c.apply(s, r)
		if !applied {
			st.end(what+" is refused", s)
			return
		}
		st.end(what+" under "+catNames[p.saw], n)
		if !s.lateSent {
			again := r
			again.fresh = false
			n.late, n.lateSent = again, true
			st.end(what+", and a duplicate is on its way", n)
			n = s
			n.late, n.lateSent = r, true
			st.end(what+" is late, and the program ends", n)
		}
	}
}

func (st *catStep) ensure(has bool) {
	c, s, p := st.c, st.from, st.from.programs[st.n]
	switch p.pc {
	case eStart:
		switch {
		case s.cat == catNone:
			st.step("reads that there is no row", s, catProcess{pc: eLooks, named: true})
		case s.cat == catAbsent && has:
			st.step("reads that the definition is not named", s, catProcess{pc: eRecords, named: true})
		default:
			st.end("reads the catalogue: "+catNames[s.cat], s)
		}
	case eLooks:
		p.pc = eInserts
		if s.entities != ([catSlots]catEntity{}) {
			p.value = 1
		}
		st.step("looks whether the table is empty", s, p)
	case eInserts:
		if s.cat != catNone && !c.overwrites {
			st.step("insert of the row is refused", s, catProcess{})
			return
		}
		n := s
		switch {
		case !has:
			c.set(&n, catAbsent)
		case p.value == 0 || c.readableAtOnce:
			c.set(&n, catReadable)
		default:
			c.set(&n, catUnfilled)
		}
		st.end("inserts the row: "+catNames[n.cat], n)
	case eRecords:
		if !p.named {
			st.step("its write of the row is refused", s, catProcess{})
			return
		}
		n := s
		c.set(&n, catUnfilled)
		st.end("records the definition as unfilled", n)
	}
}

// crash lets the program begin again.
func (st *catStep) crash() {
	s := st.from
	if s.crashes == 0 || s.programs[st.n].pc == 0 || s.programs[st.n].pc == catEnd {
		return
	}
	st.c.unmark(&s, st.n)
	s.crashes--
	st.step("crashes, and starts again", s, catProcess{})
}

// next returns the program at its next entity, or at a point if there is none.
func (p catProcess) next(point, otherwise uint8) catProcess {
	p.fresh, p.value = false, 0
	if p.slot++; p.slot < catSlots {
		p.pc = point
	} else {
		p.pc, p.slot = otherwise, 0
	}
	return p
}

func (st *catStep) fill() {
	c, s, p := st.c, st.from, st.from.programs[st.n]
	st.crash()
	n := s
	switch p.pc {
	case fStart:
		switch s.cat {
		case catUnfilled:
			st.step("reads the catalogue: unfilled", s, catProcess{pc: fFound, named: true})
		case catBuilding:
			if c.secondDoesNotWait {
				st.step("reads the catalogue: building, and does not wait", s, catProcess{pc: fNext, named: true})
				return
			}
			c.mark(&n, st.n)
			st.step("reads the catalogue: building, and waits", n, catProcess{pc: fWaiting, named: true})
		default:
			st.end("reads the catalogue: "+catNames[s.cat], s)
		}
	case fFound:
		if c.waitsFromSend {
			c.mark(&n, st.n)
		}
		p.pc = fSent
		st.step("sends that it builds", n, p)
	case fSent:
		if !p.named || s.cat != catUnfilled {
			c.unmark(&n, st.n)
			st.step("is refused", n, catProcess{})
			return
		}
		c.set(&n, catBuilding)
		if !c.waitsFromSend {
			c.mark(&n, st.n)
		}
		st.step("builds, and waits", n, catProcess{pc: fWaiting, named: true})
	case fWaiting:
		if !c.noWait && !c.hasWaited(&s, st.n) {
			return
		}
		c.unmark(&n, st.n)
		if !c.noFillLease && (!p.named || s.cat != catBuilding) {
			st.end("has waited, and gives up: "+catNames[s.cat], n)
			return
		}
		st.step("has waited", n, catProcess{pc: fNext, named: p.named})
	case fNext:
		if p.old != 0 { // its lease is from before
			if !p.named || s.cat != catBuilding {
				st.end("gives up: "+catNames[s.cat], s)
				return
			}
			renewed := p
			renewed.old = 0
			st.step("renews its lease", s, renewed)
		}
		e := s.entities[p.slot]
		if rowBit(p.slot, e.value) == 0 || e.row == e.value && s.rows&slotRows(p.slot) == rowBit(p.slot, e.value) {
			st.step("finds an entity that is right", s, p.next(fNext, fDone))
			return
		}
		p.pc, p.fresh, p.value = fSlot, true, e.value
		st.step("finds an entity that lacks its row", s, p)
	case fSlot:
		if p.old != 0 && !c.noFillLease {
			lost := p
			lost.pc, lost.fresh, lost.value = fNext, false, 0
			st.step("its lease ends before it writes", s, lost)
		}
		if !p.fresh && !c.fillsBlindly {
			p.pc, p.value = fNext, 0
			st.step("its write of an entity is refused", s, p)
			return
		}
		n.rows = s.rows&^slotRows(p.slot) | rowBit(p.slot, p.value)
		n.entities[p.slot] = catEntity{p.value, p.value}
		c.touched(&n, p.slot)
		st.step("fills an entity", n, p.next(fNext, fDone))
	case fDone:
		if !p.named && !c.readableBlindly {
			st.end("is refused", s)
			return
		}
		c.set(&n, catReadable)
		n.swept = false
		st.end("makes the definition readable", n)
	}
}

func (st *catStep) retire() {
	c, s, p := st.c, st.from, st.from.programs[st.n]
	st.crash()
	n := s
	// become gives the definition another state by the ETag of the row, and waits.
	become := func(state, pc uint8) {
		if !p.named {
			st.step("is refused", s, catProcess{})
			return
		}
		c.set(&n, state)
		c.mark(&n, st.n)
		st.step("makes the definition "+catNames[state], n, catProcess{pc: pc, named: true})
	}
	switch p.pc {
	case xStart:
		read := catProcess{named: true}
		switch s.cat {
		case catUnfilled:
			read.pc = xRetires // a table from before the catalogue has rows
		case catBuilding, catReadable:
			read.pc = xSent
		case catRetiring:
			c.mark(&n, st.n)
			read.pc = xWaiting
		case catRetired:
			c.mark(&n, st.n)
			read.pc = xRetired
		default:
			st.end("finds nothing to retire", s)
			return
		}
		st.step("reads the catalogue: "+catNames[s.cat], n, read)
	case xSent:
		if c.oneStep {
			become(catRetired, xRetired)
			return
		}
		become(catRetiring, xWaiting)
	case xWaiting:
		if c.hasWaited(&s, st.n) || c.noFirstWait {
			p.pc = xRetires
			st.step("has waited", s, p)
		}
	case xRetires:
		become(catRetired, xRetired)
	case xRetired:
		if c.hasWaited(&s, st.n) || c.noSecondWait {
			c.unmark(&n, st.n)
			if !c.noSweepLease && (!p.named || s.cat != catRetired) {
				st.end("has waited again, and gives up: "+catNames[s.cat], n)
				return
			}
			st.step("has waited again", n, catProcess{pc: xSweeps, named: p.named})
		}
	case xSweeps:
		if p.old != 0 && !c.noSweepLease { // its lease is from before
			if !p.named || s.cat != catRetired {
				st.end("gives up: "+catNames[s.cat], s)
				return
			}
			renewed := p
			renewed.old = 0
			st.step("renews its lease", s, renewed)
		}
		e := s.entities[p.slot]
		switch {
		case e.row == 0 && s.rows&slotRows(p.slot) == 0:
			st.step("finds an entity without rows", s, p.next(xSweeps, xRemoves))
		case e.value == 0:
			n.rows &^= slotRows(p.slot)
			st.step("deletes rows of no entity", n, p.next(xSweeps, xRemoves))
		default:
			p.pc, p.fresh = xSlot, true
			st.step("finds an entity with rows", s, p)
		}
	case xSlot:
		if p.old != 0 && !c.noSweepLease {
			lost := p
			lost.pc, lost.fresh = xSweeps, false
			st.step("its lease ends before it writes", s, lost)
		}
		if !p.fresh {
			p.pc = xSweeps
			st.step("its write of an entity is refused", s, p)
			return
		}
		n.entities[p.slot].row = 0
		n.rows &^= slotRows(p.slot)
		c.touched(&n, p.slot)
		st.step("deletes the rows of an entity", n, p.next(xSweeps, xRemoves))
	case xRemoves:
		if !p.named {
			st.end("is refused", s)
			return
		}
		c.set(&n, catUnfilled)
		n.swept = true
		st.end("makes the definition unfilled", n)
	}
}

func (st *catStep) lookUp() {
	c, s, p := st.c, st.from, st.from.programs[st.n]
	lost := func() { st.step("its lease ends", s, catProcess{}) }
	switch p.pc {
	case rStart:
		st.end("ends", s)
		n := catProcess{pc: rReading}
		if c.leasesFromResponse {
			n.saw = s.cat
		}
		st.step("sends the read of the catalogue", s, n)
	case rReading:
		if c.leasesFromResponse {
			p.old = 0
		} else {
			p.saw = s.cat
		}
		if p.saw != catReadable {
			st.end("refuses: "+catNames[p.saw], s)
			return
		}
		p.pc = rLeased
		st.step("reads the catalogue: readable", s, p)
	case rLeased:
		lost()
		p.pc = rSent
		st.step("checks its lease, and sends", s, p)
	case rSent:
		if !c.checksBefore {
			lost()
		}
		p.pc, p.value = rAnswered, 0
		if s.rows != s.wanted() {
			p.value = 1
		}
		st.step("is answered", s, p)
	case rAnswered:
		if !c.checksBefore {
			lost()
		}
		n := s
		n.wrongRead = s.wrongRead || p.value != 0
		st.end("returns the answer", n)
	}
}
