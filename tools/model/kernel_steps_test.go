package model

import "fmt"

// kernelProtocol is the protocol of changes over several partitions, with a script for each user. A mutant sets one of the options.
type kernelProtocol struct {
	party       [kernelRows]uint8 // the partition of each row
	start       [kernelRows]uint8
	users       [][]kernelAction
	holds       func(truth [kernelRows]uint8) bool // the relation between rows that is true at every instant
	reader      kernelReading
	noLate      bool
	crashes     uint8 // the users that may crash, one bit for each
	verify      bool
	clears      bool // the queue is cleared once
	sleeps      bool // the retention may pass
	moreWorkers int

	// Mutants.
	noFence, backUnfenced, resolveUnfenced, dropsAbsent, noTombstone, controlDeleted, finishBlind, writeFirst bool
	ignoreMarks, namesNothing, lateRelease, closesEarly, ageAfterRead                                         bool
	ends                                                                                                      []uint8
}

// kernelEnds is what a user does after the commit, in this order.
var kernelEnds = []uint8{kFinishes, kMarksDone, kTakesBack}

// kernelAction is a line of a script. Each attempt has an operation of its own.
type kernelAction struct {
	name         string
	ops          []uint8
	home         uint8
	participants uint8 // one bit for each partition
	reads        []uint8
	plan         func(seen [kernelRows]uint8) (kernelPlan, bool) // nil: the action only reads
}

// The steps of a user.
const (
	kReads = iota
	kNotifies
	kPrepares
	kCommits
	kAsks
	kAborts
	kFinishes
	kRollsBack
	kWithdraws
	kMarksDone
	kTakesBack
)

// The steps of a user, or of Verify, that resolves a mark.
const (
	resolveNot = iota
	resolveReads
	resolveAborts
	resolveApplies
)

// The steps of a worker.
const (
	kIdle = iota
	kRecord
	kFence
	kForward
	kBackward
	kCloses
	kDeletes
)

func (k *kernelProtocol) action(op uint8) *kernelAction {
	for u := range k.users {
		for a := range k.users[u] {
			for _, other := range k.users[u][a].ops {
				if other == op {
					return &k.users[u][a]
				}
			}
		}
	}
	panic(fmt.Sprintf("no action has the operation %d", op))
}

// apply executes a request, and reports whether the storage accepted it.
func (k *kernelProtocol) apply(s *kernelState, q kernelRequest) bool {
	before := s.truths()
	want := before
	control := &s.control[q.op][q.party]
	switch q.kind {
	case kernelPrepare:
		if *control != absent || !k.fits(s, q) {
			return false
		}
		*control = pending
		for r, p := range q.plan {
			switch row := s.rows[r]; {
			case k.party[r] != q.party || p.what == untouched || p.what == rowDeleted && k.lateRelease:
			case p.what == rowInserted:
				s.set(r, kernelRow{p.value, q.op, p.what, p.value})
			default:
				s.set(r, kernelRow{row.value, q.op, p.what, p.value})
			}
		}
	case kernelCommit:
		if s.records[q.op] != absent && !k.noFence || !k.fits(s, q) {
			return false
		}
		if s.records[q.op] != absent {
			s.fault = committedAborted
		}
		s.records[q.op] = done
		for r, p := range q.plan {
			if p.what == untouched {
				continue
			}
			if want[r] = p.value; k.party[r] == q.party {
				s.set(r, kernelRow{value: p.value})
			} else {
				s.records[q.op] = pending
			}
		}
		if s.fault == 0 && s.truths() != want {
			s.fault = wrongCommit
		}
		return true
	case kernelAbort:
		if s.records[q.op] != absent {
			return false
		}
		s.records[q.op] = aborted
	case kernelForward, kernelBack:
		if q.kind == kernelBack && *control == absent && !k.noTombstone && !k.tooOld(*s, q.op) {
			*control = done
		}
		if *control != pending && !(k.finishBlind && q.kind == kernelForward) {
			return true // the storage refuses the request, and the sender sees that there is nothing left to do
		}
		if *control = done; k.controlDeleted {
			*control = absent
		}
		for r, row := range s.rows {
			p := q.plan[r]
			switch {
			case k.party[r] != q.party:
			case k.finishBlind && q.kind == kernelForward && p.what != untouched:
				s.set(r, kernelRow{value: p.value})
			case k.lateRelease && q.kind == kernelForward && p.what == rowDeleted:
				s.set(r, kernelRow{})
			case row.op != q.op:
			case q.kind == kernelForward:
				s.set(r, kernelRow{value: row.image})
			default:
				s.set(r, kernelRow{value: row.old()})
			}
		}
	}
	if s.fault == 0 && s.truths() != want {
		s.fault = changedAnswer
	}
	return true
}

