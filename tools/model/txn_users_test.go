package model

import (
	"fmt"
	"math/bits"
)

var (
	txnActors     = [...]string{"", "transaction 1", "transaction 2", "transaction 3"}
	txnWriterSays = [...]string{"writer 1", "writer 2"}
)

// txnStays is the state of a sender that sends its request again.
func txnStays(*txnState) {}

// transaction is the next step of a transaction: its own steps, then its crash.
func (p *txnProtocol) transaction(s txnState, i uint8, step txnStep) {
	t, op, actor := s.bodies[i], i+1, txnActors[i+1]
	if t.pc >= txnCommitted {
		return
	}
	me := func(n *txnState) *txnProcess { return &n.bodies[i] }
	parties := s.parties[op]
	ends := func(pc uint8) func(n *txnState) { // from here on, what it has read is not needed
		return func(n *txnState) {
			*me(n) = txnProcess{pc: pc}
			switch {
			case pc == txnFinishes && parties == 0:
				me(n).pc = txnCommitted
			case pc == txnRollsBack && parties == 0:
				me(n).pc = txnAborted
			case pc == txnFinishes, pc == txnRollsBack:
				me(n).left = parties
			}
		}
	}
	switch {
	case t.resolve.pc != txnIdle:
		p.resolve(s, actor, t.resolve, step, func(n *txnState, to txnResolve) { me(n).resolve = to })
	case t.pc == txnReads:
		p.reads(s, i, step)
	case t.pc == txnPrepares:
		for left := t.left; left != 0; left &= left - 1 {
			party := uint8(bits.TrailingZeros8(left))
			prepared := func(n *txnState) {
				me(n).left &^= 1 << party
				if me(n).left == 0 {
					me(n).pc = txnCommits
					if p.homeReadAgain {
						me(n).pc = txnReadsAgain
					}
				}
			}
			p.send(s, actor, txnRequest{txnPrepare, op, party, t.fresh, t.seen}, step, prepared, func(n *txnState) {
				if n.control[op][party] == pending { // it is there already
					prepared(n)
					return
				}
				if ends(txnAsks)(n); p.prepareUnfenced {
					ends(txnRollsBack)(n)
				}
			}, txnStays)
			if !p.anyOrder {
				break
			}
		}
	case t.pc == txnReadsAgain:
		n := s
		plan := p.plan(op, t.seen)
		me(&n).pc = txnCommits
		for r, x := range plan.rows {
			if p.party[r] == plan.home && x.what == txnReserves && !s.rows[r].absent() {
				ends(txnAsks)(&n)
			}
		}
		step(actor, "reads the absent rows of the home again", n)
	case t.pc == txnCommits:
		unknown := ends(txnAsks)
		if p.inDoubtFailed {
			unknown = ends(txnRollsBack)
		}
		refused := ends(txnAsks)
		if p.refusedUnfenced {
			refused = func(n *txnState) {
				if ends(txnAsks)(n); n.records[op] == absent {
					ends(txnRollsBack)(n)
				}
			}
		}
		p.send(s, actor, txnRequest{txnCommit, op, p.plan(op, t.seen).home, t.fresh, t.seen}, step, ends(txnFinishes), refused, unknown)
	case t.pc == txnAsks:
		n := s
		ends(map[uint8]uint8{absent: txnAborts, done: txnFinishes, aborted: txnRollsBack}[s.records[op]])(&n)
		step(actor, "reads its commit record", n)
	case t.pc == txnAborts:
		p.send(s, actor, txnRequest{kind: txnAbort, op: op}, step, ends(txnRollsBack), ends(txnAsks), txnStays)
	default: // finishes or rolls back
		kind, last := uint8(txnForward), uint8(txnCommitted)
		if t.pc == txnRollsBack {
			kind, last = txnBack, txnAborted
		}
		if t.left == 0 {
			n := s
			ends(last)(&n)
			step(actor, "has nothing to end", n)
		}
		for left := t.left; left != 0; left &= left - 1 {
			party := uint8(bits.TrailingZeros8(left))
			p.send(s, actor, txnRequest{kind: kind, op: op, party: party}, step, func(n *txnState) {
				me(n).left &^= 1 << party
				if me(n).left == 0 {
					ends(last)(n)
				}
			}, nil, txnStays)
			if !p.anyOrder {
				break
			}
		}
	}
	if !p.silent {
		n := s
		*me(&n) = txnProcess{pc: txnCrashed}
		step(actor, "crashes", n)
	}
}

