package model

import "testing"

func (p *reconcileProtocol) model(termination bool) Model[reconcileState] {
	start := reconcileState{primary: p.primary}
	for e, c := range p.primary {
		if c == none || p.fill != 0 {
			continue
		}
		row := group(c)
		if p.counts {
			row = uint8(e)
		}
		start.rows[row].kind = present
		start.rows[row].m[p.member(uint8(e))] = c
		if p.counts {
			start.sums[group(c)]++
		}
	}
	if p.fill != 0 {
		start.workers[filler] = reconcileWorker{pc: tReadRow, rows: 3, todo: 3}
		if p.fill == fillInserts {
			start.workers[filler].pc = tReadPrimary
		}
	}
	if p.damaged {
		start.rows[1] = targetRow{kind: present, m: [2]uint8{b1}}
	}
	return Model[reconcileState]{
		Start: start, Termination: termination,
		Next:  p.next,
		Check: p.check,
		Quiet: func(s reconcileState) bool {
			for i, w := range p.writers {
				if int(s.writers[i].at) < len(w) {
					return false
				}
			}
			return s.notifications == 0 && s.late.kind == reqNone && s.workers == [filler + 1]reconcileWorker{} && !s.sweep.reads
		},
		CheckQuiet: p.converged,
		Show:       func(s reconcileState) string { return s.String() },
	}
}

const (
	missingTarget  = "an entity is missing in its target row"
	strayTarget    = "a target row contains an entity that does not belong there"
	oldTarget      = "a target row contains an old content"
	wrongSum       = "a sum differs from the rows that it counts"
	committedTwice = "an operation was committed twice"
)

// check returns a fault that may not even be there for a moment.
func (p *reconcileProtocol) check(s reconcileState) string {
	if s.fault {
		return committedTwice
	}
	if !p.counts {
		return ""
	}
	var sums [2]uint8
	for _, r := range s.rows {
		if r.m[0] != none {
			sums[group(r.m[0])]++
		}
	}
	if sums != s.sums {
		return wrongSum
	}
	return ""
}

// converged returns the fault of a state in which all messages are executed.
func (p *reconcileProtocol) converged(s reconcileState) string {
	for _, rec := range s.records {
		if rec.kind == pending && !p.noRecord && !p.trustMessage { // which have no records
			return orphan
		}
	}
	for row, r := range s.rows {
		for e, c := range s.primary {
			if p.counts && e != row {
				continue
			}
			switch want, got := p.wanted(uint8(row), uint8(e), c), r.m[p.member(uint8(e))]; {
			case got == want:
			case want == none:
				return strayTarget
			case got == none:
				return missingTarget
			default:
				return oldTarget
			}
		}
	}
	return ""
}

// lines of scripts
func becomes(op, content uint8) contentChange { return contentChange{op: op, content: content} }
func inserts(op, content uint8) contentChange {
	return contentChange{op: op, content: content, create: true}
}
func deletes(op uint8) contentChange                     { return contentChange{op: op} }
func (c contentChange) withEntity(e uint8) contentChange { c.entity = e; return c }

var touches = contentChange{}

func writers(first []contentChange, second ...contentChange) [][]contentChange {
	return [][]contentChange{first, second}
}
func first(c ...contentChange) []contentChange { return c }

// reconcileWorkload is a start and the scripts of the writers.
type reconcileWorkload struct {
	name string
	p    reconcileProtocol
	size int
}

