package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestElsewhere: the tests of rows in other partitions and tables find each planted bug.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./internal/reconcile", []mutants.Mutant{
		{Name: "the targets are read after the entity", File: "internal/reconcile/reconcile.go",
			Old: "		if err := each(ctx, targets, Target.Read); err != nil {\n			return false, err\n		}\n		row, err := tabledoor.GetRow(ctx, rows, entity)\n",
			New: "		row, err := tabledoor.GetRow(ctx, rows, entity)\n		if err := each(ctx, targets, Target.Read); err != nil {\n			return false, err\n		}\n", Test: "TestStalledWorker"},
		{Name: "a row that seems right is not written", File: "internal/reconcile/handler.go",
			Old: "	row.Key = r.Key\n	if r.stored != nil {\n", New: "	row.Key = r.Key\n	if r.stored != nil && (*stored.Row)(r.stored).Same((*stored.Row)(want)) {\n		return nil\n	}\n	if r.stored != nil {\n", Test: "TestStalledWorker"},
		{Name: "a row is written whatever its version", File: "internal/reconcile/handler.go",
			Old: "		etag = r.stored.ETag\n", New: "		etag = \"*\"\n", Test: "TestStalledWorker"},
		{Name: "an effect of an unknown definition counts as executed", File: "internal/reconcile/handler.go",
			Old: "	return unknown\n", New: "	_ = unknown\n	return nil\n", Test: "TestHostileEffects"},
		{Name: "an effect may name rows of the library as its entity", File: "internal/reconcile/handler.go",
			Old: "	if err == nil && strings.HasPrefix(entity.RowKey(), reserved.First) {\n", New: "	if err == nil && strings.HasPrefix(entity.RowKey(), \"~~~\"+reserved.First) {\n", Test: "TestHostileEffects"},
		{Name: "commit records are swept before the tombstones that they name", File: "internal/reconcile/handler.go",
			Old: "		case record.State != commit.Done:\n", New: "		case record.State != commit.Pending:\n", Test: "TestReconcile"},
	})
	mutants.Run(t, "./index", []mutants.Mutant{
		{Name: "a worker does not know the tables of unique values", File: "eventual/handler.go",
			Old: "m.Typed().(host.AlsoWriter); is {", New: "m.Typed().(host.AlsoWriter); is && i < 0 {", Test: "TestGlobalWorkers"},
		{Name: "a conflict ends the execution", File: "internal/reconcile/reconcile.go",
			Old: "		return conflict, err\n", New: "		return conflict && false, nil\n", Test: "TestElsewhereSchedules"},
		{Name: "an effect lacks the old rows", File: "index/elsewhere.go",
			Old: "		if !slices.Contains(want, k) {\n			changed = append(changed, k)\n", New: "		if !slices.Contains(want, k) && false {\n			changed = append(changed, k)\n", Test: "TestElsewhere$"},
		{Name: "a row with another content is not written", File: "index/elsewhere.go",
			Old: "			if !same || !slices", New: "			if same && false || !slices", Test: "TestElsewhere$"},
		{Name: "a change of no row has an effect", File: "index/elsewhere.go",
			Old: "	if len(changed) > 0 {\n", New: "	if len(changed) >= 0 {\n", Test: "TestElsewhereRequests"},
		{Name: "the second definition of a write has no effect", File: "internal/engine/plan.go",
			Old: "	p.effects[i].Payload = slices.Clone(join(p.effects[i].Payload))\n", New: "	_ = join(p.effects[i].Payload)\n", Test: "TestElsewhere$"},
		{Name: "the key function decides which rows an entity has", File: "index/elsewhere.go",
			Old: "!(*stored.Row)(e).StateCorrupt() {", New: "!(*stored.Row)(e).StateCorrupt() && false {", Test: "TestElsewhereReleases"},
		{Name: "an effect may name rows of other entities", File: "index/elsewhere.go",
			Old: "	if of != memberText(entity) || !f.hasOwnPartitions() {\n		return of == memberText(entity)\n", New: "	if !f.hasOwnPartitions() {\n		return of != \"\"\n", Test: "TestElsewhereHostileEffects"},
		{Name: "an effect may name rows outside of the definition's range", File: "index/elsewhere.go",
			Old: "!m.ranges[0].Contains(row.RowKey()) || ", New: "", Test: "TestElsewhereHostileEffects"},
		{Name: "a row of another program is replaced", File: "index/elsewhere.go",
			Old: "!isCopy || owner != entity {", New: "isCopy && owner != entity {", Test: "TestElsewhereForeignRow"},
		{Name: "a copy is of an entity in its own partition", File: "internal/stored/row.go",
			Old: "	return keys.Raw(cmp.Or(partition, r.Key.PartitionKey()), rowKey), true\n", New: "	return keys.Raw(cmp.Or(partition[:0], r.Key.PartitionKey()), rowKey), true\n", Test: "TestElsewhere$"},
		{Name: "a pointer finds an entity whose partition of rows has changed", File: "index/rows.go",
			Old: "err == nil && is == row {\n", New: "err == nil && is.RowKey() == row.RowKey() {\n", Test: "TestElsewhereVerifiedReads"},
		{Name: "a pending commit record does not count", File: "verify/elsewhere_repair.go",
			Old: "		is = true\n", New: "		is = false\n", Test: "TestVerifyElsewherePending"},
		{Name: "no notification is sent again", File: "verify/elsewhere_repair.go",
			Old: "!r.opt.DryRun && effect.Overdue {", New: "!r.opt.DryRun && effect.Overdue && false {", Test: "TestVerifyElsewherePending"},
		{Name: "a row of no entity is not found", File: "verify/elsewhere.go",
			Old: "			r.confirm(ctx, keyOf(entity), rows, false)\n", New: "			_, _ = rows, entity\n", Test: "TestVerifyElsewhereDamage"},
		{Name: "a row that should not exist is missing", File: "verify/elsewhere.go",
			Old: "		case wanted && !has:\n", New: "		case !has:\n", Test: "TestVerifyElsewhereChanged/a_row"},
		{Name: "maintainer state that a writer has mended is a fault", File: "verify/elsewhere.go",
			Old: "		if evident && wanted == recorded {\n", New: "		if false && evident && wanted == recorded {\n", Test: "TestVerifyElsewhereChanged/an_entity"},
		{Name: "the content of rows is not compared", File: "verify/elsewhere.go",
			Old: "case !exists || got != r.digest(", New: "case !exists || got == 1+r.digest(", Test: "TestVerifyElsewhereDamage"},
	})
}
