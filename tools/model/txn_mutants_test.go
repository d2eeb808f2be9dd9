package model

import "testing"

// TestTxnMutants omits one part of the protocol at a time and expects the fault that the part prevents.
func TestTxnMutants(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name, workload string
		change         func(p *txnProtocol)
		want           string
	}{
		{"a row that was only read is not pinned", "each writes its row if both are as before",
			func(p *txnProtocol) { p.orders, p.noPin = true, true }, noSerialOrder},
		{"a row that was only read is compared when its partition is prepared, and not marked", "each writes its row if both are as before",
			func(p *txnProtocol) { p.orders, p.pinUnmarked = true, true }, noSerialOrder},
		{"a row that was only read gets another ETag and no mark", "a limit, its writer, and who looks at both",
			func(p *txnProtocol) { p.pinTouches = true }, noSerialOrder},
		{"a row that was only read in the home is not pinned by the commit", "rows of the home",
			func(p *txnProtocol) { p.orders, p.noHomePin = true, true }, noSerialOrder},
		{"an absent row of a participant is not reserved", "each inserts its row if the other is absent",
			func(p *txnProtocol) { p.orders, p.noReserve = true, true }, noSerialOrder},
		{"an absent row of the home is not reserved", "each inserts its row if the other of the partition is absent",
			func(p *txnProtocol) { p.orders, p.noHomeReserve = true, true }, noSerialOrder},
		{"an absent row of the home is read again instead of a preparation", "each inserts its row if the other of the partition is absent",
			func(p *txnProtocol) { p.orders, p.homeReadAgain = true, true }, noSerialOrder},
		{"the home that is prepared is not ended", "each inserts its row if the other of the partition is absent",
			func(p *txnProtocol) { p.homeUnnamed = true }, leftPending},
		{"a commit that ignores the abort record", "opposite transfers", func(p *txnProtocol) { p.noFence = true }, bothOutcomes},
		{"who rolls back inserts no abort record", "opposite transfers", func(p *txnProtocol) { p.resolveUnfenced = true }, changedWithout},
		{"a transaction rolls back after a refused commit without an abort record", "an insert if a row is absent, and writers that insert and delete in its place",
			func(p *txnProtocol) { p.refusedUnfenced = true }, wronglyAborted},
		{"the control row is deleted and not done", "a move, and writers that delete and insert", func(p *txnProtocol) { p.controlDeleted = true }, leftPending},
		{"the control row is deleted and not done, and what is left pending is ended by others", "a move, and writers that delete and insert",
			func(p *txnProtocol) { p.controlDeleted, p.pendingStays = true, true }, changedWithout},
		{"roll back leaves no control row where none was", "each inserts its row if the other is absent", func(p *txnProtocol) { p.noTombstone = true }, leftPending},
		{"a commit without a response is taken for a failure", "opposite transfers", func(p *txnProtocol) { p.inDoubtFailed = true }, changedWithout},
		{"a transaction takes the image of a mark", "opposite transfers", func(p *txnProtocol) { p.orders, p.trustsImage = true, true }, noSerialOrder},
		{"a transaction takes the old value of a mark, and its ETag", "opposite transfers", func(p *txnProtocol) { p.orders, p.trustsOld = true, true }, noSerialOrder},
		{"a pin is released without the commit record", "a limit, its writer, and who looks at both", func(p *txnProtocol) { p.releasesPins = true }, noSerialOrder},
		{"a pin is released without the commit record, and nobody looks", "a limit in a third partition and its writer",
			func(p *txnProtocol) { p.releasesPins = true }, notTrueThen},
		{"a transaction waits for who has marked a row", "opposite transfers", func(p *txnProtocol) { p.waits = true }, cannotEndAlone},
		{"a writer ignores marks", "a transfer and two writers", func(p *txnProtocol) { p.ignoresMarks = true }, lostUpdate},
		{"the commit reserves an absent row without a control row", "an absent row of the home in the commit", func(p *txnProtocol) { p.noControl = true }, cannotEnd},
		{"who only reads two partitions pins nothing", "one writes two rows, one only reads them",
			func(p *txnProtocol) { p.orders, p.readOnlyPinsNothing = true, true }, noSerialOrder},
		{"who only reads the absence of rows in two partitions reserves nothing", "one inserts two rows, one only reads that they are absent",
			func(p *txnProtocol) { p.orders, p.readOnlyPinsNothing = true, true }, noSerialOrder},
		{"who only reads two rows of a partition one by one pins nothing", "one writes two rows of a partition, one only reads them one by one",
			func(p *txnProtocol) { p.orders, p.readsOneByOne = true, true }, noSerialOrder},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, w := range txnWorkloads {
				if w.name == m.workload {
					p := w.p
					m.change(&p)
					expectFault(t, p.model().Explore(), m.want)
					return
				}
			}
			t.Fatalf("no workload %q", m.workload)
		})
	}
}
