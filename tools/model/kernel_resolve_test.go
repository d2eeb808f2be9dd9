package model

import (
	"fmt"
	"math/bits"
)

// resolve is the next step of a user or of Verify that resolves the mark of op in a partition.
func (k *kernelProtocol) resolve(s kernelState, actor string, pc, op, party uint8, back bool, step kernelStep,
	to func(n *kernelState, pc uint8, back bool)) {
	n := s
	switch pc {
	case resolveReads:
		switch {
		case s.records[op] == absent && !k.tooOld(s, op):
			to(&n, resolveAborts, false)
		case s.committed(op):
			to(&n, resolveApplies, false)
		default:
			to(&n, resolveApplies, true)
		}
		step(actor, fmt.Sprintf("reads the commit record of %d: %s", op, kindNames[s.records[op]]), n)
	case resolveAborts:
		if k.tooOld(s, op) {
			to(&n, resolveReads, false)
			step(actor, "the operation is too old", n)
			return
		}
		if k.resolveUnfenced {
			to(&n, resolveApplies, true)
			step(actor, "takes the operation for aborted", n)
			return
		}
		k.send(s, actor, kernelRequest{kind: kernelAbort, op: op, party: k.action(op).home}, step, func(n *kernelState) { to(n, resolveApplies, true) },
			func(n *kernelState) { to(n, resolveReads, false) }, nil)
	case resolveApplies:
		q := kernelRequest{kind: kernelForward, op: op, party: party}
		if back {
			q.kind = kernelBack
		} else if k.finishBlind {
			for r, row := range s.rows {
				if row.op == op {
					q.plan[r] = planned{row.what, row.image}
				}
			}
			q.plan = q.plan.only(k, party)
		}
		k.send(s, actor, q, step, func(n *kernelState) { to(n, resolveNot, false) }, nil, nil)
	}
}

// worker executes messages. A worker that crashes leaves its message in the queue.
func (k *kernelProtocol) worker(s kernelState, i int, step kernelStep) {
	w, actor := s.workers[i], fmt.Sprintf("worker %d", i)
	if w.pc == kIdle {
		for op := uint8(1); op < kernelOps; op++ {
			if s.messages&(1<<op) != 0 {
				n := s
				n.workers[i] = kernelWorker{pc: kRecord, op: op}
				step(actor, fmt.Sprintf("takes the message of %d", op), n)
			}
		}
		return
	}
	a := k.action(w.op)
	to := func(what string, n kernelState, pc, left uint8) {
		if n.workers[i].pc, n.workers[i].left = pc, left; pc == kIdle {
			n.workers[i] = kernelWorker{}
		}
		step(actor, what, n)
	}
	to("crashes", s, kIdle, 0)
	switch w.pc {
	case kRecord:
		pc, left := uint8(kDeletes), uint8(0)
		switch s.records[w.op] {
		case absent:
			switch pc = kFence; {
			case k.dropsAbsent:
				pc = kDeletes
			case k.tooOld(s, w.op):
				pc, left = kBackward, a.participants
			}
		case pending:
			pc, left = kForward, a.participants
			if k.closesEarly {
				left = 0
			}
		case aborted:
			pc, left = kBackward, a.participants
			if k.namesNothing {
				left = 0
			}
		}
		to("reads the commit record: "+kindNames[s.records[w.op]], s, pc, left)
	case kFence:
		if k.tooOld(s, w.op) {
			to("the operation is too old", s, kRecord, 0)
			return
		}
		k.send(s, actor, kernelRequest{kind: kernelAbort, op: w.op, party: a.home}, step, func(n *kernelState) { n.workers[i].pc = kRecord },
			func(n *kernelState) { n.workers[i].pc = kRecord }, nil)
	case kForward, kBackward:
		after, kind := uint8(kCloses), uint8(kernelForward)
		if w.pc == kBackward {
			after, kind = kDeletes, kernelBack
		}
		if w.left == 0 {
			to("has finished", s, after, 0)
			return
		}
		p := uint8(bits.TrailingZeros8(w.left))
		k.send(s, actor, kernelRequest{kind: kind, op: w.op, party: p}, step, func(n *kernelState) { n.workers[i].left &^= 1 << p }, nil, nil)
	case kCloses:
		n := s
		n.records[w.op] = done
		to("closes the commit record", n, kDeletes, 0)
	case kDeletes:
		n := s
		n.messages &^= 1 << w.op
		to("deletes the message", n, kIdle, 0)
	}
}

// verifies is a pass of Verify: it resolves what is pending in a partition, and sends the messages of pending commit records again.
func (k *kernelProtocol) verifies(s kernelState, step kernelStep) {
	if !k.verify {
		return
	}
	if v := s.verify; v.pc != resolveNot {
		n := s
		n.verify = kernelWorker{}
		step("Verify", "crashes", n)
		k.resolve(s, "Verify", v.pc&7, v.op, v.left, v.pc&8 != 0, step, func(n *kernelState, pc uint8, back bool) {
			if n.verify.pc = pc; pc == resolveNot {
				n.verify = kernelWorker{}
			} else if back {
				n.verify.pc |= 8
			}
		})
		return
	}
	for op := uint8(1); op < kernelOps; op++ {
		for p := range uint8(kernelParties) {
			if s.control[op][p] == pending {
				n := s
				n.verify = kernelWorker{resolveReads, op, p}
				step("Verify", fmt.Sprintf("finds ~t|%d pending in %d", op, p), n)
			}
		}
		if s.records[op] == pending && s.messages&(1<<op) == 0 {
			n := s
			n.messages |= 1 << op
			step("Verify", fmt.Sprintf("sends the message of %d again", op), n)
		}
	}
}
