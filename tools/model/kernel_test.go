package model

import "testing"

func (k *kernelProtocol) model() Model[kernelState] {
	var start kernelState
	for r, value := range k.start {
		start.rows[r].value = value
	}
	return Model[kernelState]{
		Start:       start,
		Termination: true,
		Next:        func(s kernelState, step func(actor, what string, to kernelState)) { k.next(s, step) },
		Check: func(s kernelState) string {
			if s.fault != 0 {
				return kernelFaults[s.fault]
			}
			if !k.holds(s.truths()) {
				return inconsistent
			}
			return ""
		},
		Quiet: func(s kernelState) bool {
			for i := range k.users {
				if int(s.users[i].at) < len(k.users[i]) {
					return false
				}
			}
			if k.verify && s.unfinished() {
				return false
			}
			return s.messages == 0 && s.late.kind == kernelNone && s.workers == [2]kernelWorker{} && s.verify.pc == resolveNot &&
				(s.reader.pc == readerBegins || s.reader.pc == readerEnds)
		},
		CheckQuiet: func(s kernelState) string {
			if s.unfinished() {
				return leftPending
			}
			return ""
		},
		Show: func(s kernelState) string { return s.String() },
	}
}

// unfinished reports whether a row is marked, or a control row or commit record is pending.
func (s *kernelState) unfinished() bool {
	for _, row := range s.rows {
		if row.op != 0 {
			return true
		}
	}
	for op := range kernelOps {
		if s.records[op] == pending {
			return true
		}
		for _, state := range s.control[op] {
			if state == pending {
				return true
			}
		}
	}
	return false
}

type truths = [kernelRows]uint8

// moveRow moves an entity. The row of the source is in the home partition.
func moveRow(from, to, home, participant uint8, ops ...uint8) kernelAction {
	return kernelAction{"move", ops, home, 1 << participant, []uint8{from}, func(seen truths) (plan kernelPlan, ok bool) {
		plan[from], plan[to] = planned{rowDeleted, 0}, planned{rowInserted, seen[from]}
		return plan, seen[from] != 0
	}}
}

// local is an action on one row.
func local(name string, r, home, op uint8, change func(value uint8) uint8) kernelAction {
	return kernelAction{name, []uint8{op}, home, 0, []uint8{r}, func(seen truths) (plan kernelPlan, ok bool) {
		value := change(seen[r])
		switch {
		case seen[r] == value:
			return plan, false
		case seen[r] == 0:
			plan[r] = planned{rowInserted, value}
		case value == 0:
			plan[r] = planned{rowDeleted, 0}
		default:
			plan[r] = planned{rowReplaced, value}
		}
		return plan, true
	}}
}

func updates(value uint8) uint8 {
	if value == 0 {
		return 0
	}
	return 2
}

func removes(uint8) uint8 { return 0 }

func insertsIf(value uint8) func(uint8) uint8 {
	return func(old uint8) uint8 {
		if old != 0 {
			return old
		}
		return value
	}
}

func gets(rows ...uint8) kernelAction { return kernelAction{name: "get", reads: rows} }

// onePlace reports whether the entity is in exactly one of the rows.
func onePlace(rows ...int) func(truths) bool {
	return func(all truths) bool {
		n := 0
		for _, r := range rows {
			if all[r] != 0 {
				n++
			}
		}
		return n == 1
	}
}

func atMostOnePlace(rows ...int) func(truths) bool {
	return func(all truths) bool {
		n := 0
		for _, r := range rows {
			if all[r] != 0 {
				n++
			}
		}
		return n <= 1
	}
}

type kernelWorkload struct {
	name string
	k    kernelProtocol
	size int
}

func TestKernel(t *testing.T) {
	t.Parallel()
	for _, w := range kernelWorkloads {
		if !(workload{size: w.size}).included() {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			expectSound(t, explore(w.k.model()))
		})
	}
}