var reconcileWorkloads = []reconcileWorkload{
	{name: "two changes", p: reconcileProtocol{primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1)), becomes(2, a2))}},
	{name: "there and back", p: reconcileProtocol{primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1), becomes(2, a1)))}},
	{name: "there and back by two", p: reconcileProtocol{primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1)), becomes(2, a1), touches)}, size: long},
	{name: "change and delete", p: reconcileProtocol{primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1)), deletes(2))}},
	{name: "insert, delete", p: reconcileProtocol{writers: writers(first(inserts(1, a1)), deletes(2))}},
	{name: "delete, insert", p: reconcileProtocol{primary: [2]uint8{a1}, writers: writers(first(deletes(1)), inserts(2, a2))}},
	{name: "insert, delete, insert", p: reconcileProtocol{writers: writers(first(inserts(1, a1), inserts(3, b1)), deletes(2))}, size: long},
	{name: "three changes", p: reconcileProtocol{primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1), becomes(3, b2)), becomes(2, a2))}, size: huge},

	{name: "inline", p: reconcileProtocol{oneWorker: true, inline: true, primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1)), becomes(2, a2))}, size: long},
	{name: "inline, insert and delete", p: reconcileProtocol{oneWorker: true, inline: true, writers: writers(first(inserts(1, a1)), deletes(2))}},
	{name: "inline, there and back", p: reconcileProtocol{oneWorker: true, inline: true, primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1), becomes(2, a1)))}},

	{name: "inline, inserts", p: reconcileProtocol{oneWorker: true, inline: true, inserts: true, primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1)), becomes(2, a2))}, size: long},
	{name: "inline, inserts, insert and delete", p: reconcileProtocol{oneWorker: true, inline: true, inserts: true, writers: writers(first(inserts(1, a1)), deletes(2))}},
	{name: "inline, inserts, there and back", p: reconcileProtocol{oneWorker: true, inline: true, inserts: true, primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1), becomes(2, a1)))}},
	{name: "inline, inserts, retention", p: reconcileProtocol{oneWorker: true, inline: true, inserts: true, sweeps: true, writers: writers(first(inserts(1, a1)), deletes(2))}, size: long},

	{name: "counts", p: reconcileProtocol{counts: true, primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1)), becomes(2, a2))}},
	{name: "counts of two", p: reconcileProtocol{counts: true, primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1)), inserts(2, a1).withEntity(1))}},
	{name: "counts, insert and delete", p: reconcileProtocol{counts: true, writers: writers(first(inserts(1, a1)), deletes(2))}},
	{name: "counts, there and back", p: reconcileProtocol{counts: true, primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1), becomes(2, a1)))}},

	{name: "retention, there and back", p: reconcileProtocol{sweeps: true, primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1), becomes(2, a1)))}, size: huge},
	{name: "retention, insert and delete", p: reconcileProtocol{sweeps: true, writers: writers(first(inserts(1, a1)), deletes(2))}},
	{name: "retention, list", p: reconcileProtocol{sweeps: true, primary: [2]uint8{a1}, writers: writers(first(deletes(1)), inserts(2, a1).withEntity(1))}, size: long},

	{name: "fill and change", p: reconcileProtocol{oneWorker: true, fill: fillInserts, primary: [2]uint8{a1}, writers: writers(first(becomes(1, a2)), becomes(2, b1))}},
	{name: "fill and delete", p: reconcileProtocol{oneWorker: true, fill: fillInserts, primary: [2]uint8{a1}, writers: writers(first(deletes(1)), inserts(2, a2))}},
	{name: "fill, retention", p: reconcileProtocol{oneWorker: true, fill: fillInserts, sweeps: true, primary: [2]uint8{a1}, writers: writers(first(deletes(1)))}},
	{name: "reconciling fill and change", p: reconcileProtocol{oneWorker: true, fill: fillReconciles, primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1)), becomes(2, a2))}},
	{name: "reconciling fill and delete", p: reconcileProtocol{oneWorker: true, fill: fillReconciles, primary: [2]uint8{a1}, writers: writers(first(deletes(1)), inserts(2, a2))}},
	{name: "reconciling fill, inline", p: reconcileProtocol{oneWorker: true, fill: fillReconciles, inline: true, primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1)))}},
	{name: "reconciling fill of a list", p: reconcileProtocol{oneWorker: true, fill: fillReconciles, fillTwo: true, primary: [2]uint8{a1, a1}, writers: writers(first(becomes(1, b1)))}},
	{name: "reconciling fill of counts", p: reconcileProtocol{oneWorker: true, fill: fillReconciles, counts: true, primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1)), deletes(2))}},
	{name: "repair and change", p: reconcileProtocol{oneWorker: true, fill: fillReconciles, damaged: true, primary: [2]uint8{a1}, writers: writers(first(becomes(1, b2)), becomes(2, a2))}},
	{name: "repair and delete", p: reconcileProtocol{oneWorker: true, fill: fillReconciles, damaged: true, primary: [2]uint8{a1}, writers: writers(first(deletes(1)))}},
	{name: "repair, retention", p: reconcileProtocol{oneWorker: true, fill: fillReconciles, damaged: true, sweeps: true, primary: [2]uint8{a1}, writers: writers(first(becomes(1, b1)))}},
}

func (w reconcileWorkload) included() bool { return w.size < *models }

// TestReconcile explores the protocol.
func TestReconcile(t *testing.T) {
	t.Parallel()
	for _, w := range reconcileWorkloads {
		if !w.included() {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			expectSound(t, explore(w.p.model(w.size == 0)))
		})
	}
}