// reads is a read of a transaction, and its plan after the last.
func (p *txnProtocol) reads(s txnState, i uint8, step txnStep) {
	n, b, op, actor := s, &p.bodies[i], i+1, txnActors[i+1]
	t := &n.bodies[i]
	for {
		r := b.reads[t.read]
		row := s.rows[r]
		value := row.value
		switch {
		case row.op == 0 || p.releasesPins && row.what == txnPins:
		case p.looksThrough && (b.observes || b.atOnce) && (row.what == txnPins || row.what == txnReserves):
		case p.trustsImage:
			value = row.image
		case p.trustsOld:
			value = row.old()
		case p.waits && s.records[row.op] == absent:
			return
		default:
			n = s
			n.bodies[i].resolve = txnResolve{txnRecord, row.op, p.party[r]}
			step(actor, p.says("meets the mark of %d on row %d", row.op, r), n)
			return
		}
		t.read, t.seen[r], t.fresh = t.read+1, value, t.fresh|1<<r
		if int(t.read) == len(b.reads) {
			break
		}
		if !b.atOnce {
			step(actor, p.says("reads row %d: %d", r, value), n)
			return
		}
	}
	plan := p.plan(op, t.seen)
	if plan.answers {
		p.takes(&n, i, t.seen, s.truths())
		*t = txnProcess{pc: txnAnswered}
		step(actor, "reads its last row, and answers", n)
		return
	}
	n.parties[op], t.read, t.left = plan.parties, 0, plan.prepares
	for r, x := range plan.rows { // other ETags are not used
		if x.what == txnNothing || x.what == txnInserts || x.what == txnReserves {
			t.fresh &^= 1 << r
		}
	}
	switch {
	case t.left != 0:
		t.pc = txnPrepares
	case p.homeReadAgain:
		t.pc = txnReadsAgain
	default:
		t.pc = txnCommits
	}
	step(actor, p.says("reads its last row, with the home %d, and sends the message", plan.home), n)
}

