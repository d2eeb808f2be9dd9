package model

import (
	"fmt"
	"slices"
)

func (k *kernelProtocol) user(s kernelState, i int, step kernelStep) {
	u := s.users[i]
	if i >= len(k.users) || int(u.at) == len(k.users[i]) {
		return
	}
	a, actor := k.users[i][u.at], fmt.Sprintf("user %d", i)
	op := uint8(0)
	if len(a.ops) > 0 {
		op = a.ops[u.attempt]
	}
	me := func(n *kernelState) *kernelUser { return &n.users[i] }
	next := func(n *kernelState) { // the next action
		n.users[i] = kernelUser{at: u.at + 1}
	}
	again := func(n *kernelState) { // the next attempt
		if n.users[i] = (kernelUser{at: u.at, attempt: u.attempt + 1}); int(u.attempt)+1 >= len(a.ops) {
			next(n)
		}
	}
	goes := func(pc uint8) func(n *kernelState) { return func(n *kernelState) { me(n).pc = pc } }
	if k.crashes&(1<<i) != 0 && !(u.pc == kReads && u.read == 0 && u.resolve == resolveNot && u.attempt == 0) {
		n := s
		n.users[i] = kernelUser{at: uint8(len(k.users[i]))}
		step(actor, "crashes", n)
	}
	if u.resolve != resolveNot {
		k.resolve(s, actor, u.resolve, u.resolveOp, u.resolveAt, u.back != 0, step, func(n *kernelState, pc uint8, back bool) {
			if w := me(n); pc == resolveNot {
				w.resolve, w.resolveOp, w.resolveAt, w.back = 0, 0, 0, 0
			} else if w.resolve = pc; back {
				w.back = 1
			}
		})
		return
	}
	n := s
	if u.pc != kReads && u.pc <= kAborts && u.pc != kAsks && k.tooOld(s, op) { // a record that was read before may be out of date
		if me(&n).pc = kAsks; k.ageAfterRead && u.pc == kAborts {
			me(&n).pc, me(&n).left = kRollsBack, k.participantsOf(u.plan, a.home)
		}
		step(actor, "its operation is too old", n)
		return
	}
	switch u.pc {
	case kReads:
		if int(u.read) == len(a.reads) {
			k.plans(s, i, step, next)
			return
		}
		r := a.reads[u.read]
		row := s.rows[r]
		if row.op != 0 && !k.ignoreMarks {
			me(&n).resolve, me(&n).resolveOp, me(&n).resolveAt = resolveReads, row.op, k.party[r]
			step(actor, fmt.Sprintf("reads row %d, which is marked", r), n)
			return
		}
		me(&n).read, me(&n).seen[r], me(&n).fresh = u.read+1, row.value, u.fresh|1<<r
		step(actor, fmt.Sprintf("reads row %d", r), n)
	case kNotifies:
		n.messages |= 1 << op
		if me(&n).pc = kPrepares; k.writeFirst {
			next(&n)
		}
		step(actor, "sends the message", n)
	case kPrepares:
		for p := range uint8(kernelParties) {
			if u.left&(1<<p) == 0 {
				continue
			}
			k.send(s, actor, kernelRequest{kernelPrepare, op, p, u.fresh, u.plan.only(k, p)}, step, func(n *kernelState) {
				if me(n).left &^= 1 << p; me(n).left == 0 {
					me(n).pc = kCommits
				}
			}, goes(kAborts), goes(kAborts))
		}
	case kCommits:
		refused := uint8(kAsks)
		if k.backUnfenced {
			refused = kRollsBack
		}
		k.send(s, actor, kernelRequest{kernelCommit, op, a.home, u.fresh, u.plan}, step, func(n *kernelState) { k.afterCommit(n, i) },
			func(n *kernelState) {
				if me(n).pc = kAsks; n.records[op] == absent {
					me(n).pc = refused
				}
				me(n).left = k.participantsOf(u.plan, a.home)
			}, func(n *kernelState) { me(n).pc, me(n).left = kAsks, k.participantsOf(u.plan, a.home) })
	case kAsks:
		switch {
		case s.records[op] == absent && !k.tooOld(s, op):
			me(&n).pc = kAborts
		case !s.committed(op):
			me(&n).pc, me(&n).left = kRollsBack, k.participantsOf(u.plan, a.home)
		default:
			k.afterCommit(&n, i)
		}
		step(actor, "reads the commit record: "+kindNames[s.records[op]], n)
	case kAborts:
		k.send(s, actor, kernelRequest{kind: kernelAbort, op: op, party: a.home}, step, func(n *kernelState) {
			me(n).pc, me(n).left = kRollsBack, k.participantsOf(u.plan, a.home)
		}, goes(kAsks), nil)
	case kFinishes:
		for p := range uint8(kernelParties) {
			if u.left&(1<<p) == 0 {
				continue
			}
			k.send(s, actor, kernelRequest{kernelForward, op, p, 0, k.blindPlan(u.plan, p)}, step, func(n *kernelState) {
				if me(n).left &^= 1 << p; me(n).left != 0 {
					return
				}
				if k.ended(n, i, kFinishes); k.writeFirst {
					n.users[i] = kernelUser{at: u.at, attempt: u.attempt, pc: kNotifies}
				}
			}, nil, nil)
		}
	case kMarksDone:
		if n.records[op] == pending {
			n.records[op] = done
		}
		k.ended(&n, i, kMarksDone)
		step(actor, "marks the commit record as done", n)
	case kTakesBack:
		n.messages &^= 1 << op
		k.ended(&n, i, kTakesBack)
		step(actor, "withdraws the message of what has ended", n)
	case kRollsBack:
		if u.left == 0 {
			me(&n).pc = kWithdraws
			step(actor, "has nothing to roll back", n)
		}
		for p := range uint8(kernelParties) {
			if u.left&(1<<p) == 0 {
				continue
			}
			k.send(s, actor, kernelRequest{kind: kernelBack, op: op, party: p}, step, func(n *kernelState) {
				if me(n).left &^= 1 << p; me(n).left == 0 {
					me(n).pc = kWithdraws
				}
			}, nil, nil)
		}
	case kWithdraws:
		n.messages &^= 1 << op
		again(&n)
		step(actor, "withdraws the message", n)
	}
}

