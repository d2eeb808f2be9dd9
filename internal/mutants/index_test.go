package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/internal/mutants"
)

// TestIndex: a bug in any of the things that these protocols rest on is found.
func TestIndex(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: takes a minute")
	}
	some := []string{"-schedules=400"}
	mutants.Run(t, "./index", []mutants.Mutant{
		{Name: "old rows stay", File: "index/copies.go",
			Old: "		if !slices.Contains(want, rk) {\n			if err := m.giveUp", New: "		if false {\n			if err := m.giveUp", Test: "TestWriteRequests"},
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
			Old: "	case f.row == nil || sameOwner(f.row, d.after) || w.deletes(f.row):\n", New: "	case f.row == nil || w.deletes(f.row):\n", Test: "TestVerify$"},
		{Name: "shared rows are written past their ETag", File: "table/plan.go",
			Old: "		return true, d.read.row.ETag\n", New: "		return true, azcore.ETagAny\n", Test: "TestSchedules/shared", Args: some},
		{Name: "an extreme that leaves is not looked for", File: "index/total.go",
			Old: "	return !s.loose || loose\n", New: "	return true\n", Test: "TestSharedRequests"},
		{Name: "who else has an extreme is not counted", File: "index/total.go",
			Old: "		s.atLeast++\n", New: "", Test: "TestLooseMeasures"},
		{Name: "a total that cannot be is believed", File: "index/total.go",
			Old: "s.count < 1 || v < s.least || v > s.most", New: "s.count < 1", Test: "TestSummaryIsPutRight"},
		{Name: "NaN is another one each time", File: "internal/edm/decode.go",
			Old: "		return c.Name == d.Name\n", New: "		return false\n", Test: "TestNaN"},
		{Name: "a look-up takes ranges of others", File: "index/read.go",
			Old: "!within(q.Rows, ix.All())", New: "false", Test: "TestRangesOfOthers"},
		{Name: "pointers end at rows of others", File: "table/many.go",
			Old: " && !notMine(gerr) {", New: " {", Test: "TestRowsOfOthers"},
		{Name: "parts of a list behind a gap are lost", File: "index/list.go",
			Old: "rest == \"\" || err == nil && n > 1", New: "rest == \"\" || err == nil && n == 2", Test: "TestVerifyDamage|TestFullList"},
		{Name: "an ex-head takes the details of the head", File: "index/denormalize.go",
			Old: "owner != entity.RowKey() && (owner != nobody", New: "owner == nobody && (owner != nobody", Test: "TestConflictBeside"},
		{Name: "what is counted anew is not what the transaction leaves", File: "table/scan.go",
			Old: "			if planned || rk == p.key.RowKey() ||", New: "			if planned && false || rk == p.key.RowKey() ||", Test: "TestSchedules/shared|TestSharedRequests", Args: []string{"-schedules=2000"}},
		{Name: "details are taken from others", File: "index/denormalize.go",
			Old: "	case from != nil && owner != \"\" && owner != entity.RowKey():\n", New: "	case from != nil && owner == \"nobody\":\n", Test: "TestDetails"},
		{Name: "a cursor moves behind what failed", File: "index/follow.go",
			Old: "		if err == nil {\n			f.moved(f.place())\n", New: "		if true {\n			f.moved(f.place())\n", Test: "TestCursorOfPointers"},
		{Name: "operations are refused for others that are refused", File: "table/packing.go",
			Old: "		case w.some && i > 0:\n", New: "		case w.some && i > 0 && err == nil:\n", Test: "TestBulkTakenByRefused"},
	})
}