func (p *txnProtocol) says(format string, args ...any) string {
	if p.silent {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// resolve is the next step of who ends an operation in a partition.
func (p *txnProtocol) resolve(s txnState, actor string, x txnResolve, step txnStep, to func(n *txnState, x txnResolve)) {
	goes := func(pc uint8) func(n *txnState) { return func(n *txnState) { to(n, txnResolve{pc, x.op, x.party}) } }
	switch x.pc {
	case txnRecord:
		n := s
		pc := uint8(txnForth)
		switch s.records[x.op] {
		case absent:
			if pc = txnFence; p.resolveUnfenced {
				pc = txnBackward
			}
		case aborted:
			pc = txnBackward
		}
		goes(pc)(&n)
		step(actor, p.says("reads the commit record of %d", x.op), n)
	case txnFence:
		p.send(s, actor, txnRequest{kind: txnAbort, op: x.op}, step, goes(txnBackward), goes(txnRecord), txnStays)
	default:
		kind := uint8(txnForward)
		if x.pc == txnBackward {
			kind = txnBack
		}
		p.send(s, actor, txnRequest{kind: kind, op: x.op, party: x.party}, step, func(n *txnState) { to(n, txnResolve{}) }, nil, txnStays)
	}
}

// writer is the next step of a program that writes one row.
func (p *txnProtocol) writer(s txnState, i uint8, step txnStep) {
	w, x, actor := p.writers[i], s.writers[i], txnWriterSays[i]
	me := func(n *txnState) *txnProcess { return &n.writers[i] }
	row := s.rows[w.row]
	n := s
	switch {
	case x.pc == txnStored:
	case x.resolve.pc != txnIdle:
		p.resolve(s, actor, x.resolve, step, func(n *txnState, to txnResolve) { me(n).resolve = to })
	case x.pc == txnLooks && row.op != 0 && !(p.releasesPins && row.what == txnPins) && !p.ignoresMarks:
		me(&n).resolve = txnResolve{txnRecord, row.op, p.party[w.row]}
		step(actor, p.says("meets the mark of %d on row %d", row.op, w.row), n)
	case x.pc == txnLooks:
		*me(&n) = txnProcess{pc: txnStores, fresh: 1 << w.row}
		me(&n).seen[w.row] = row.value
		if row.value == 0 {
			me(&n).fresh = 0
		}
		if w.change(row.value) == row.value {
			*me(&n) = txnProcess{pc: txnStored}
		}
		step(actor, p.says("reads row %d: %d", w.row, row.value), n)
	default:
		ended := func(n *txnState) { *me(n) = txnProcess{pc: txnStored} }
		p.send(s, actor, txnRequest{txnWrite, i, p.party[w.row], x.fresh, x.seen}, step, ended, func(n *txnState) { *me(n) = txnProcess{} }, nil)
	}
}

// works is the next step of the worker, which ends an operation in all its partitions.
func (p *txnProtocol) works(s txnState, step txnStep) {
	const actor = "worker"
	n, x := s, s.worker
	if x.pc == txnIdle {
		for op := uint8(1); op <= txnMost; op++ {
			if s.parties[op] != 0 && s.worked&(1<<op) == 0 {
				n = s
				n.worker = txnResolve{pc: txnRecord, op: op}
				step(actor, p.says("takes the message of %d", op), n)
			}
		}
		return
	}
	n.worker = txnResolve{}
	step(actor, "crashes", n)
	if x.pc == txnRecord || x.pc == txnFence {
		p.resolve(s, actor, x, step, func(n *txnState, to txnResolve) {
			if n.worker = to; to.pc >= txnForth {
				n.worker.party = n.parties[x.op]
			}
		})
		return
	}
	kind := uint8(txnForward)
	if x.pc == txnBackward {
		kind = txnBack
	}
	for left := x.party; left != 0; left &= left - 1 {
		party := uint8(bits.TrailingZeros8(left))
		p.send(s, actor, txnRequest{kind: kind, op: x.op, party: party}, step, func(n *txnState) {
			if n.worker.party &^= 1 << party; n.worker.party == 0 {
				n.worker, n.worked = txnResolve{}, n.worked|1<<x.op
			}
		}, nil, txnStays)
		if !p.anyOrder {
			break
		}
	}
}

// check returns the fault of a state.
func (p *txnProtocol) check(s txnState) string {
	if s.fault != 0 {
		return txnFaults[s.fault]
	}
	for i := range p.bodies {
		op := uint8(i + 1)
		ended := s.worked&(1<<op) != 0
		switch s.bodies[i].pc {
		case txnCommitted, txnAborted:
			if ended = true; (s.bodies[i].pc == txnCommitted) != (s.records[op] == done) {
				return wronglyAborted
			}
		}
		if ended && !p.pendingStays && s.pending(op) {
			return leftPending
		}
	}
	if p.orders && !p.ordered(&s, s.taken, p.start, s.truths(), 0) {
		return noSerialOrder
	}
	return p.endsAlone(s)
}

// ordered reports whether those that are left have a serial order that leads from the values to the last ones. The reads of an observer keep their order, and
// may have others between them.
func (p *txnProtocol) ordered(s *txnState, left uint8, from, last txnValues, observed int) bool {
	if left == 0 {
		return from == last
	}
	for rest := left; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros8(rest)
		after, others, reads := left&^(1<<i), from, observed
		switch {
		case i >= txnMost:
			w := p.writers[i-txnMost]
			if from[w.row] != s.took[i][w.row] {
				continue
			}
			others[w.row] = w.change(from[w.row])
		case p.bodies[i].observes:
			r := p.bodies[i].reads[observed]
			if from[r] != s.took[i][r] {
				continue
			}
			if reads++; reads < len(p.bodies[i].reads) {
				after = left
			}
		default:
			if !p.bodies[i].fits(s.took[i], from) {
				continue
			}
			others = p.bodies[i].writes(s.took[i], from)
		}
		if p.ordered(s, after, others, last, reads) {
			return true
		}
	}
	return false
}

// fits reports whether what was read is as in the values.
func (b *txnBody) fits(seen, values txnValues) bool {
	for _, r := range b.reads {
		if seen[r] != values[r] {
			return false
		}
	}
	return true
}

// writes returns the values after a transaction.
func (b *txnBody) writes(seen, values txnValues) txnValues {
	if b.after != nil {
		for r, value := range b.after(seen) {
			if value != seen[r] {
				values[r] = value
			}
		}
	}
	return values
}

// endsAlone checks that, when all others have stopped, one program ends everything that is pending, and each program ends.
func (p *txnProtocol) endsAlone(s txnState) string {
	alone := *p
	alone.silent = true
	s.late, s.lateUsed = txnRequest{}, true
	n := s
	for op := uint8(1); op <= txnMost; op++ {
		for party := range uint8(txnParties) {
			if n.control[op][party] != pending {
				continue
			}
			for x := (txnResolve{txnRecord, op, party}); x.pc != txnIdle; {
				from := n
				alone.resolve(from, "", x, func(_, _ string, to txnState) { n = to }, func(_ *txnState, to txnResolve) { x = to })
			}
		}
	}
	if n.fault != 0 {
		return txnFaults[n.fault]
	}
	for op := uint8(1); op <= txnMost; op++ {
		if n.pending(op) {
			return cannotEnd
		}
	}
	for i := range p.bodies {
		if s.bodies[i].pc >= txnCommitted {
			continue
		}
		n := s
		for steps := 0; n.bodies[i].pc < txnCommitted; steps++ {
			if steps == txnLongest {
				return cannotEndAlone
			}
			alone.transaction(n, uint8(i), func(_, _ string, to txnState) { n = to })
		}
	}
	for i := range p.writers {
		n := s
		for steps := 0; n.writers[i].pc != txnStored; steps++ {
			if steps == txnLongest {
				return cannotEndAlone
			}
			alone.writer(n, uint8(i), func(_, _ string, to txnState) { n = to })
		}
	}
	return ""
}

// txnLongest is more than the steps of a program that is alone.
const txnLongest = 60

func (p *txnProtocol) model() Model[txnState] {
	start := txnState{}
	for r, value := range p.start {
		start.rows[r].value = value
	}
	return Model[txnState]{
		Start: start,
		Next:  p.next,
		Check: p.check,
		Quiet: func(s txnState) bool {
			for i := range p.bodies {
				if s.bodies[i].pc < txnCommitted {
					return false
				}
			}
			for i := range p.writers {
				if s.writers[i].pc != txnStored {
					return false
				}
			}
			return s.late.kind == txnNone && s.worker == txnResolve{}
		},
		CheckQuiet:  func(txnState) string { return "" },
		Termination: true,
		Show:        func(s txnState) string { return s.String() },
	}
}
