package model

import (
	"fmt"
	"math/bits"
)

// txnProtocol is the protocol of transactions with read sets on changes over several partitions: rows that are only read are pinned, by a mark without a change in a
// participant and by their ETag in the transaction that commits, and absent rows are reserved. A home with reserved rows is prepared as a participant is.
// A mutant sets one of the options.
type txnProtocol struct {
	party           [txnRows]uint8 // the partition of each row
	start           txnValues
	bodies          []txnBody
	writers         []txnWriter
	worker          bool // a worker ends each operation once
	late            bool // one request is late, or arrives twice
	anyOrder        bool // partitions are prepared and ended in any order
	orders          bool // the serial orders are tried, and that of the commits is not demanded
	inCommit        bool // reserved rows of the home are inserted by the commit, with ~t|op, instead of a preparation
	looksThrough    bool // who only looks takes the value of a row that is pinned, or reserved, without the commit record
	prepareUnfenced bool // a transaction rolls back after a refused preparation without an abort record, since it has not sent the commit

	// Mutants.
	noPin, pinUnmarked, pinTouches, noHomePin, noReserve, noHomeReserve, homeReadAgain, homeUnnamed          bool
	noFence, resolveUnfenced, refusedUnfenced, controlDeleted, noTombstone, inDoubtFailed                    bool
	trustsImage, trustsOld, releasesPins, readOnlyPinsNothing, readsOneByOne, waits, ignoresMarks, noControl bool

	pendingStays bool // what is left pending is no fault
	silent       bool // names of steps are not needed
}

// txnBody is the function of a transaction: what it reads, and the rows after it. What is as before is only read.
type txnBody struct {
	reads    []uint8
	after    func(seen txnValues) txnValues // nil: it only reads
	atOnce   bool                           // one request reads all rows, which are in one partition
	homeLast bool                           // of the partitions that can be the home, the last is
	observes bool                           // it reads row after row, as programs without transactions do; with orders only, and the last body
}

// txnWriter is a program that writes one row by ETag, or inserts it if it was absent. The value 0 deletes it.
type txnWriter struct {
	row    uint8
	change func(value uint8) uint8
}

type txnPlan struct {
	rows     [txnRows]planned
	home     uint8
	prepares uint8 // partitions
	parties  uint8 // partitions that are to be ended
	answers  bool  // it needs no transaction
}

func (p *txnProtocol) plan(op uint8, seen txnValues) (plan txnPlan) {
	b := &p.bodies[op-1]
	after := seen
	if b.after != nil {
		after = b.after(seen)
	}
	var written, touched, reserved uint8
	for _, r := range b.reads {
		plan.rows[r] = planned{txnPins, seen[r]}
		touched |= 1 << p.party[r]
		if seen[r] == 0 {
			plan.rows[r].what = txnReserves
		}
	}
	for r, value := range after {
		party := uint8(1) << p.party[r]
		switch {
		case value == seen[r]:
			if plan.rows[r].what == txnReserves {
				reserved |= party
			}
			continue
		case seen[r] == 0:
			plan.rows[r] = planned{txnInserts, value}
		case value == 0:
			plan.rows[r] = planned{txnDeletes, 0}
		default:
			plan.rows[r] = planned{txnReplaces, value}
		}
		written |= party
	}
	plan.answers = written == 0 && (bits.OnesCount8(touched) == 1 && (b.atOnce || len(b.reads) == 1 || p.readsOneByOne) || p.readOnlyPinsNothing || b.observes)
	homes := written
	if homes == 0 {
		homes = touched
	}
	if homes&^reserved != 0 {
		homes &^= reserved
	}
	plan.home = uint8(bits.TrailingZeros8(homes))
	if b.homeLast {
		plan.home = uint8(bits.Len8(homes) - 1)
	}
	for r, x := range plan.rows {
		home := p.party[r] == plan.home
		if x.what == txnPins && (home && p.noHomePin || !home && p.noPin) || x.what == txnReserves && !home && p.noReserve {
			plan.rows[r] = planned{}
		} else if x.what != txnNothing && (!home || x.what == txnReserves && !p.homeReadAgain) {
			plan.parties |= 1 << p.party[r]
		}
	}
	plan.prepares = plan.parties
	if p.inCommit {
		plan.prepares &^= 1 << plan.home
	}
	if p.homeUnnamed {
		plan.parties &^= 1 << plan.home
	}
	return plan
}

