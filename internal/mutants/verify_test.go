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
		{Name: "trusts what it has seen at two times", File: "index/judge.go",
			Old: "	case !unchanged(s.stored, again):\n", New: "	case false && !unchanged(s.stored, again):\n", Test: "TestReportSchedules/copies", Args: many},
		{Name: "trusts a total that others change", File: "index/recount.go",
			Old: "			if !unchanged(before[rk], is) {\n", New: "			if false && before != nil {\n", Test: "TestReportSchedules/shared", Args: many},
		{Name: "takes what comes and goes for what is not there", File: "index/judge.go",
			Old: "	case s.stored != nil || entity == nobody:\n", New: "	case true:\n", Test: "TestVerifyComesAndGoes|TestReportSchedules/copies", Args: many},
		{Name: "makes groups up", File: "index/recount.go",
			Old: "				if !missing {\n", New: "				if false && !missing {\n", Test: "TestVerifyMakesNothingUp"},
		{Name: "repairs past the row's ETag", File: "index/judge.go",
			Old: "		return rows.Delete(ctx, e)\n", New: "		return rows.DeleteAny(ctx, e.Key)\n", Test: "TestReleaseRace"},
		{Name: "takes a unique row that is another's", File: "index/copies.go",
			Old: "	case isCopy && owner != want:\n", New: "	case isCopy && owner == want && false:\n", Test: "TestStolen"},
		{Name: "forgets whom others change while it writes", File: "index/suspects.go",
			Old: "				in.suspect(n.e.Key.RowKey(), claim{j, f.Row.RowKey()})\n", New: "				_ = j\n", Test: "TestRacedBackfill"},
		{Name: "goes on behind what is not done", File: "index/verify.go",
			Old: "			for done[s] = true; len(underway) > 0 && done[underway[0]]; underway = underway[1:] {\n", New: "			for done[s] = true; len(underway) > 0; underway = underway[1:] {\n", Test: "TestGoesOnBehindWhatIsDone"},
		{Name: "a conflict of details keeps the rest from being repaired", File: "index/trial.go",
			Old: "				if _, away := d.(elsewhere); !away {\n", New: "				if true {\n", Test: "TestConflictBeside"},
		{Name: "does not pay for what it writes together", File: "index/suspects.go",
			Old: "		if err = in.pace(ctx, rows); err != nil {\n", New: "		if err = in.pace(ctx, 0); err != nil {\n", Test: "TestPaceOfRepairs"},
		{Name: "counts each group by itself", File: "index/recount.go",
			Old: "	_, err := in.table.Untyped(false).InsertAt(ctx, group, d.nobody(group))\n", New: "	_, err := in.table.Untyped(false).InsertAt(ctx, group, d.nobody(group))\n	for range in.paced(ctx, in.table.Range()) {\n	}\n", Test: "TestRepairsAreLinear"},
		{Name: "frees a row that is still remembered", File: "index/judge.go",
			Old: "			err = in.yield(ctx, d, s.entity)\n", New: "			err = in.release(ctx, d, is, other)\n", Test: "TestYielded"},
		{Name: "believes what others have written into memories", File: "index/copies.go",
			Old: "	if looks || unseen || doubtful || !m.All().Contains(rk) {\n", New: "	if unseen && doubtful && false {\n", Test: "TestRememberedOfOthers"},
		{Name: "drops what it could not tell", File: "index/trial.go",
			Old: "v.unseen || !seen", New: "v.unseen && !seen", Test: "TestNothingIsDropped"},
		{Name: "takes entities for copies", File: "index/suspects.go",
			Old: "	if _, isCopy := row.Primary(); isCopy {\n", New: "	if _, isCopy := row.Primary(); isCopy && false {\n", Test: "TestTakenForCopies|TestVerifyAnything"},
		{Name: "what is reassigned is not confirmed", File: "index/judge.go",
			Old: "		s, err := in.see(ctx, other, []claim{c})\n", New: "		s, err := in.see(ctx, other, []claim{c})\n		if err == errBusy {\n			err = nil\n		}\n", Test: "TestReassignedIsConfirmed"},
		{Name: "types are no part of what a row holds", File: "index/snapshot.go",
			Old: "name, row.Type(name), value)", New: "name, \"\", value)", Test: "TestTypesOfCopies"},
		{Name: "takes copies of another type", File: "index/copies.go",
			Old: "	return isCopy && m.table.Mine(row)\n", New: "	return isCopy\n", Test: "TestTwoTypesOneName|TestForeignAnything"},
		{Name: "takes rows without a mark", File: "index/own.go",
			Old: "return mark == o.mark ||", New: "return mark == \"\" || mark == o.mark ||", Test: "TestForeignAnything|TestSummaryOverEntities"},
		{Name: "puts back what others have put in its place", File: "index/trial.go",
			Old: "				r.foreign[c.row] = s.rows[i] != nil &&", New: "				r.foreign[c.row] = false &&", Test: "TestVerifyBeside"},
		{Name: "an entity that remembers nothing is counted again", File: "index/suspects.go",
			Old: "		wrong, err := in.precount(ctx, sum)\n", New: "		_ = sum\n		wrong, err := false, error(nil)\n", Test: "TestStoredBefore|TestVerify"},
		{Name: "a correct summary is stale", File: "index/counting.go",
			Old: "		if !remembered {\n", New: "		if seen == nil && !remembered {\n", Test: "TestVerifyCountsReplaced"},
	})
}