// TestReconcileMutants omits one part of the protocol at a time and expects the fault that the part prevents.
func TestReconcileMutants(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name     string
		omit     func(p *reconcileProtocol)
		workload string
		wrong    string
	}{
		{"write, then notify", func(p *reconcileProtocol) { p.writeFirst = true }, "two changes", orphan},
		{"a worker applies the change of the message", func(p *reconcileProtocol) { p.trustMessage = true }, "two changes", oldTarget},
		{"a worker reads no commit record", func(p *reconcileProtocol) { p.noRecord = true }, "two changes", oldTarget},
		{"message dropped without an abort record", func(p *reconcileProtocol) { p.dropWithoutAbort = true }, "two changes", orphan},
		{"the commit record is deleted at once", func(p *reconcileProtocol) { p.deletesRecords = true }, "insert, delete", committedTwice},
		{"the commit record is closed first", func(p *reconcileProtocol) { p.closeFirst = true }, "two changes", oldTarget},
		{"the commit record names only the new row", func(p *reconcileProtocol) { p.onlyNewRow = true }, "change and delete", strayTarget},
		{"the entity is read before the target rows", func(p *reconcileProtocol) { p.primaryFirst = true }, "two changes", strayTarget},
		{"the entity is read before the commit record", func(p *reconcileProtocol) { p.primaryBeforeRecord = true }, "two changes", oldTarget},
		{"a second attempt does not read the entity", func(p *reconcileProtocol) { p.retryKeepsPrimary = true }, "two changes", strayTarget},
		{"a row that seems right is not written", func(p *reconcileProtocol) { p.skipIfRight = true }, "there and back", missingTarget},
		{"a row that seems right is not written, two writers", func(p *reconcileProtocol) { p.skipIfRight = true }, "there and back by two", missingTarget},
		{"tombstone without CAS", func(p *reconcileProtocol) { p.blindTombstone = true }, "there and back", missingTarget},
		{"physical delete instead of a tombstone", func(p *reconcileProtocol) { p.physicalDelete = true }, "insert, delete", strayTarget},
		{"physical delete of a counted row", func(p *reconcileProtocol) { p.physicalDelete = true }, "counts, insert and delete", strayTarget},
		{"no tombstone without a row", func(p *reconcileProtocol) { p.noTombstoneIfAbsent = true }, "insert, delete", strayTarget},
		{"sums without CAS", func(p *reconcileProtocol) { p.blindSums = true }, "counts of two", wrongSum},
		{"sums in a second transaction", func(p *reconcileProtocol) { p.sumsAfter = true }, "counts", wrongSum},
		{"inline without reading the entity", func(p *reconcileProtocol) { p.inlineTrusts = true }, "inline, insert and delete", strayTarget},
		{"inline with a refused insert that is done", func(p *reconcileProtocol) { p.insertedOnce = true }, "inline, inserts, there and back", strayTarget},
		{"inline inserts, and physical deletes", func(p *reconcileProtocol) { p.physicalDelete = true }, "inline, inserts, insert and delete", strayTarget},
		{"inline inserts without a check of the age", func(p *reconcileProtocol) { p.noAgeCheck = true }, "inline, inserts, retention", strayTarget},
		{"a fill overwrites", func(p *reconcileProtocol) { p.fillUpserts = true }, "fill and change", oldTarget},
		{"a fill by Insert, and physical deletes", func(p *reconcileProtocol) { p.physicalDelete = true }, "fill and delete", strayTarget},
		{"a repair reads the entity before the rows", func(p *reconcileProtocol) { p.primaryFirst = true }, "repair and delete", missingTarget},
		{"a writer does not check its age", func(p *reconcileProtocol) { p.writesOld = true }, "retention, insert and delete", orphan},
		{"a worker does not check its age", func(p *reconcileProtocol) { p.noAgeCheck = true }, "retention, insert and delete", strayTarget},
		{"a fill does not check its age", func(p *reconcileProtocol) { p.noAgeCheck = true }, "fill, retention", strayTarget},
		{"young tombstones are swept", func(p *reconcileProtocol) { p.sweepsYoung = true }, "retention, insert and delete", strayTarget},
		{"tombstones are swept without CAS", func(p *reconcileProtocol) { p.sweepsBlind = true }, "repair, retention", missingTarget},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, w := range reconcileWorkloads {
				if w.name == m.workload {
					p := w.p
					m.omit(&p)
					expectFault(t, p.model(false).Explore(), m.wrong)
					return
				}
			}
			t.Fatalf("no workload %q", m.workload)
		})
	}
}
