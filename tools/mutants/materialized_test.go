package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestMaterialized: the tests of package materialized find each planted bug.
func TestMaterialized(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./materialized", []mutants.Mutant{
		{Name: "the note is written unconditionally", File: "materialized/target.go",
			Old: "		op = rows.ReplaceOp(e)\n", New: "		op = rows.UpsertOp(row, table.ReplaceExisting)\n", Test: "TestSlowWorker"},
		{Name: "a tombstone is a deletion", File: "materialized/target.go",
			Old: "	_, err = table.Transact(ctx, append([]table.Op{op}, ops...)...)\n", New: "	if t.stored != nil && n.gone {\n		op = rows.DeleteAnyOp(row.Key)\n	}\n	_, err = table.Transact(ctx, append([]table.Op{op}, ops...)...)\n", Test: "TestSlowWorker"},
		{Name: "an entity that is not in the view leaves no tombstone", File: "materialized/target.go",
			Old: "	if t.stored == nil {\n		return t.write(", New: "	if t.stored == nil {\n		if want.value == nil {\n			return nil\n		}\n		return t.write(", Test: "TestSlowWorker"},
		{Name: "the derived entity is written behind the note", File: "materialized/target.go",
			Old: "	err := t.store(ctx, n, ops...)\n", New: "	err := t.store(ctx, n)\n	if err == nil && len(ops) > 0 {\n		_, err = table.Transact(ctx, ops...)\n	}\n", Test: "TestEveryFault/leaves_and_comes_back", Args: []string{"-test.short", "-faultsample=1"}},
		{Name: "a note that seems right is not written", File: "materialized/target.go",
			Old: "	case was.gone:\n", New: "	case was.gone && want.value == nil:\n		return nil\n	case was.gone:\n", Test: "TestSlowWorker"},
		{Name: "a derived entity of another entity is overwritten", File: "materialized/target.go",
			Old: "	} else if taken {\n", New: "	} else if taken && false {\n", Test: "TestTaken"},
		{Name: "an entity deletes the derived entity that another one has taken over", File: "materialized/target.go",
			Old: "		return t.store(ctx, was) // ", New: "		return t.write(ctx, now, nil, true) // ", Test: "TestHandover"},
		{Name: "a view without the maintainers of the stored entity writes it", File: "materialized/target.go",
			Old: "	case missing != \"\":\n", New: "	case missing == \"x\":\n", Test: "TestForeignNote"},
		{Name: "a worker of another release trusts its own function", File: "materialized/target.go",
			Old: "		has = is\n", New: "		has = d.key\n", Test: "TestChangedKey"},
		{Name: "a change of the content is no change", File: "materialized/view.go",
			Old: "	if had == want.key && digest == want.digest {\n", New: "	if had == want.key && len(digest) == len(want.digest) {\n", Test: "TestView"},
		{Name: "an entity from before the view leaves its derived entity", File: "materialized/view.go",
			Old: "			had = was.key\n", New: "			had, _ = was.key, p\n			had = keys.Key{}\n", Test: "TestFill"},
		{Name: "Verify takes a late worker for a fault", File: "materialized/compare.go",
			Old: "	case pending:\n", New: "	case pending && false:\n", Test: "TestPending"},
		{Name: "Verify waits for a notification that is lost", File: "materialized/compare.go",
			Old: "		case !effect.Overdue:\n", New: "		default:\n", Test: "TestPending"},
		{Name: "Verify trusts a list of a part of the view", File: "materialized/compare.go",
			Old: "		return table.ErrRanged\n", New: "		return nil\n", Test: "TestRanged"},
	})
	mutants.Run(t, "./internal/reconcile", []mutants.Mutant{
		{Name: "a suspended worker writes what it read a day ago", File: "internal/reconcile/reconcile.go",
			Old: "				return errLate\n", New: "				_ = errLate\n", Test: "TestSuspended"},
	})
}
