package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestConditions: single conditions, bounds, clocks and second looks, each of which one test finds missing.
func TestConditions(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./commit", []mutants.Mutant{
		{Name: "another effect is completed", File: "internal/engine/plan.go",
			Old: "c.Effect, c.Effect+1), effects...)", New: "0, 1), effects...)", Test: "TestCompletingOneOfSeveral"},
		{Name: "a completed commit record has the ETag of another", File: "internal/engine/plan.go",
			Old: "etag = etags[len(etags)-1]", New: "etag = etags[0]", Test: "TestCompletingRemotes"},
	})
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "an effect in another partition is one of the home", File: "internal/engine/remote.go",
			Old: "e.Table, e.Partition = m.at.Table, m.at.Partition", New: "_ = m.at", Test: "TestRemoteEffect"},
		{Name: "a suspended writer prepares", File: "internal/engine/prepare.go",
			Old: "		if w.stale() {\n", New: "		if w.stale() && false {\n", Test: "TestMoveSuspended"},
		{Name: "a preparation that was rolled back counts as prepared", File: "internal/engine/prepare.go",
			Old: "err == nil && !p.over {", New: "err == nil && (!p.over || true) {", Test: "TestMoveRolledBackBefore"},
		{Name: "a writer's roll back does not exclude a late request", File: "internal/engine/remote.go",
			Old: "finisher{home: &home, exclude: true}", New: "finisher{home: &home}", Test: "TestMoveLatePreparation"},
		{Name: "a preparation is excluded although its write is committed", File: "internal/engine/resolve.go",
			Old: "err != nil || committed {\n		return outage(err), err\n	}\n	p := &preparation", New: "err != nil || committed && false {\n		return outage(err), err\n	}\n	p := &preparation", Test: "TestMoveExecutedAgain"},
		{Name: "the mark of another write is ended", File: "internal/engine/resolve.go",
			Old: "m.id != id { //", New: "m.id == \"\" { //", Test: "TestMoveBroughtBack"},
		{Name: "a row without the mark of the write is ended", File: "internal/engine/resolve.go",
			Old: "m.id != id { //", New: "m.id != id && false { //", Test: "TestMoveBroughtBack"},
		{Name: "a request that is sent again has the address of the small call", File: "internal/wire/probe.go",
			Old: "was == nil || raw.URL.Path != *was || raw.Method", New: "was == nil || raw.Method", Test: "TestTapSentAgainAsCopies"},
	})
	mutants.Run(t, "./index", []mutants.Mutant{
		{Name: "a PartitionKey is not escaped in a member", File: "index/elsewhere.go",
			Old: "return escapeMember.Replace(entity.PartitionKey()) + memberSeparator", New: "return entity.PartitionKey() + memberSeparator", Test: "TestElsewhereColons"},
	})
	mutants.Run(t, "./internal/reconcile", []mutants.Mutant{
		{Name: "a panic behind the commit reaches the writer", File: "internal/reconcile/reconcile.go",
			Old: "if recover() != nil {", New: "if done && recover() != nil {", Test: "TestInlinePanic"},
	})
	mutants.Run(t, "./materialized", []mutants.Mutant{
		{Name: "a tombstone of an hour is swept", File: "materialized/verify.go",
			Old: "Options.Now().Add(-commit.Retention - time.Hour)", New: "Options.Now().Add(-time.Hour)", Test: "TestDamage"},
		{Name: "a tombstone of the retention is swept", File: "materialized/verify.go",
			Old: "Options.Now().Add(-commit.Retention - time.Hour)", New: "Options.Now().Add(-commit.Retention)", Test: "TestDamage"},
	})
	mutants.Run(t, "./largeentity", []mutants.Mutant{
		{Name: "a refused last block is not noticed", File: "largeentity/upload.go",
			Old: "	if sending.Err() != nil {\n		return context.Cause(sending)\n	}\n", New: "", Test: "TestUploadRefusedLastBlock"},
		{Name: "the age of a blob is that of its program", File: "largeentity/sweep.go",
			Old: "		from = b.modified\n", New: "		_ = b.modified\n", Test: "TestSweepClockBehind"},
		{Name: "a blob that was stored meanwhile is an orphan", File: "largeentity/sweep.go",
			Old: "			w.report.Young++\n			return nil\n", New: "			w.report.Young++\n", Test: "TestSweepWriterBetween"},
		{Name: "the end of a range overflows", File: "largeentity/open.go",
			Old: "count > b.size-offset:", New: "offset+count > b.size:", Test: "TestReadLimits"},
	})
	mutants.Run(t, "./largeentity/series", []mutants.Mutant{
		{Name: "the last entity of several is not read", File: "largeentity/series/write.go",
			Old: "keys.RawBetween(first.RowKey(), last.RowKey()+\"~\")", New: "keys.RawBetween(first.RowKey(), last.RowKey())", Test: "TestAddAll"},
	})
	mutants.Run(t, "./logtail", []mutants.Mutant{
		{Name: "an error names a record by its place in the transaction", File: "logtail/append.go",
			Old: "be.Index += len(all)", New: "_ = be", Test: "TestAppendAllFails"},
		{Name: "two old spans of numbers stay two", File: "logtail/follow.go",
			Old: "case n > 1: // the", New: "case n > 2: // the", Test: "TestSeen"},
	})
	mutants.Run(t, "./internal/edm", []mutants.Mutant{
		{Name: "a full chunk is the last", File: "internal/edm/columns.go",
			Old: "for len(x.B) >= maxBinary {", New: "for len(x.B) > maxBinary {", Test: "TestChunksMissing"},
		{Name: "a negative number is a large one", File: "internal/edm/shape.go",
			Old: "x.Kind != Int32 && x.Kind != Int64 || x.I < 0 || v.OverflowUint", New: "x.Kind != Int32 && x.Kind != Int64 || v.OverflowUint", Test: "TestDecodeRefuses"},
	})
	mutants.Run(t, "./internal/wire", []mutants.Mutant{
		{Name: "the caller has ended what the library has", File: "internal/wire/call.go",
			Old: "ctx.Err() != nil && context.Cause(ctx) != ErrRequestTimeout", New: "ctx.Err() != nil", Test: "TestUnreached"},
	})
	mutants.Run(t, "./eventual", []mutants.Mutant{
		{Name: "the current delivery is counted", File: "eventual/handler.go",
			Old: "left := deliveries - 1 //", New: "left := deliveries //", Test: "TestPlausibleHistory"},
	})
}