// apply executes a request, and reports whether the storage accepted it.
func (p *txnProtocol) apply(s *txnState, q txnRequest) bool {
	before := s.truths()
	want := before
	ok := true
	switch q.kind {
	case txnPrepare:
		ok = p.prepare(s, q)
	case txnCommit:
		ok = p.commit(s, q)
		if ok {
			p.takes(s, q.op-1, q.seen, before)
			plan := p.plan(q.op, q.seen)
			for r, x := range plan.rows {
				if x.what == txnInserts || x.what == txnReplaces || x.what == txnDeletes {
					want[r] = x.value
				}
			}
			if s.fault == 0 && s.truths() != want {
				s.fault = txnPartCommitted
			}
		}
	case txnAbort:
		if s.records[q.op] != absent {
			return false
		}
		s.records[q.op] = aborted
	case txnForward, txnBack:
		p.end(s, q)
	case txnWrite:
		w := p.writers[q.op]
		row := s.rows[w.row]
		if q.seen[w.row] == 0 && !row.absent() || q.seen[w.row] != 0 && q.fresh == 0 {
			return false
		}
		if want[w.row] != q.seen[w.row] && s.fault == 0 {
			s.fault = txnLostUpdate
		}
		want[w.row] = w.change(q.seen[w.row])
		s.set(int(w.row), txnRow{value: want[w.row]})
		if p.orders {
			s.took[txnMost+q.op] = q.seen
			s.taken |= 1 << (txnMost + q.op)
		}
	}
	if s.fault == 0 && s.truths() != want {
		s.fault = txnChangedWithout
	}
	return ok
}

// takes notes what a transaction has read that is committed, or has answered.
func (p *txnProtocol) takes(s *txnState, i uint8, seen, before txnValues) {
	if p.orders {
		s.took[i] = seen
		s.taken |= 1 << i
		return
	}
	for _, r := range p.bodies[i].reads {
		if seen[r] != before[r] && s.fault == 0 {
			s.fault = txnNotTrue
		}
	}
}

// fits reports whether the condition of a row holds.
func (s *txnState) fits(r int, what, fresh uint8) bool {
	if what == txnInserts || what == txnReserves {
		return s.rows[r].absent()
	}
	return what == txnNothing || fresh&(1<<r) != 0
}

// prepare marks the rows of a partition: those that are written or only read, in the home those that are reserved.
func (p *txnProtocol) prepare(s *txnState, q txnRequest) bool {
	if s.control[q.op][q.party] != absent {
		return false
	}
	plan := p.plan(q.op, q.seen)
	mine := func(r int, x planned) bool {
		return p.party[r] == q.party && x.what != txnNothing && (q.party != plan.home || x.what == txnReserves && !p.noHomeReserve)
	}
	for r, x := range plan.rows {
		if mine(r, x) && !s.fits(r, x.what, q.fresh) {
			return false
		}
	}
	s.control[q.op][q.party] = pending
	for r, x := range plan.rows {
		switch {
		case !mine(r, x) || x.what == txnPins && p.pinUnmarked:
		case x.what == txnPins && p.pinTouches:
			s.set(r, s.rows[r])
		case x.what == txnInserts:
			s.set(r, txnRow{x.value, q.op, x.what, x.value})
		default:
			s.set(r, txnRow{s.rows[r].value, q.op, x.what, x.value})
		}
	}
	return true
}