// fits reports whether the conditions of a request hold for its own partition.
func (k *kernelProtocol) fits(s *kernelState, q kernelRequest) bool {
	for r, p := range q.plan {
		switch {
		case k.party[r] != q.party || p.what == untouched:
		case p.what == rowInserted && s.rows[r].value != 0, p.what != rowInserted && q.fresh&(1<<r) == 0:
			return false
		}
	}
	return true
}

type kernelStep func(actor, what string, to kernelState)

// send executes a request, with a response or not, and perhaps once more later. unknown is nil for senders without a difference.
func (k *kernelProtocol) send(s kernelState, actor string, q kernelRequest, step kernelStep, accepted, refused, unknown func(n *kernelState)) {
	what := fmt.Sprintf("%s of %d in %d", kernelNames[q.kind], q.op, q.party)
	n := s
	ok := k.apply(&n, q)
	after, suffix := accepted, ""
	if !ok {
		after, suffix = refused, ": refused"
	}
	answered := n
	after(&answered)
	step(actor, what+suffix, answered)
	if ok && unknown != nil {
		lost := n
		unknown(&lost)
		step(actor, what+", whose response is lost", lost)
	}
	if s.lateUsed || k.noLate {
		return
	}
	twice := s
	twice.late, twice.lateUsed = q, true
	k.apply(&twice, q)
	after(&twice)
	step(actor, what+suffix+", which arrives twice", twice)
	if unknown != nil {
		later := s
		later.late, later.lateUsed = q, true
		unknown(&later)
		step(actor, what+", which is late", later)
	}
}

func (k *kernelProtocol) next(s kernelState, step kernelStep) {
	to := func(actor, what string, n kernelState) {
		if n.reader.pc != readerBegins && n.reader.pc != readerEnds {
			n.reader.lived |= 1 << k.reader.answer(n.truths())
		}
		k.drop(&n)
		step(actor, what, n)
	}
	for i := range s.users {
		k.user(s, i, to)
	}
	for i := range s.workers[:1+k.moreWorkers] {
		k.worker(s, i, to)
	}
	k.verifies(s, to)
	k.read(s, to)
	if s.late.kind != kernelNone {
		n := s
		n.late = kernelRequest{}
		to("late", kernelNames[s.late.kind]+" does not arrive", n)
		if n = s; k.apply(&n, s.late) {
			n.late = kernelRequest{}
			to("late", kernelNames[s.late.kind]+" arrives", n)
		}
	}
	k.time(s, to)
	if k.clears && !s.cleared {
		n := s
		n.messages, n.cleared = 0, true
		to("operator", "clears the queue", n)
	}
}

// time passes: no request of an old operation arrives any more, and its rows are swept unless they are pending.
func (k *kernelProtocol) time(s kernelState, step kernelStep) {
	if !k.sleeps {
		return
	}
	if n := s; s.begun != 0 && s.old == 0 {
		n.old, n.late = s.begun, kernelRequest{}
		step("time", "the retention is over", n)
	}
	for op := uint8(1); op < kernelOps; op++ {
		if s.old&(1<<op) == 0 {
			continue
		}
		if n := s; s.records[op] == done || s.records[op] == aborted {
			n.records[op] = absent
			step("sweep", fmt.Sprintf("deletes the commit record of %d", op), n)
		}
		for p := range s.control[op] {
			if n := s; s.control[op][p] == done {
				n.control[op][p] = absent
				step("sweep", fmt.Sprintf("deletes ~t|%d in %d", op, p), n)
			}
		}
	}
}

// tooOld reports whether the operation is too old for a request that begins or ends it.
func (k *kernelProtocol) tooOld(s kernelState, op uint8) bool {
	return s.old&(1<<op) != 0
}

// drop removes a late request that cannot be accepted any more, which reduces the number of states.
func (k *kernelProtocol) drop(s *kernelState) {
	q, control := s.late, s.control[s.late.op][s.late.party]
	switch q.kind {
	case kernelPrepare:
		if control == absent || k.controlDeleted {
			return
		}
	case kernelCommit:
		if s.records[q.op] == absent || k.noFence {
			return
		}
	case kernelAbort:
		if s.records[q.op] == absent {
			return
		}
	default:
		if control != done || k.finishBlind {
			return
		}
	}
	s.late = kernelRequest{}
}
