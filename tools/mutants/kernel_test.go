package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestKernel: what the writes over several partitions rest on, taken away piece by piece.
func TestKernel(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: takes a minute")
	}
	mutants.Run(t, "./index", []mutants.Mutant{
		{Name: "a move within a partition never looks at the old row", File: "internal/engine/replan.go",
			Old: "len(w.moved)+len(w.currentPlan.remotes) == 0:", New: "len(w.moved) == 0:", Test: "TestOvertakenGlobal"},
		{Name: "a run over the whole table finishes no moves", File: "index/verify/partition.go",
			Old: "if r.opt.Partition.IsSet() {", New: "if true {", Test: "TestVerifyFinishesMoves"},
		{Name: "the row of a unique value has the version of its entity", File: "index/elsewhere.go",
			Old: "	return pointerTo(entity.Key, row)\n", New: "	return m.elsewhereMaintainer.WantedContent(entity, row)\n", Test: "TestVerifyGlobalVersions"},
		{Name: "a roll back where nothing is prepared leaves no preparation", File: "internal/engine/resolve.go",
			Old: "case f.row == nil && by.exclude:", New: "case f.row == nil && by.exclude && false:", Test: "TestMoveEveryFault/^move$", Args: []string{"-movesample=1"}},
		{Name: "a preparation that is over is deleted", File: "internal/engine/prepare.go",
			Old: "Kind: aztables.TransactionTypeUpdateReplace, Key: p.key, Match: p.etag", New: "Kind: aztables.TransactionTypeDelete, Key: p.key, Match: p.etag",
			Test: "TestMoveEveryFault/^move_to_a_new_department_and_back$"},
		{Name: "the message does not name the other partitions", File: "internal/engine/finish.go",
			Old: "Remotes: placesOf(w.nextPlan.remotes)", New: "Remotes: placesOf(nil)", Test: "TestMoveEveryFault/^move$"},
		{Name: "a worker closes the commit record without finishing", File: "eventual/handler.go",
			Old: "for _, r := range work.Remotes {", New: "for _, r := range work.Remotes[:0] {", Test: "TestMoveEveryFault/^move$"},
		{Name: "a worker does not roll back", File: "eventual/execute.go",
			Old: "for _, r := range x.message.Remotes {", New: "for _, r := range x.message.Remotes[:0] {", Test: "TestMoveEveryFault/^move$"},
		{Name: "a resolver rolls back without an abort record", File: "internal/engine/resolve.go",
			Old: "rec, err := at.Resolve(ctx, home.Partition, id, Remote{t.Name, partition})", New: "rec, err := at.Record(ctx, home.Partition, id)", Test: "TestMoveLinearizable"},
		{Name: "an abort record counts as committed", File: "internal/engine/resolve.go",
			Old: "return err == nil && rec != nil && rec.State != RecordAborted, err", New: "return err == nil && rec != nil, err", Test: "TestMoveEveryFault/^move$"},
		{Name: "a row is prepared whatever its version", File: "internal/engine/remote.go",
			Old: "Key: s.Key, Match: s.Match, Body: body}", New: "Key: s.Key, Match: azcore.ETagAny, Body: body}", Test: "TestMoveSchedules/two_moves"},
		{Name: "a read by key does not end the write that prepared the row", File: "internal/engine/read.go",
			Old: "if err != nil || !marked {", New: "if err != nil || !marked || true {", Test: "TestMoveLinearizable"},
		{Name: "a list does not see that a write has committed", File: "internal/engine/view.go",
			Old: "if rec != nil && rec.State != RecordAborted {", New: "if rec != nil && rec.State != RecordAborted && false {", Test: "TestMoveLinearizable"},
		{Name: "a list shows what is prepared", File: "internal/engine/view.go",
			Old: "in.ETag = string(m.etag)\n\t\treturn in, unmarked(columns), m.existed()", New: "in.ETag = string(m.etag)\n\t\treturn in, unmarked(columns), true", Test: "TestMoveLinearizable"},
		{Name: "a finish leaves the new contents", File: "internal/engine/remote.go",
			Old: "for n := range m.images {", New: "for n := range m.images - m.images {", Test: "TestMoveEveryFault/^move$"},
		{Name: "a plan keeps what it knew of the other partitions' rows", File: "internal/engine/remote.go",
			Old: "		clear(part.corrections)\n", New: "		_ = part.corrections\n", Test: "TestRemoteGlobalStale"},
		{Name: "a taken value that could not be read counts as taken", File: "internal/engine/replan.go",
			Old: "	w.out.err = cause\n", New: "	_ = cause\n", Test: "TestClaimLinearizable"},
		{Name: "a worker that knows the tables of unique values excludes nothing there", File: "eventual/handler.go",
			Old: "t.remotes = append(t.remotes, strings.ToLower(name))", New: "_ = append(t.remotes, strings.ToLower(name))", Test: "TestClaimEveryFault/^change$"},
	})
	mutants.Run(t, "./index", []mutants.Mutant{
		{Name: "a mark may name any partition", File: "internal/engine/prepare.go",
			Old: "err != nil || checkRemote(m.home) != nil {", New: "err != nil || CheckTableName(m.home.Table) != nil {", Test: "TestForged"},
		{Name: "an unreadable commit record ends a list", File: "internal/engine/view.go",
			Old: "if err = damaged(err); err != nil", New: "if err != nil", Test: "TestForged"},
		{Name: "an unreadable preparation ends a list", File: "internal/engine/view.go",
			Old: "return false, false, nil\n\t\t}\n\t}\n\tv.ended", New: "return false, false, err\n\t\t}\n\t}\n\tv.ended", Test: "TestForged"},
		{Name: "a new content that is missing is looked for again and again", File: "internal/engine/view.go",
			Old: "v.torn[at] = !v.void[at] && !again", New: "v.torn[at] = !v.void[at] && !again && false\n\t\t\tagain = again || !v.void[at]", Test: "TestForged"},
		{Name: "a preparation may name any number of rows", File: "internal/engine/prepare.go",
			Old: "if len(p.rows) >= maxOperations {", New: "if len(p.rows) >= maxOperations && false {", Test: "TestForged"},
	})
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "a mark without a preparation needs the table of its home", File: "internal/engine/view.go",
			Old: "if err == nil && !void && !ended {", New: "if err == nil {", Test: "TestMoveHomeForged"},
		{Name: "a preparation of the future never ends", File: "internal/engine/prepare.go",
			Old: "unendedFilter(partition, before, now)", New: "preparationFilter(partition, before)", Test: "TestMoveHomeForged"},
		{Name: "a move says that its own entity is in the way", File: "internal/engine/replan.go",
			Old: "case derived && de.Key != (keys.Key{}), errors.Is(refusal, errs.ErrExists), errors.Is(refusal, errs.ErrGivenUp):", New: "case de == nil && len(keys.Key{}.PartitionKey()) > 0:", Test: "TestMoveOvertaken"},
		{Name: "a refused move has always changed", File: "internal/engine/replan.go",
			Old: "|| f.etag() == w.ops[0].Match:", New: ":", Test: "TestMoveOvertaken"},
		{Name: "an entity that was moved away is unknown", File: "internal/engine/replan.go",
			Old: "w.out.err = movedAway(refusal)", New: "w.out.err = refusal", Test: "TestMoveOvertaken"},
		{Name: "a move is repeated for a taken place", File: "table/methods.go",
			Old: "case !errors.Is(err, ErrChanged) || unknown(err)", New: "case !errors.Is(err, ErrChanged) && !errors.Is(err, ErrExists) || unknown(err)", Test: "TestUpdateAndMoveRequests"},
		{Name: "a page with a committed write is not read again", File: "internal/engine/view.go",
			Old: "v.known[at.commitPlace], again = true, true", New: "v.known[at.commitPlace], v.marks[at] = true, true", Test: "TestMovePage$"},
		{Name: "a list takes the row before the write if the new content is gone", File: "internal/engine/view.go",
			Old: "if err != nil || again {", New: "if err != nil {", Test: "TestMovePageFinished"},
		{Name: "a page is not read again after an old commit record was swept", File: "internal/engine/view.go",
			Old: "v.void[at], again = void, again || ended", New: "v.void[at] = void || ended && false",
			Test: "TestMovePageSwept"},
		{Name: "an old move is never finished", File: "internal/engine/resolve.go",
			Old: "if errors.Is(err, errs.ErrExpired) ||", New: "if errors.Is(err, errs.ErrExpired) && false ||", Test: "TestMoveLongAgo"},
		{Name: "an image is taken from another row", File: "internal/engine/remote.go",
			Old: "r.Image = len(images) + 1", New: "r.Image = len(images)", Test: "TestMove$|TestMoveCrash"},
		{Name: "a preparation that a signature hides counts as missing", File: "internal/engine/resolve.go",
			Old: "	case f.hidden:\n", New: "	case f.hidden && false:\n", Test: "TestRemoteRangedReader"},
		{Name: "a mark of an unknown table is believed", File: "internal/engine/table.go",
			Old: "return strings.EqualFold(known, name) })", New: "return strings.EqualFold(known, name) || true })", Test: "TestMoveFromUnknown"},
		{Name: "orphans are decided within the retention", File: "internal/engine/prepare.go",
			Old: "if t.recent(id) != nil {", New: "if t.recent(id) != nil || true {", Test: "TestMoveHomeGone"},
		{Name: "the error of a missing home is that of the table which is read", File: "internal/engine/resolve.go",
			Old: "if err = conditioned(ctx, err); !errors.Is(err, errs.ErrTableNotFound) {", New: "if err = conditioned(ctx, err); true {", Test: "TestMoveHomeGone"},
		{Name: "a key that is only reserved counts as taken", File: "internal/engine/replan.go",
			Old: "	return false, err == nil && f.row == nil && !f.hidden\n", New: "	return false, err == nil && f.row == nil && !f.hidden && false\n", Test: "TestRemoteBulkReserved"},
	})
}