// commit inserts the commit record, writes the rows of the home, and pins what was only read there.
func (p *txnProtocol) commit(s *txnState, q txnRequest) bool {
	if s.records[q.op] != absent && !p.noFence {
		return false
	}
	plan := p.plan(q.op, q.seen)
	mine := func(r int, x planned) bool {
		return p.party[r] == plan.home && x.what != txnNothing && (x.what != txnReserves || p.inCommit)
	}
	for r, x := range plan.rows {
		if mine(r, x) && !s.fits(r, x.what, q.fresh) {
			return false
		}
	}
	if s.records[q.op] != absent && s.fault == 0 {
		s.fault = txnBothOutcomes
	}
	s.records[q.op] = done
	for r, x := range plan.rows {
		switch {
		case !mine(r, x):
		case x.what == txnReserves:
			s.set(r, txnRow{op: q.op, what: txnReserves})
			if !p.noControl {
				s.control[q.op][plan.home] = pending
			}
		default:
			s.set(r, txnRow{value: x.value})
		}
	}
	return true
}

// end finishes or rolls back an operation in a partition. If the storage refuses that, nothing is left to do.
func (p *txnProtocol) end(s *txnState, q txnRequest) {
	control := &s.control[q.op][q.party]
	if q.kind == txnBack && *control == absent && !p.noTombstone {
		*control = done
	}
	if *control != pending {
		return
	}
	*control = done
	if p.controlDeleted {
		*control = absent
	}
	for r, row := range s.rows {
		switch {
		case p.party[r] != q.party || row.op != q.op:
		case q.kind == txnForward:
			s.set(r, txnRow{value: row.image})
		default:
			s.set(r, txnRow{value: row.old()})
		}
	}
}

type txnStep func(actor, what string, to txnState)

// send executes a request, with a response or not, and perhaps once more later. unknown is nil for senders without a difference.
func (p *txnProtocol) send(s txnState, actor string, q txnRequest, step txnStep, accepted, refused, unknown func(n *txnState)) {
	what := ""
	if !p.silent {
		what = fmt.Sprintf("%s %d in %d", txnKinds[q.kind], q.op, q.party)
	}
	n := s
	ok := p.apply(&n, q)
	after, suffix := accepted, ""
	if !ok {
		after, suffix = refused, ": refused"
	}
	answered := n
	after(&answered)
	step(actor, what+suffix, answered)
	if p.silent {
		return
	}
	if ok && unknown != nil {
		unknown(&n)
		step(actor, what+", whose response is lost", n)
	}
	if s.lateUsed || !p.late || q.kind == txnWrite {
		return
	}
	twice := s
	twice.late, twice.lateUsed = q, true
	p.apply(&twice, q)
	after(&twice)
	step(actor, what+suffix+", which arrives twice", twice)
	if unknown != nil {
		later := s
		later.late, later.lateUsed = q, true
		unknown(&later)
		step(actor, what+", which is late", later)
	}
}

func (p *txnProtocol) next(s txnState, step func(actor, what string, to txnState)) {
	to := func(actor, what string, n txnState) {
		p.drop(&n)
		step(actor, what, n)
	}
	for i := range p.bodies {
		p.transaction(s, uint8(i), to)
	}
	for i := range p.writers {
		p.writer(s, uint8(i), to)
	}
	if p.worker {
		p.works(s, to)
	}
	if s.late.kind != txnNone {
		n := s
		n.late = txnRequest{}
		to("late", txnKinds[s.late.kind]+": does not arrive", n)
		n = s
		if p.apply(&n, s.late) {
			n.late = txnRequest{}
			to("late", txnKinds[s.late.kind]+": arrives", n)
		}
	}
}

// drop removes a late request that cannot be accepted any more, which reduces the number of states.
func (p *txnProtocol) drop(s *txnState) {
	q := s.late
	over := false
	switch q.kind {
	case txnNone:
		return
	case txnPrepare, txnCommit:
		over = s.control[q.op][q.party] != absent && !p.controlDeleted
		if q.kind == txnCommit {
			over = s.records[q.op] != absent && !p.noFence
		}
		plan := p.plan(q.op, q.seen)
		for r, x := range plan.rows {
			if p.party[r] == q.party && (q.party == plan.home) == (q.kind == txnCommit) && x.what >= txnReplaces && x.what <= txnPins && q.fresh&(1<<r) == 0 {
				over = true
			}
		}
	case txnAbort:
		over = s.records[q.op] != absent
	default:
		over = s.control[q.op][q.party] == done
	}
	if over {
		s.late = txnRequest{}
	}
}
