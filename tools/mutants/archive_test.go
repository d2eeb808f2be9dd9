package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestArchive: the tests of package archive find each planted bug.
func TestArchive(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: takes a minute")
	}
	some := []string{"-test.short"}
	mutants.Run(t, "./archive", []mutants.Mutant{
		{Name: "the destination's key lacks the incarnation", File: "archive/destination.go",
			Old: "id.Key.RowKey()+separator+id.Incarnation)", New: "id.Key.RowKey()+separator)", Test: "TestRequests|TestEveryFault/deleted_and_inserted"},
		{Name: "any incarnation is moved", File: "archive/handler.go",
			Old: "err == nil && row.Incarnation() != id.Incarnation:", New: "err == nil && row.Incarnation() == \"x\":", Test: "TestEveryFault/deleted_and_inserted", Args: some},
		{Name: "the entity is deleted unconditionally", File: "archive/handler.go",
			Old: ".Delete(ctx, e))\n", New: ".DeleteAny(ctx, e.Key))\n", Test: "TestChangedMeanwhile"},
		{Name: "the effect is not completed with the deletion", File: "archive/handler.go",
			Old: "commit.Completing(m.as(engine.Move{Away: true}), j.CommitRecord, j.Index).Delete(ctx, e)", New: "m.as(engine.Move{Away: true}).Delete(ctx, e)", Test: "TestRequests|TestEveryFault/moved"},
		{Name: "the destination is written unconditionally", File: "archive/destination.go",
			Old: "		op = d.rows.ReplaceOp(e)\n", New: "		op = d.rows.ReplaceAnyOp(e)\n", Test: "TestSlowWorker"},
		{Name: "a deleted row leaves no tombstone", File: "archive/destination.go",
			Old: "	ops := []table.Op{op}\n", New: "	ops := []table.Op{op}\n	if r.Row == nil && version != \"\" {\n		ops[0] = d.rows.DeleteAnyOp(row.Key)\n	}\n", Test: "TestLateInsert"},
		{Name: "a move of a deleted entity leaves no tombstone", File: "archive/handler.go",
			Old: "		return m.put(ctx, &ArchivedRow{ID: id, Kind: m.kind, Moves: []string{j.OperationID}}, \"\")\n", New: "		return nil\n", Test: "TestLateInsert"},
		{Name: "no archived row is withdrawn", File: "archive/handler.go",
			Old: "		return nil // by another move\n	}\n	return m.put(ctx, archived.tombstone(), archived.Version)", New: "	}\n	return nil", Test: "TestDeletedMeanwhile"},
		{Name: "a move withdraws without reading its own commit record", File: "archive/handler.go",
			Old: "	case err != nil || !m.pending(own, archived.ID):\n", New: "	case err != nil && own != nil:\n", Test: "TestSlowWorker"},
		{Name: "a move withdraws without reading the commit records of other moves", File: "archive/handler.go",
			Old: "		if op == except {\n", New: "		if op != \"\" {\n", Test: "TestSlowWorker"},
		{Name: "a tombstone ends the move of an entity that has come back", File: "archive/handler.go",
			Old: "	if tombstone {\n		return m.written(", New: "	if tombstone && archived.ID != id {\n		return m.written(", Test: "TestThereAndBack$"},
		{Name: "the incarnation is renewed without the commit record", File: "archive/handler.go",
			Old: "	return commit.Completing(t, j.CommitRecord, j.Index)\n", New: "	return t\n", Test: "TestThereAndBack$"},
		{Name: "a restore does not wait for the move", File: "archive/mover.go",
			Old: "	case !moved:\n", New: "	case !moved && archived == nil:\n", Test: "TestUnderway"},
		{Name: "a restore inserts its first read", File: "archive/mover.go",
			Old: "	if archived, err = m.to.Get(ctx, id); err == nil &&", New: "	if _, err = m.to.Get(ctx, id); err == nil &&", Test: "TestRestoresTheLast"},
		{Name: "an incarnation is restored twice", File: "archive/mover.go",
			Old: "	if err := p.Insert(record, ErrRestored); err != nil {\n", New: "	if err := error(nil); record == nil || err != nil {\n", Test: "TestRestoredTwice"},
		{Name: "a restore record is swept although its incarnation is still stored", File: "archive/mover.go",
			Old: "			if stored {\n", New: "			if stored && false {\n", Test: "TestSweep"},
		{Name: "the newest incarnation is the one that was stored last", File: "archive/destination.go",
			Old: "Version: string(row.ETag), Time: at}", New: "Version: string(row.ETag), Time: at.Add(row.Timestamp.Sub(at))}", Test: "TestNewest"},
		{Name: "incarnations of other tables are found", File: "archive/mover.go",
			Old: "		if archived.Kind == m.kind && (newest", New: "		if archived.Kind != \"\" && (newest", Test: "TestSharedDestination"},
		{Name: "an unconditional replace brings the incarnation of an old read", File: "table/op.go",
			Old: "h.replacement(\"ReplaceAny\", e, engine.StateProperties()...)", New: "h.replacement(\"ReplaceAny\", e)", Test: "TestStaleWriter|TestEveryFault/replaced", Args: some},
		{Name: "an incarnation that was moved before is stored again", File: "archive/handler.go",
			Old: "		case moved:\n			return errMovedBefore\n", New: "		case moved && archived == nil:\n			return errMovedBefore\n", Test: "TestStaleWriter"},
		{Name: "any text is an incarnation", File: "archive/destination.go",
			Old: "	if len(id.Incarnation) != incarnationLength || strings.Trim(id.Incarnation, incarnationDigits) != \"\" {\n", New: "	if id.Incarnation == \"\" {\n", Test: "TestHostile"},
		{Name: "an incarnation may contain any character", File: "archive/destination.go",
			Old: " || strings.Trim(id.Incarnation, incarnationDigits) != \"\" {", New: " {", Test: "TestHostile"},
		{Name: "a row's text stays an incarnation", File: "internal/engine/state.go",
			Old: "	if IsID(incarnation.S) {\n", New: "	if incarnation.S != \"\" {\n", Test: "TestForgedRow"},
		{Name: "an effect may name rows of the library", File: "archive/mover.go",
			Old: "	if strings.HasPrefix(j.Effect.RowKey, reserved.First) {\n", New: "	if strings.HasPrefix(j.Effect.RowKey, \"~~~\") {\n", Test: "TestHostile"},
		{Name: "any suffix of a key is an incarnation", File: "archive/destination.go",
			Old: "!ok || id.Err() != nil || len(words)", New: "!ok || len(words)", Test: "TestForeignRows"},
		{Name: "a mover takes what its destination returns", File: "archive/handler.go",
			Old: "	if err == nil && archived != nil && archived.ID != id {\n", New: "	if err == nil && archived != nil && archived.Key != id.Key {\n", Test: "TestWrongIncarnation"},
		{Name: "a tombstone record deletes any row that it names", File: "archive/destination.go",
			Old: "	ok = ok && err == nil && primary != \"\" && ", New: "	ok = (ok || rowKey != \"\") && err == nil && primary != \"?\" && ", Test: "TestForgedRecords"},
		{Name: "a restore record that cannot be read is swept", File: "archive/mover.go",
			Old: "err != nil || kind != m.kind ||", New: "err == nil && kind != m.kind ||", Test: "TestStoredTypes"},
		{Name: "an archived row whose owner has another type is foreign", File: "archive/destination.go",
			Old: "			if errors.As(err, &damaged) {\n", New: "			if errors.As(err, &damaged) && false {\n", Test: "TestArchivedTypes"},
		{Name: "a list ends at U+10FFFF", File: "archive/destination.go",
			Old: "StoredBetween(\"\", lastRowKey)}", New: "StoredBetween(\"\", \"\\U0010FFFF\")}", Test: "TestAnyRowKey"},
		{Name: "incarnations of a key that only looks alike are found", File: "archive/destination.go",
			Old: "r.Row == nil || r.Key.RowKey() != k.RowKey() {", New: "r.Row == nil {", Test: "TestSimilarKeys"},
		{Name: "the attempts of a move have a bound of their own", File: "internal/engine/attempts.go",
			Old: "Attempts: r.ConflictAttempts,", New: "Attempts: 8*min(1, r.ConflictAttempts),", Test: "TestConflictAttempts"},
		{Name: "a move of an incarnation that was moved before is repeated without end", File: "archive/handler.go",
			Old: "		if err == errMovedBefore && movedBefore {\n", New: "		if err == errMovedBefore && movedBefore && n == 50 {\n", Test: "TestMovedBefore"},
		{Name: "a move whose commit record was swept is not complete", File: "archive/handler.go",
			Old: "		case errors.Is(err, table.ErrNotFound):\n			return true, nil\n", New: "		case errors.Is(err, table.ErrNotFound):\n			continue\n", Test: "TestSweptMove"},
	})
}