// TestKernelMutants omits one part of the protocol at a time and expects the fault that the part prevents.
func TestKernelMutants(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name, workload string
		change         func(k *kernelProtocol)
		want           string
	}{
		{"a commit that ignores the abort record", "move", func(k *kernelProtocol) { k.noFence = true }, bothOutcomes},
		{"a user rolls back after a refused commit without an abort record", "create with a unique value, delete without",
			func(k *kernelProtocol) { k.backUnfenced = true }, partCommitted},
		{"a reader that writes rolls back without an abort record", "move, update and get", func(k *kernelProtocol) { k.resolveUnfenced = true }, changedWithout},
		{"a worker drops the message of an absent commit record", "move", func(k *kernelProtocol) { k.dropsAbsent = true }, leftPending},
		{"roll back leaves no control row where none was", "move", func(k *kernelProtocol) { k.noTombstone = true }, leftPending},
		{"the control row is deleted and not done", "move and delete", func(k *kernelProtocol) { k.controlDeleted = true }, changedWithout},
		{"a finish without ETags", "reader of a row, moved twice", func(k *kernelProtocol) { k.finishBlind = true }, changedWithout},
		{"write, then notify", "move", func(k *kernelProtocol) { k.writeFirst = true }, leftPending},
		{"a writer ignores marks", "two moves into a summary", func(k *kernelProtocol) { k.ignoreMarks = true }, changedWithout},
		{"the message does not name the participants", "move", func(k *kernelProtocol) { k.namesNothing = true }, leftPending},
		{"a released value is not marked", "a unique value is handed over", func(k *kernelProtocol) { k.lateRelease = true }, partCommitted},
		{"the commit record is closed before the participants are finished", "move", func(k *kernelProtocol) { k.closesEarly = true }, leftPending},
		{"a user marks the commit record as done before it has finished", "move while the retention passes",
			func(k *kernelProtocol) { k.ends = []uint8{kMarksDone, kFinishes, kTakesBack} }, inconsistent},
		{"a user withdraws the message before it has finished", "move",
			func(k *kernelProtocol) { k.ends = []uint8{kTakesBack, kFinishes, kMarksDone} }, leftPending},
		{"a user withdraws the message before the commit record is done", "move",
			func(k *kernelProtocol) { k.ends = []uint8{kFinishes, kTakesBack, kMarksDone} }, leftPending},
		{"the age is checked after the commit record was read", "move while the retention passes", func(k *kernelProtocol) { k.ageAfterRead = true }, changedWithout},
		{"the queue is cleared without Verify", "move and the queue is cleared", func(k *kernelProtocol) { k.verify = false }, leftPending},
		{"rows that are only read are not marked", "two that read each other", func(k *kernelProtocol) {
			k.users = [][]kernelAction{{signsOff(0, 0, 1, 1, true, 1, 2)}, {signsOff(1, 1, 0, 0, true, 3, 4)}}
		}, inconsistent},
		{"a reader trusts the old row", "reader of a row", func(k *kernelProtocol) { k.reader.trustsOld = true }, neverTrue},
		{"a reader trusts the image", "reader of a row", func(k *kernelProtocol) { k.reader.trustsPending = true }, neverTrue},
		{"a reader takes the old row if the image is gone", "reader of a row", func(k *kernelProtocol) { k.reader.oldAfterImage = true }, neverTrue},
		{"a reader of a page does not read it again", "reader of a page", func(k *kernelProtocol) { k.reader.pageOnce = true }, neverTrue},
		{"a reader of a page and of a row that is not moved does not read it again", "reader of a page with a row that is not moved",
			func(k *kernelProtocol) { k.reader.pageOnce = true }, neverTrue},
		{"a reader trusts that an old commit record is absent", "move while the retention passes",
			func(k *kernelProtocol) { k.reader.trustsAbsent = true }, neverTrue},
		{"a look-up does not read the pointer again", "look-up and a move", func(k *kernelProtocol) { k.reader.lookUpOnce = true }, neverTrue},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, w := range kernelWorkloads {
				if w.name == m.workload {
					k := w.k
					m.change(&k)
					expectFault(t, k.model().Explore(), m.want)
					return
				}
			}
			t.Fatalf("no workload %q", m.workload)
		})
	}
}
