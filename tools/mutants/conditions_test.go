package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestConditions: single conditions, bounds, clocks and second looks, each of which one test finds missing.
func TestConditions(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./internal/records", []mutants.Mutant{
		{Name: "another effect is completed", File: "internal/engine/plan.go",
			Old: "if !slices.Contains(c.Effects, i) {", New: "if i > 0 {", Test: "TestCompletingOneOfSeveral"},
		{Name: "a completed commit record has the ETag of another", File: "internal/engine/plan.go",
			Old: "etag = etags[len(etags)-1]", New: "etag = etags[0]", Test: "TestCompletingParticipants"},
	})
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "a page is read once if its last write is pending", File: "internal/engine/markview.go",
			Old: "again = again || changed", New: "again = changed", Test: "TestMovePageOfMany"},
		{Name: "a list contains the rows of an aborted write", File: "internal/engine/markview.go",
			Old: "		if rec != nil && rec.State != commit.Aborted {\n			v.known", New: "		if rec != nil {\n			v.known", Test: "TestMovePageOfMany"},
		{Name: "the value of an entity that the transaction deletes is taken", File: "internal/engine/replan.go",
			Old: " || w.deletes(f.row):", New: ":", Test: "TestTakenValue$"},
		{Name: "an entity that the transaction changes gives up its values", File: "internal/engine/replan.go",
			Old: "op.needsPlanning && op.deletes() && op.Key == k", New: "op.needsPlanning && op.Key == k", Test: "TestTakenValue$"},
		{Name: "a delete without its derived rows frees their values", File: "internal/engine/replan.go",
			Old: "op.needsPlanning && op.deletes() && op.Key == k", New: "op.deletes() && op.Key == k", Test: "TestTakenValue$"},
		{Name: "an entity's own value is taken", File: "internal/engine/plan.go",
			Old: "stored.SameOwner(d.read.row, d.after) || p.deletes(d.read.row))\n", New: "p.deletes(d.read.row))\n", Test: "TestTakenValue$"},
		{Name: "a value that was read is free", File: "internal/engine/plan.go",
			Old: "stored.SameOwner(d.read.row, d.after) || p.deletes(d.read.row))\n", New: "true)\n", Test: "TestTakenValueLooked"},
		{Name: "an effect in another partition is one of the home", File: "internal/engine/participant.go",
			Old: "e.Table, e.Partition = m.at.Table, m.at.Partition", New: "_ = m.at", Test: "TestParticipantsEffect"},
		{Name: "a suspended writer prepares", File: "internal/engine/prepare.go",
			Old: "		if w.stale() || w.lateLease() != nil {\n", New: "		if w.lateLease() != nil {\n", Test: "TestMoveSuspended"},
		{Name: "a preparation that was rolled back counts as prepared", File: "internal/engine/prepare.go",
			Old: "err == nil && !p.over {", New: "err == nil && (!p.over || true) {", Test: "TestMoveRolledBackBefore"},
		{Name: "a writer's roll back does not exclude a late request", File: "internal/engine/finish.go",
			Old: "ender{home: &home, exclude: true}", New: "ender{home: &home}", Test: "TestMoveLatePreparation"},
		{Name: "a preparation is excluded although its write is committed", File: "internal/engine/end_prepared.go",
			Old: "err != nil || committed {\n		return Outage(err), err\n	}\n	p := &preparation", New: "err != nil || committed && false {\n		return Outage(err), err\n	}\n	p := &preparation", Test: "TestMoveExecutedAgain"},
		{Name: "the mark of another write is ended", File: "internal/engine/end_prepared.go",
			Old: "m.ID != id { //", New: "m.ID == \"\" { //", Test: "TestMoveBroughtBack"},
		{Name: "a row without the mark of the write is ended", File: "internal/engine/end_prepared.go",
			Old: "m.ID != id { //", New: "m.ID != id && false { //", Test: "TestMoveBroughtBack"},
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
		{Name: "a tombstone of an hour is swept", File: "materialized/compare.go",
			Old: "Options.Now().Add(-commit.Retention - time.Hour)", New: "Options.Now().Add(-time.Hour)", Test: "TestDamage"},
		{Name: "a tombstone of the retention is swept", File: "materialized/compare.go",
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
			Old: "keys.RawRows(first.RowKey(), last.RowKey()+\"~\")", New: "keys.RawRows(first.RowKey(), last.RowKey())", Test: "TestAddAll"},
	})
	mutants.Run(t, "./logtail", []mutants.Mutant{
		{Name: "an error names a record by its place in the transaction", File: "logtail/append.go",
			Old: "be.Index += before", New: "_ = be", Test: "TestAppendAllFails"},
		{Name: "two old spans of numbers stay two", File: "logtail/follow.go",
			Old: "case n > 1: // the", New: "case n > 2: // the", Test: "TestSeen"},
	})
	mutants.Run(t, "./internal/edm", []mutants.Mutant{
		{Name: "a number that exceeds each Int64 is compared as one", File: "internal/edm/filter.go",
			Old: "all = f >= math.MaxInt64", New: "_ = all", Test: "TestCompareDouble"},
		{Name: "the least Int64 is more than itself", File: "internal/edm/filter.go",
			Old: "all = f < math.MinInt64", New: "all = f <= math.MinInt64", Test: "TestCompareDouble"},
		{Name: "each Int32 is more than a large number", File: "internal/edm/filter.go",
			Old: "case f < 0 && more:", New: "case more:", Test: "TestCompareDouble"},
		{Name: "a large number is compared as an Int32", File: "internal/edm/filter.go",
			Old: " && x.I == int64(int32(x.I)) {", New: " {", Test: "TestCompareInt32Field"},
		{Name: "nil is compared as the number 0", File: "internal/edm/filter.go",
			Old: "if o.of.narrow && x.Kind == Int64 && x.I", New: "if o.of.narrow && x.I", Test: "TestCompareInt32Field"},
		{Name: "a large entity is stored again without a look at its size", File: "internal/edm/read.go",
			Old: " || r.to-r.from > smallJSON {", New: " {", Test: "TestStorable"},
		{Name: "a date before the service's first year is stored again", File: "internal/edm/read.go",
			Old: "text > \"1601\" && ", New: "", Test: "TestStorable"},
		{Name: "a value that cannot be read is stored again", File: "internal/edm/read.go",
			Old: "!known && r.read(m, &r.value) != nil", New: "!known && r.read(m, &r.value) != nil && false", Test: "TestStorable"},
		{Name: "a quote ends a key", File: "internal/edm/write.go",
			Old: "		if w.simpleKeys {\n			b.json", New: "		if w.simpleKeys || true {\n			b.json", Test: "TestQuotedKeys"},
		{Name: "a full chunk is the last", File: "internal/edm/decode.go",
			Old: "for len(x.B) >= maxBinary {", New: "for len(x.B) > maxBinary {", Test: "TestChunksMissing"},
		{Name: "a negative number is a large one", File: "internal/edm/shape.go",
			Old: "x.Kind != Int32 && x.Kind != Int64 || x.I < 0 || v.OverflowUint", New: "x.Kind != Int32 && x.Kind != Int64 || v.OverflowUint", Test: "TestDecodeRefuses"},
	})
	mutants.Run(t, "./internal/engine", []mutants.Mutant{
		{Name: "the size is blamed for an unknown outcome", File: "internal/engine/bulk_send.go",
			Old: "if !errors.As(err, &oe) || isUnknown(err) {", New: "if !errors.As(err, &oe) {", Test: "TestBlamed"},
	})
	mutants.Run(t, "./internal/wire", []mutants.Mutant{
		{Name: "the page of a proxy is a body", File: "internal/wire/call.go",
			Old: "	if err := c.Check(nil); err != nil {\n		return nil, err", New: "	if err := c.Check(nil); err != nil && false {\n		return nil, err", Test: "TestCallBody"},
		{Name: "a cut body is that of an earlier response", File: "internal/wire/call.go",
			Old: "if err == nil && len(body) == 0 {", New: "if len(body) == 0 {", Test: "TestCallBody"},
		{Name: "a body that a policy replaces is not read", File: "internal/wire/probe.go",
			Old: "if _, err = runtime.Payload(resp); err != nil {\n			err = Redact(err)", New: "if false {\n			err = Redact(err)", Test: "TestExchangeReadsBody"},
		{Name: "the error of a body contains a signature", File: "internal/wire/probe.go",
			Old: "err != nil {\n			err = Redact(err)\n", New: "err != nil {\n			_ = err\n", Test: "TestExchangeReadsBody"},
		{Name: "a cut body is read again", File: "internal/wire/probe.go",
			Old: "	if err == nil && resp != nil {\n		if _, err = ", New: "	if resp != nil {\n		if _, err = ", Test: "TestExchangeReadsBody"},
		{Name: "the caller has ended what the library has", File: "internal/wire/call.go",
			Old: "return ctx.Err() == nil || context.Cause(ctx) == ErrRequestTimeout", New: "return ctx.Err() == nil", Test: "TestUnreached"},
	})
	mutants.Run(t, "./eventual", []mutants.Mutant{
		{Name: "the current delivery is counted", File: "eventual/handler.go",
			Old: "left := deliveries - 1 //", New: "left := deliveries //", Test: "TestPlausibleHistory"},
	})
}
