package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/internal/mutants"
)

// TestArchive: what moves rest on, taken away piece by piece.
func TestArchive(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: takes a minute")
	}
	some := []string{"-test.short"}
	mutants.Run(t, "./archive", []mutants.Mutant{
		{Name: "the destination's key lacks the life", File: "archive/totable.go",
			Old: "id.Key.RowKey()+separator+id.Incarnation)", New: "id.Key.RowKey()+separator)", Test: "TestRequests|TestEveryFault/deleted_and_new"},
		{Name: "any life is moved", File: "archive/handler.go",
			Old: "err == nil && row.Incarnation() != id.Incarnation:", New: "err == nil && row.Incarnation() == \"x\":", Test: "TestEveryFault/deleted_and_new", Args: some},
		{Name: "the entity is deleted past its ETag", File: "archive/handler.go",
			Old: ".Delete(ctx, e)\n", New: ".DeleteAny(ctx, e.Key)\n", Test: "TestChangedMeanwhile"},
		{Name: "the effect is not settled with the deletion", File: "archive/handler.go",
			Old: "m.from.Completing(j.CommitRecord, j.Index).Delete(ctx, e)", New: "m.from.Delete(ctx, e)", Test: "TestRequests|TestEveryFault/move"},
		{Name: "the destination is written past its version", File: "archive/totable.go",
			Old: "		op = d.rows.ReplaceOp(e)\n", New: "		op = d.rows.ReplaceAnyOp(e)\n", Test: "TestSlowWorker"},
		{Name: "what has gone leaves nothing", File: "archive/totable.go",
			Old: "	ops := []table.Op{op}\n", New: "	ops := []table.Op{op}\n	if k.Row == nil && version != \"\" {\n		ops[0] = d.rows.DeleteAnyOp(row.Key)\n	}\n", Test: "TestLateInsert"},
		{Name: "a move that finds nothing leaves nothing", File: "archive/handler.go",
			Old: "		return m.put(ctx, &ArchivedRow{ID: id, Kind: m.kind, Moves: []string{j.Op}}, \"\")\n", New: "		return nil\n", Test: "TestLateInsert"},
		{Name: "nothing is withdrawn", File: "archive/handler.go",
			Old: "		return nil // by another move\n	}\n	return m.put(ctx, there.gone(), there.Version)", New: "	}\n	return nil", Test: "TestDeletedMeanwhile"},
		{Name: "a move withdraws without a look at its own intent", File: "archive/handler.go",
			Old: "	case err != nil || !m.moves(own, there.ID):\n", New: "	case err != nil && own != nil:\n", Test: "TestSlowWorker"},
		{Name: "a move withdraws without a look at the others'", File: "archive/handler.go",
			Old: "		if op == but {\n", New: "		if op != \"\" {\n", Test: "TestSlowWorker"},
		{Name: "a restore does not ask whether the move is over", File: "archive/restore.go",
			Old: "	case !over:\n", New: "	case !over && there == nil:\n", Test: "TestUnderway"},
		{Name: "a restore brings what it read first", File: "archive/restore.go",
			Old: "	if there, err = m.to.Get(ctx, there.ID); err == nil &&", New: "	if _, err = m.to.Get(ctx, there.ID); err == nil &&", Test: "TestRestoresTheLast"},
		{Name: "a life is restored twice", File: "archive/restore.go",
			Old: "	if err := p.Insert(note, ErrRestored); err != nil {\n", New: "	if err := error(nil); err != nil {\n", Test: "TestRestoredTwice"},
		{Name: "the note of a restore goes while its life is still there", File: "archive/handler.go",
			Old: "there, err = m.stillThere(ctx, row); there {", New: "there, err = false, nil; there {", Test: "TestSweep"},
		{Name: "the newest life is the one that was put last", File: "archive/totable.go",
			Old: "Version: string(row.ETag), Time: at}", New: "Version: string(row.ETag), Time: at.Add(row.Timestamp.Sub(at))}", Test: "TestNewest"},
		{Name: "lives of other tables are found", File: "archive/mover.go",
			Old: "		if there.Kind == m.kind && (newest", New: "		if there.Kind != \"\" && (newest", Test: "TestSharedDestination"},
		{Name: "an unconditional replace brings the incarnation of an old read", File: "table/op.go",
			Old: "t.replaceOp(\"ReplaceAny\", e, incarnationProperties...)", New: "t.replaceOp(\"ReplaceAny\", e)", Test: "TestStaleWriter|TestEveryFault/replaced", Args: some},
		{Name: "what was moved before is put again", File: "archive/handler.go",
			Old: "		case over:\n			return errMoved\n", New: "		case over && there == nil:\n			return errMoved\n", Test: "TestStaleWriter"},
		{Name: "any text is an incarnation", File: "archive/destination.go",
			Old: "	if len(id.Incarnation) != lifeLength || strings.Trim(id.Incarnation, lifeDigits) != \"\" {\n", New: "	if id.Incarnation == \"\" {\n", Test: "TestHostile"},
		{Name: "lower case and all else is in an incarnation", File: "archive/destination.go",
			Old: " || strings.Trim(id.Incarnation, lifeDigits) != \"\" {", New: " {", Test: "TestHostile"},
		{Name: "a row's text stays an incarnation", File: "table/maintain.go",
			Old: "	if isID(life.S) {\n", New: "	if life.S != \"\" {\n", Test: "TestForgedRow"},
		{Name: "an effect may name rows of the library", File: "archive/handler.go",
			Old: "	if strings.HasPrefix(j.Effect.RowKey, separator) {\n", New: "	if strings.HasPrefix(j.Effect.RowKey, \"~~~\") {\n", Test: "TestHostile"},
		{Name: "any rest of a key is an incarnation", File: "archive/totable.go",
			Old: "!ok || (ID{primary, life}).Err() != nil || len(words)", New: "!ok || len(words)", Test: "TestForeignRows"},
		{Name: "a mover takes what its destination returns", File: "archive/handler.go",
			Old: "	if err == nil && there != nil && there.ID != id {\n", New: "	if err == nil && there != nil && there.Key != id.Key {\n", Test: "TestDestinationAstray"},
		{Name: "a note deletes the row that it names", File: "archive/totable.go",
			Old: "!note.Timestamp.Before(before) || !is || primary", New: "!note.Timestamp.Before(before) || !is && name == \"\" || primary == \"?\" || primary", Test: "TestForgedNotes"},
		{Name: "a list ends at U+10FFFF", File: "archive/totable.go",
			Old: "StoredBetween(\"\", last)}", New: "StoredBetween(\"\", \"\\U0010FFFF\")}", Test: "TestArchivedEverywhere"},
		{Name: "incarnations of a key that only looks alike are found", File: "archive/totable.go",
			Old: "k.Row == nil || only != \"\" && k.Key.RowKey() != only)", New: "k.Row == nil)", Test: "TestLooksAlike"},
		{Name: "a move whose commit record was swept is not over", File: "archive/handler.go",
			Old: "		case errors.Is(err, table.ErrNotFound):\n			return true, nil\n", New: "		case errors.Is(err, table.ErrNotFound):\n			continue\n", Test: "TestSweptMove"},
	})
}
