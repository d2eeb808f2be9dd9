package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestRanges plants bugs in ranges of partitions, and in what works on all that a query finds.
func TestRanges(t *testing.T) {
	mutants.Run(t, "./keys", []mutants.Mutant{
		{Name: "the key itself is behind it", File: "keys/range.go",
			Old: "span{from: s + firstUnit, set: true}", New: "span{from: s, set: true}", Test: "TestIntersectAll"},
		{Name: "an intersection has the greater end", File: "keys/range.go",
			Old: "(both.to == \"\" || n < 0 || n == 0 && !other.closed)", New: "(both.to == \"\" || n > 0 || n == 0 && !other.closed)", Test: "TestIntersectAll"},
		{Name: "an intersection has an end that one range leaves out", File: "keys/range.go",
			Old: "n < 0 || n == 0 && !other.closed)", New: "n < 0)", Test: "TestIntersectAll"},
		{Name: "an intersection of nothing is not empty", File: "keys/range.go",
			Old: "		both.to, both.closed = both.from, false\n", New: "", Test: "TestIntersectAll"},
		{Name: "an intersection begins among the library's keys", File: "keys/range.go",
			Old: "		both.from = reserved.FirstAbove\n", New: "", Test: "TestIntersectAll"},
	})
	mutants.Run(t, "./integration", []mutants.Mutant{
		{Name: "a query reads other partitions", File: "internal/query/query.go",
			Old: "f.Keys(edm.PartitionKey, BoundsOf(q.Partitions))", New: "f.Keys(edm.PartitionKey, BoundsOf(EveryPartition))", Test: "TestBehaviour/storagetest/ranges_of_partitions"},
		{Name: "a query with a partition and a range takes the range", File: "internal/query/query.go",
			Old: "	if q.Partition.IsSet() {\n		return &errs.ValueError", New: "	if false {\n		return &errs.ValueError", Test: "TestBehaviour/storagetest/ranges_of_partitions"},
	})
	mutants.Run(t, "./index", []mutants.Mutant{
		{Name: "a run over a range reads all partitions", File: "verify/verify.go",
			Old: "		in = r.opt.Partitions\n", New: "", Test: "TestVerifyElsewhereRange"},
		{Name: "a run over a range does not read the rows", File: "verify/elsewhere.go",
			Old: "	if r.whole() || r.opt.RecordsOnly {", New: "	if true {", Test: "TestVerifyElsewhereRange"},
		{Name: "a run of the records compares rows", File: "verify/elsewhere.go",
			Old: "			case r.opt.RecordsOnly:\n", New: "", Test: "TestVerifyElsewhereRange"},
		{Name: "the sieve leaves out the content", File: "verify/sieve.go",
			Old: "	return maphash.Comparable(s.seed, p)\n", New: "	p.digest = 0\n	return maphash.Comparable(s.seed, p)\n", Test: "TestVerify$|TestSieve"},
		{Name: "a sound table is read again", File: "verify/partition_entities.go",
			Old: "p.sieve.addStored(pair{i, row, entity, digest})", New: "p.sieve.addStored(pair{i, row, entity, 0})", Test: "TestSieve"},
		{Name: "a group of the sieve has its first bucket alone", File: "verify/sieve.go",
			Old: "		g.to = b\n", New: "		g.to = g.from\n", Test: "TestSieve"},
		{Name: "the sieve does not see a state that is damaged", File: "verify/partition_entities.go",
			Old: "		if damaged || len(miscounted) > 0 {", New: "		if len(miscounted) > 0 {", Test: "TestEntityMarkedAsCopy"},
		{Name: "the sieve does not see a wrong contribution", File: "verify/partition_entities.go",
			Old: "		if damaged || len(miscounted) > 0 {", New: "		if damaged {", Test: "TestSieveOfContributions"},
		{Name: "the sieve does not see a row that is not recorded", File: "verify/partition_entities.go",
			Old: "		if !slices.Contains(recorded, row) {\n			p.sieve.recheck(rk)", New: "		if false {\n			p.sieve.recheck(rk)", Test: "TestVerify$|TestVerifyDamage"},
		{Name: "rows of no entity are lost in the sieve", File: "verify/partition_entities.go",
			Old: "case p.sieve != nil && entity != derived.NoEntity:", New: "case p.sieve != nil:", Test: "TestVerifyDamage|TestSieve"},
		{Name: "the second comparison takes each row of no entity twice", File: "verify/partition.go",
			Old: "		maps.DeleteFunc(s.digests, func(r rowEntity, _ uint64) bool { return r.entity == derived.NoEntity })\n", New: "", Test: "TestSieve"},
		{Name: "the second comparison counts again", File: "verify/partition.go",
			Old: "	if p.again == nil {\n		p.count(name, n)\n	}", New: "	p.count(name, n)", Test: "TestSieve"},
		{Name: "the sieve of rows elsewhere is not read again", File: "verify/elsewhere.go",
			Old: "for _, g := range r.sieve.groups(r.mostRows) {", New: "for _, g := range r.sieve.groups(r.mostRows)[:0] {", Test: "TestVerifyElsewhereDamage"},
		{Name: "the second comparison of rows elsewhere reports what the first has", File: "verify/elsewhere.go",
			Old: "	if r.again == nil { // otherwise they are confirmed already", New: "	if true {", Test: "TestSieveElsewhere"},
		{Name: "an entity that is refused is not filled", File: "verify/elsewhere_repair.go",
			Old: "			r.confirm(ctx, tabledoor.KeyOf(f.entity), f.rows, true)\n			continue\n", New: "			continue\n", Test: "TestElsewhere|TestVerifyElsewhere"},
		{Name: "the last entities are not filled", File: "verify/elsewhere.go",
			Old: "	if err := r.writeFills(ctx); err != nil {\n		return err\n	}\n", New: "", Test: "TestVerifyElsewhereFill"},
	})
	mutants.Run(t, "./internal/reconcile", []mutants.Mutant{
		{Name: "a fill takes a row that exists for filled", File: "internal/reconcile/fill.go",
			Old: "	if err == nil {\n		return nil\n	}\n	if err = Reconcile", New: "	if err == nil || isConflict(err) {\n		return nil\n	}\n	if err = Reconcile", Test: "TestFill"},
		{Name: "a row that can never be stored is not reported", File: "internal/reconcile/fill.go",
			Old: "		f.failed(of.entity, err)\n", New: "		_ = f.failed\n", Test: "TestFillNever"},
		{Name: "a fill does not check its age", File: "internal/reconcile/fill.go",
			Old: "if door.Table(f.source).Options.Now().Round(0).Sub(f.began.Round(0)) <= mostAge {", New: "if true {", Test: "TestFill"},
		{Name: "rows beyond the last page are taken to be absent", File: "internal/reconcile/fill.go",
			Old: "k.PartitionKey() == partition.String() && keys.Compare(k.RowKey(), seen) < 0", New: "seen != \"\"", Test: "TestReadTogether"},
		{Name: "a fill takes a deleted entity for one that is there", File: "internal/reconcile/fill.go",
			Old: "	return f.writeAll(ctx)\n", New: "	for _, k := range entities {\n		if f.entities[k] == nil {\n			return nil\n		}\n	}\n	return f.writeAll(ctx)\n", Test: "TestFill"},
	})
	mutants.Run(t, "./archive", []mutants.Mutant{
		{Name: "entities are deleted though some are not stored", File: "archive/all.go",
			Old: " || m.putAll(ctx, next) != nil {", New: " || m.putAll(ctx, next) == nil && false {", Test: "TestEveryFault/.*together"},
		{Name: "another incarnation is moved", File: "archive/all.go",
			Old: "row == nil || row.Incarnation() != id.Incarnation {", New: "row == nil {", Test: "TestArchiveAllInsertedAgain"},
		{Name: "a move that is stored is not named", File: "archive/all.go",
			Old: "Moves: []string{record.OperationID}, Time", New: "Time", Test: "TestArchiveAll|TestEveryFault/.*together"},
		{Name: "a changed entity is not moved", File: "archive/all.go",
			Old: "				lost, changed = true, append(changed, tabledoor.KeyOf(all[i]))\n", New: "				lost = true\n", Test: "TestArchiveAllChanged"},
		{Name: "a changed entity is moved though the query does not find it any more", File: "archive/all.go",
			Old: "		q.Skip = func(_ keys.Key", New: "		q.Where = query.Cond{}\n		q.Skip = func(_ keys.Key", Test: "TestArchiveAllChanged"},
		{Name: "the token is ahead of the moves", File: "archive/all.go",
			Old: "		a.report.Rows += len(page)\n", New: "		a.report.Rows += len(page)\n		if a.pass.Progress != nil {\n			a.report.Token = token\n			a.pass.Progress(a.report)\n		}\n", Test: "TestArchiveAllInterrupted"},
	})
	mutants.Run(t, ".", []mutants.Mutant{
		{Name: "a fill of a range makes the definition readable", File: "fill.go",
			Old: "	if f.opt.DryRun || f.opt.Partitions.IsSet() {", New: "	if f.opt.DryRun {", Test: "TestFillRanges"},
		{Name: "a fill that is resumed in its second pass begins with the first", File: "fill.go",
			Old: "	if resumed && !inRecords {", New: "	if resumed && !inRecords && len(token) > 1000 {", Test: "TestFillToken"},
		{Name: "a fill does not begin with what is elsewhere", File: "fill.go",
			Old: "	} else if len(far) > 0 && (!f.opt.DryRun || o.Partitions.IsSet()) {", New: "	} else if false {", Test: "TestFillRanges"},
	})
	mutants.Run(t, "./largeentity", []mutants.Mutant{
		{Name: "a sweep of a range deletes other blobs", File: "largeentity/sweep.go",
			Old: " && !w.opt.Partitions.Contains(b.partition) {", New: " && false {", Test: "TestSweepRange"},
	})
	mutants.Run(t, "./largeentity/series", []mutants.Mutant{
		{Name: "a prune takes all partitions", File: "largeentity/series/write.go",
			Old: "q.Partition, q.Partitions, q.TableScan = keys.PartitionKey{}, in, !in.IsSet()", New: "q.Partition, q.TableScan = keys.PartitionKey{}, true", Test: "TestPrune"},
	})
}
