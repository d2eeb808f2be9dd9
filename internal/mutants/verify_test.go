package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/internal/mutants"
)

// TestVerify: a bug in what Verify rests on is found.
func TestVerify(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: takes a minute")
	}
	many := []string{"-schedules=8000"}
	mutants.Run(t, "./index", []mutants.Mutant{
		{Name: "trusts what it has seen at two times", File: "index/verify/read.go",
			Old: "	case !unchanged(s.stored, again):\n", New: "	case false && !unchanged(s.stored, again):\n", Test: "TestReportSchedules/copies", Args: many},
		{Name: "trusts a total that others change", File: "index/verify/groups.go",
			Old: "	case !g.unchanged(rk):\n		return known, true, nil\n", New: "	case false && !g.unchanged(rk):\n		return known, true, nil\n", Test: "TestReportSchedules/shared", Args: many},
		{Name: "takes what comes and goes for what is not there", File: "index/verify/read.go",
			Old: "	case s.stored != nil || entity == derived.NoEntity:\n", New: "	case true:\n", Test: "TestChangingEntity|TestReportSchedules/copies", Args: many},
		{Name: "makes groups up", File: "index/verify/groups.go",
			Old: "		if err != nil || !missing {\n", New: "		if err != nil || false && !missing {\n", Test: "TestNoInventedGroup"},
		{Name: "repairs past the row's ETag", File: "index/verify/write.go",
			Old: "		return rows.Delete(ctx, e)\n", New: "		return rows.DeleteAny(ctx, e.Key)\n", Test: "TestReleaseRace"},
		{Name: "takes a unique row that is another's", File: "index/index_maintainer.go",
			Old: "	case isCopy && owner != want:\n", New: "	case isCopy && owner == want && false:\n", Test: "TestTakenDuringRepair"},
		{Name: "forgets whom others change while it writes", File: "index/verify/additions.go",
			Old: "				p.addCandidates(a.entity.Key.RowKey(), candidate{j, f.Row.RowKey()})\n", New: "				_ = j\n", Test: "TestConcurrentBackfill"},
		{Name: "goes on behind what is not done", File: "index/verify/recorder.go",
			Old: "	for r.finished[partitionKey] = true; len(r.pending) > 0 && r.finished[r.pending[0]]; r.pending = r.pending[1:] {\n", New: "	for r.finished[partitionKey] = true; len(r.pending) > 0; r.pending = r.pending[1:] {\n", Test: "TestTokenBehindFinished"},
		{Name: "a conflict of details keeps the rest from being repaired", File: "index/verify/confirm.go",
			Old: "		if _, is := d.(derived.Searched); !is {\n", New: "		if true {\n", Test: "TestConflictOfDetails"},
		{Name: "does not pay for what it writes together", File: "index/verify/additions.go",
			Old: "		if err = p.pace(ctx, rows); err != nil {\n", New: "		if err = p.pace(ctx, 0); err != nil {\n", Test: "TestPaceOfRepairs"},
		{Name: "counts each group by itself", File: "index/verify/groups.go",
			Old: "	_, err := table.RowsOf(p.table.Engine(), false).InsertAt(ctx, group, d.EmptyGroup(group))\n", New: "	_, err := table.RowsOf(p.table.Engine(), false).InsertAt(ctx, group, d.EmptyGroup(group))\n	for range p.scan(ctx, p.schema.Rows()) {\n	}\n", Test: "TestRepairsAreLinear"},
		{Name: "frees a row that is still remembered", File: "index/verify/confirm.go",
			Old: "		err = p.releaseRows(ctx, d, s.entity)\n", New: "		err = p.removeEntity(ctx, d, row, owner)\n", Test: "TestReleasedRow"},
		{Name: "believes what others have written into memories", File: "index/index_maintainer.go",
			Old: "	if ambiguous || unread || unproven || !m.All().Contains(rk) {\n", New: "	if unread && ambiguous && unproven && false {\n", Test: "TestForgedState"},
		{Name: "drops what it could not tell", File: "index/verify/confirm.go",
			Old: "k.status == unread && k.fault.Kind == 0", New: "k.status == unread && k.fault.Kind < 0", Test: "TestUnconfirmedIsCounted"},
		{Name: "takes entities for copies", File: "index/internal/derived/row.go",
			Old: "	if _, isCopy := row.Engine().Primary(); isCopy {\n", New: "	if _, isCopy := row.Engine().Primary(); isCopy && false {\n", Test: "TestEntityMarkedAsCopy|TestVerifyAnything"},
		{Name: "what is reassigned is not confirmed", File: "index/verify/confirm.go",
			Old: "	s, err := p.readConsistently(ctx, owner, []candidate{of})\n", New: "	s, err := p.readConsistently(ctx, owner, []candidate{of})\n	if err == errChanging {\n		err = nil\n	}\n", Test: "TestReassignedIsConfirmed"},
		{Name: "types are no part of what a row holds", File: "index/verify/snapshot.go",
			Old: "name, row.Type(name), value)", New: "name, \"\", value)", Test: "TestTypesOfCopies"},
		{Name: "takes copies of another type", File: "index/index_maintainer.go",
			Old: "	return isCopy && m.schema.Mine(row.Engine())\n", New: "	return isCopy\n", Test: "TestTwoTypesOneName|TestForeignAnything"},
		{Name: "takes rows without a mark", File: "index/tag.go",
			Old: "return text == g.text ||", New: "return text == \"\" || text == g.text ||", Test: "TestForeignAnything|TestSummaryOverEntities"},
		{Name: "puts back what others have put in its place", File: "index/verify/confirm.go",
			Old: "			mode.Foreign[of.row] = s.rows[i] != nil &&", New: "			mode.Foreign[of.row] = false &&", Test: "TestRepairOfOneDefinition"},
		{Name: "an entity that remembers nothing is counted again", File: "index/verify/verify_partition.go",
			Old: "			open, err := p.addUncounted(ctx, sum)\n", New: "			_ = sum\n			open, err := false, error(nil)\n", Test: "TestStoredBefore|TestVerify"},
		{Name: "a correct summary is stale", File: "index/summary_maintainer.go",
			Old: "		if !recorded {\n", New: "		if seen == nil && !recorded {\n", Test: "TestVerifyCountsReplaced"},
	})
}
