package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestExpire plants bugs in entities that end.
func TestExpire(t *testing.T) {
	mutants.Run(t, "./expire", []mutants.Mutant{
		{Name: "a read says that an entity is over, and leaves it", File: "internal/engine/ends.go",
			Old: "		gone, err := t.end(ctx, row)\n		r.Release()", New: "		gone, err := true, error(nil)\n		r.Release()", Test: "TestLinearizable|TestReads$"},
		{Name: "what is over is deleted whatever it has become", File: "internal/engine/ends.go",
			Old: "	op.Match, op.Before, op.Known = row.ETag, row.Stored(), !t.wide()\n", New: "", Test: "TestLinearizable|TestSchedules"},
		{Name: "the sweep deletes living entities", File: "internal/engine/ends.go",
			Old: "if err == nil && !over {\n			err = ErrNotOver", New: "if err == nil && !over && false {\n			err = ErrNotOver", Test: "TestClocks|TestSweepBesideWriters"},
		{Name: "lists show what is over", File: "internal/engine/delivery.go",
			Old: "if over && !d.pager.table.Mode.Ends.elsewhere() {", New: "if false {", Test: "TestReads$"},
		{Name: "lists of some properties do not ask for the end", File: "internal/engine/list.go",
			Old: "if q.Select != \"\" && t.Mode.Ends != nil {", New: "if false {", Test: "TestReads$"},
		{Name: "copies of some fields have no end", File: "internal/stored/row.go",
			Old: "slices.Concat(properties, projectedProperties, ", New: "slices.Concat(properties, projectedProperties[:2], ", Test: "TestReads$"},
		{Name: "an older copy elsewhere hides its entity", File: "internal/engine/delivery.go",
			Old: "if over && !d.pager.table.Mode.Ends.elsewhere() {", New: "if over {", Test: "TestReads$"},
		{Name: "Take without a commit record", File: "expire/ends.go",
			Old: "exact := t.Exact()", New: "exact := t", Test: "TestTakeLostResponse"},
		{Name: "a code is inserted without a commit record", File: "expire/ends.go",
			Old: "m.Exact || e.opt.Once", New: "m.Exact", Test: "TestLinearizable"},
		{Name: "an entity that is over keeps its unique values", File: "internal/engine/ends.go",
			Old: "	if t.Mode.Ends == nil {\n		return false, nil\n	}\n	gone, ended", New: "	if t.Mode.Ends == nil || true {\n		return false, nil\n	}\n	gone, ended", Test: "TestUniqueValues"},
		{Name: "a unique value is free when its entity is missing", File: "internal/engine/ends.go",
			Old: "if err != nil || !gone || ended {\n		return ended, err", New: "if err != nil || !gone || ended || gone {\n		return gone, err", Test: "TestUniqueOrphan"},
		{Name: "a merge cannot take an end away", File: "internal/engine/op.go",
			Old: "	case merge && !sameEnd:\n", New: "	case false:\n", Test: "TestEnds"},
		{Name: "Extend goes on with what it read after a conflict", File: "table/methods.go",
			Old: "if h.engine.Mode.Ends != nil {\n			current = nil", New: "if false {\n			current = nil", Test: "TestExtendAfterConflict"},
		{Name: "the note of what is over already is in its own hour", File: "expire/notes.go",
			Old: "end.Before(now) {\n		end = now", New: "end.Before(now) {\n		_ = now", Test: "TestSweepBehindNote"},
		{Name: "notes are not stored", File: "internal/engine/write.go",
			Old: "		if !slices.Contains(w.prepared, work.name) {", New: "		if false {", Test: "TestManyPartitions"},
		{Name: "an entity ends in the second before its end", File: "internal/engine/ends.go",
			Old: "	if whole.Before(at) {", New: "	if false {", Test: "TestReadsAnEnd"},
		{Name: "entities get ends while the definition does not count", File: "internal/engine/ends.go",
			Old: "	if keeps && ends.At != nil {", New: "	if ends.At != nil {", Test: "TestFillAndRetire"},
		{Name: "a reader of several types cannot delete what is over", File: "internal/engine/ends.go",
			Old: "		if of.Mode.Schema.Mine(row) {", New: "		if false {", Test: "TestReads$"},
		{Name: "Exists does not delete what is over", File: "table/list.go",
			Old: "	return h.engine.StillThere(ctx, \"Exists\", k)", New: "	return false, nil", Test: "TestReads$"},
		{Name: "an insert does not take the place of what is over", File: "internal/engine/replan.go",
			Old: "	if s.Table.Mode.Ends != nil {", New: "	if false {", Test: "TestInsertInItsPlace"},
		{Name: "effects do not find out why", File: "internal/engine/ends.go",
			Old: "m.Ends, m.Ending = nil, true", New: "m.Ends = nil", Test: "TestExpired"},
		{Name: "who may not delete cannot read", File: "internal/engine/ends.go",
			Old: "	if errors.As(err, new(*overError)) {\n		return true, nil\n	}\n	return gone, err", New: "	return gone, err", Test: "TestMayNotDelete"},
		{Name: "who may not delete takes the place all the same", File: "internal/engine/ends.go",
			Old: "errors.As(err, new(*overError)):\n			return false, false, nil", New: "errors.As(err, new(*overError)):\n			return true, true, nil", Test: "TestInsertMayNotDelete"},
		{Name: "a note is deleted before its hour is over", File: "expire/sweep.go",
			Old: "			if left[in] || s.opt", New: "			if left[in] && false || s.opt", Test: "TestSweepAhead"},
		{Name: "copies differ when a merge has taken the end away", File: "internal/engine/ends.go",
			Old: "		columns = stored.Put(columns, reserved.End, edm.Value{Kind: edm.DateTime, T: never})\n", New: "		columns = stored.Without(columns, reserved.End)\n", Test: "TestVerify"},
	})
}