// plans computes the plan of a user that has read all rows.
func (k *kernelProtocol) plans(s kernelState, i int, step kernelStep, next func(n *kernelState)) {
	n, u := s, s.users[i]
	a := k.users[i][u.at]
	plan, ok := kernelPlan{}, false
	if a.plan != nil {
		plan, ok = a.plan(u.seen)
	}
	if !ok {
		next(&n)
		step(fmt.Sprintf("user %d", i), "ends: "+a.name, n)
		return
	}
	w := &n.users[i]
	w.read, w.seen, w.plan, w.left, w.pc = 0, [kernelRows]uint8{}, plan, k.participantsOf(plan, a.home), kNotifies
	for r, p := range plan { // other ETags are not used
		if p.what == untouched || p.what == rowInserted {
			w.fresh &^= 1 << r
		}
	}
	if k.sleeps {
		n.begun |= 1 << a.ops[u.attempt]
	}
	if k.writeFirst {
		w.pc = kPrepares
	}
	if w.left == 0 {
		w.pc = kCommits
	}
	step(fmt.Sprintf("user %d", i), "plans: "+a.name, n)
}

func (k *kernelProtocol) afterCommit(n *kernelState, i int) {
	u := &n.users[i]
	a := k.users[i][u.at]
	u.left = k.participantsOf(u.plan, a.home)
	if u.left == 0 {
		*u = kernelUser{at: u.at + 1}
		return
	}
	u.pc, u.fresh = kFinishes, 0
	if k.ends != nil {
		u.pc = k.ends[0]
	}
	if !k.finishBlind && !k.lateRelease {
		u.plan = kernelPlan{}
	}
}

// ended leads a user to what follows a step after the commit.
func (k *kernelProtocol) ended(n *kernelState, i int, pc uint8) {
	order := kernelEnds
	if k.ends != nil {
		order = k.ends
	}
	at := slices.Index(order, pc) + 1
	if at == len(order) {
		n.users[i] = kernelUser{at: n.users[i].at + 1}
		return
	}
	n.users[i].pc = order[at]
}

func (k *kernelProtocol) participantsOf(plan kernelPlan, home uint8) (parties uint8) {
	for r, p := range plan {
		if p.what != untouched && k.party[r] != home {
			parties |= 1 << k.party[r]
		}
	}
	return parties
}

// only returns the planned rows of a partition.
func (plan kernelPlan) only(k *kernelProtocol, party uint8) kernelPlan {
	for r := range plan {
		if k.party[r] != party {
			plan[r] = planned{}
		}
	}
	return plan
}

// blindPlan returns the values for a finish without conditions.
func (k *kernelProtocol) blindPlan(plan kernelPlan, party uint8) kernelPlan {
	if !k.finishBlind && !k.lateRelease {
		return kernelPlan{}
	}
	return plan.only(k, party)
}
