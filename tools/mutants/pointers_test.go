package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestPointers: what pointers over all partitions rest on.
func TestPointers(t *testing.T) {
	t.Parallel()
	every := []string{"-pointersample=1"}
	mutants.Run(t, "./index", []mutants.Mutant{
		{Name: "a pointer is not stored before its entity", File: "internal/engine/write.go",
			Old: "	all = append(all, w.storeOuter()...)\n", New: "", Test: "TestPointersAtEveryInstant"},
		{Name: "one pointer for all writes of a value", File: "internal/engine/outer.go",
			Old: "outerSeparator+p.root.outerID)", New: "outerSeparator+\"00VHNCZB000000000000000000\")", Test: "TestPointersEveryFault|TestPointersSchedules", Args: every},
		{Name: "the old pointer is deleted before the commit", File: "internal/engine/write.go",
			Old: "	if tx.record && !w.table.noted(", New: "	all = append(all, namedWork{\"drop\", func(ctx context.Context) error { w.dropOuter(ctx, outer{tx.outer.store, tx.outer.drop, false}); return nil }})\n	if tx.record && !w.table.noted(", Test: "TestPointersAtEveryInstant"},
		{Name: "the old pointer stays", File: "internal/engine/write.go",
			Old: "		w.dropOuter(ctx, w.currentTransaction.outer)\n", New: "", Test: "TestPointersRequests"},
		{Name: "a refused write leaves its pointer", File: "internal/engine/write.go",
			Old: "	w.dropRefused(ctx)\n", New: "", Test: "TestPointersRequests"},
		{Name: "a write in doubt deletes its pointer", File: "internal/engine/outer.go",
			Old: "if w.state == stateAborted && w.currentTransaction.record {", New: "if w.state != stateBegun {", Test: "TestPointersInDoubt"},
		{Name: "a refused change deletes its pointer", File: "internal/engine/outer.go",
			Old: "if w.state == stateAborted && w.currentTransaction.record {", New: "if w.state == stateAborted {", Test: "TestPointersAppliedUnseen"},
		{Name: "a pointer in doubt makes the write one in doubt", File: "internal/engine/outer.go",
			Old: "	case isUnknown(err):\n", New: "	case isUnknown(err) && false:\n", Test: "TestPointersUnknown"},
		{Name: "a refused pointer is an operation of the caller's", File: "internal/engine/outer.go",
			Old: "	case errors.As(err, &be): //", New: "	case errors.As(err, &be) && false: //", Test: "TestPointersUnknown"},
		{Name: "an entity that a signature hides counts as gone", File: "internal/engine/outer.go",
			Old: "	case e.hidden, of.Ranged():\n", New: "	case e.hidden:\n", Test: "TestPointersHidden"},
		{Name: "the same pointer is stored again after a refused change", File: "internal/engine/outer.go",
			Old: "	if last := &w.currentTransaction; last.record || len(last.outer.store) == 0 {", New: "	if last := &w.currentTransaction; true || last.record || len(last.outer.store) == 0 {", Test: "TestPointersSecondAttempt"},
		{Name: "an insert has no commit record", File: "internal/engine/outer.go",
			Old: "record: inserts}", New: "record: inserts && false}", Test: "TestPointersRequests"},
		{Name: "only the insert itself has a commit record", File: "internal/engine/write.go",
			Old: "	w.exact = w.exact || tx.outer.record // from", New: "	defer func(was bool) { w.exact = was }(w.exact)\n	w.exact = w.exact || tx.outer.record // from", Test: "TestPointersLateInsert"},
		{Name: "a write that has slept is sent", File: "internal/engine/outer.go",
			Old: "	p.NotAfter(began", New: "	p.root.table.Options.Now()\n	_ = (began", Test: "TestPointersSuspended"},
		{Name: "young pointers are deleted", File: "internal/engine/outer.go",
			Old: "return stored.IsZero() || now.Sub(stored) < outerAge", New: "return now.Sub(stored) < 0", Test: "TestPointersLeft"},
		{Name: "the clock of the program counts", File: "internal/engine/outer.go",
			Old: "	case mayBeNamed(f.row.Timestamp, f.date):\n", New: "	case t.MayBeNamed(f.row.Timestamp):\n", Test: "TestPointersNotDropped"},
		{Name: "a pointer that is stored again is deleted", File: "internal/engine/outer.go",
			Old: "aztables.TransactionTypeDelete, k, f.row.ETag, nil)", New: "aztables.TransactionTypeDelete, k, azcore.ETagAny, nil)", Test: "TestPointersNotDropped"},
		{Name: "a named pointer is deleted", File: "internal/engine/outer.go",
			Old: "	case e.row != nil && names(e.row):\n", New: "	case e.row != nil && names(e.row) && false:\n", Test: "TestPointersNamedMeanwhile"},
		{Name: "a look-up follows pointers that the entity does not name", File: "index/pointers.go",
			Old: "|| !has || !ix.names((*stored.Row)(of), row) {", New: "|| !has {", Test: "TestPointersTwice"},
		{Name: "keys come twice", File: "index/query.go",
			Old: "is = is && points && base != last", New: "is = is && points && (base != last || true)", Test: "TestPointersTwice"},
		{Name: "a forged state deletes the pointer of another entity", File: "index/pointers.go",
			Old: "is && m.form.mayBe(c.Key, base) {", New: "is && m.form.mayBe(c.Key, base) == m.form.mayBe(c.Key, base) {", Test: "TestPointersForged"},
		{Name: "one that is gone keeps the others", File: "internal/engine/outer.go",
			Old: "if errors.Is(err, errs.ErrNotFound) && len(rows) > 1 {", New: "if errors.Is(err, errs.ErrNotFound) && len(rows) > 1000 {", Test: "TestPointersPartlyGone"},
		{Name: "verify takes a young pointer for dangling", File: "verify/elsewhere.go",
			Old: "		case !wanted && !recorded && has && d.InFlight(f.row):\n			continue\n", New: "", Test: "TestPointersLeft"},
	})
}
