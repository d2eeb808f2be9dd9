package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/internal/mutants"
)

// TestMutants: a bug in any of the things that these protocols rest on is found.
func TestIndex(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: each bug is compiled")
	}
	some := []string{"-schedules=400"}
	mutants.Run(t, "./index", []mutants.Mutant{
		{Name: "old rows stay", File: "index/copies.go",
			Old: "		if !slices.Contains(want, rk) {\n", New: "		if false {\n", Test: "TestWriteRequests"},
		{Name: "full copies are not refreshed", File: "index/copies.go",
			Old: "		return row, false, err // with the name of the write\n", New: "		return row, true, err\n", Test: "TestWriteRequests"},
		{Name: "projections are not refreshed", File: "index/copies.go",
			Old: "old.Keep(m.only...).Same(row), err", New: "true, err", Test: "TestSchedules/copies", Args: some},
		{Name: "unique values are taken twice", File: "index/copies.go",
			Old: "		taken = ErrTaken\n", New: "		taken = nil\n", Test: "TestWriteRequests"},
		{Name: "what entities remember is not used", File: "index/copies.go",
			Old: "	had, formWas := remembered(c.Remembered())\n", New: "	had, formWas := remembered(nil)\n	if c.Old != nil {\n		had, _ = m.rows(c.Old, c.Key)\n	}\n", Test: "TestNewKeyFunction"},
		{Name: "look-ups do not look at what they have found", File: "index/read.go",
			Old: "	if !ix.stands(&e.Value, e.Key, row) {\n", New: "	if false {\n", Test: "TestNewKeyFunction|TestSchedules/copies", Args: some},
		{Name: "a copy is written back whatever the entity is by now", File: "table/maintain.go",
			Old: "is != was || !f.row.Bare().Same(op.copied)", New: "false && is != was", Test: "TestCopiesAreEntities"},
		{Name: "a row of its own counts as taken", File: "table/commit.go",
			Old: "	case f.row == nil || sameOwner(f.row, d.after):\n", New: "	case f.row == nil:\n", Test: "TestVerify$"},
		{Name: "shared rows are written past their ETag", File: "table/plan.go",
			Old: "				match = d.read.row.ETag\n", New: "				match = azcore.ETagAny\n", Test: "TestSchedules/shared", Args: some},
		{Name: "an extreme that leaves is not looked for", File: "index/total.go",
			Old: "		return s.least == s.most || *less != s.least && *less != s.most\n", New: "		return true\n", Test: "TestSharedRequests"},
		{Name: "what is counted anew is not what the transaction leaves", File: "table/scan.go",
			Old: "			if planned || rk == p.key.RowKey() ||", New: "			if planned && false || rk == p.key.RowKey() ||", Test: "TestSchedules/shared|TestSharedRequests", Args: []string{"-schedules=2000"}},
		{Name: "details are taken from others", File: "index/denormalize.go",
			Old: "	case from != nil && owner != \"\" && owner != entity.RowKey():\n", New: "	case from != nil && owner == \"nobody\":\n", Test: "TestDetails"},
		{Name: "Verify trusts what it has seen at two times", File: "index/judge.go",
			Old: "	case !unchanged(s.stored, again):\n", New: "	case false && !unchanged(s.stored, again):\n", Test: "TestReportSchedules/copies", Args: []string{"-schedules=8000"}},
		{Name: "Verify trusts a total that others change", File: "index/recount.go",
			Old: "			case !unchanged(before[rk], is):\n", New: "			case false && !unchanged(before[rk], is):\n", Test: "TestReportSchedules/shared", Args: []string{"-schedules=8000"}},
		{Name: "Verify takes what comes and goes for what is not there", File: "index/judge.go",
			Old: "	case s.stored != nil || entity == \"\":\n", New: "	case true:\n", Test: "TestVerifyComesAndGoes|TestReportSchedules/copies", Args: []string{"-schedules=8000"}},
		{Name: "Verify makes groups up", File: "index/recount.go",
			Old: "				if !missing {\n", New: "				if !missing && e == nil {\n", Test: "TestVerifyMakesNothingUp"},
		{Name: "Verify repairs past the row's ETag", File: "index/judge.go",
			Old: "		return rows.Delete(ctx, e)\n", New: "		return rows.DeleteAny(ctx, e.Key)\n", Test: "TestReleaseRace"},
	})
}
