package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestGuards: more conditions, each dropped, that one test finds missing.
func TestGuards(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "an abort record does not name what was prepared", File: "internal/engine/record.go",
			Old: "if len(participants) > 0 {", New: "if false {", Test: "TestMoveRolledBackSwept"},
		{Name: "a commit record is swept before what its write has prepared", File: "internal/engine/record.go",
			Old: "		if failed != nil {\n			return false", New: "		if r == nil {\n			return false", Test: "TestMoveSweepRefused"},
		{Name: "what was prepared is not swept", File: "internal/engine/record.go",
			Old: "if strings.HasPrefix(r.Key.RowKey(), reserved.Prepared) {", New: "if false {", Test: "TestMoveSwept"},
		{Name: "the operation that an error in another partition is about is not blamed", File: "internal/engine/planner.go",
			Old: "p.blamed = participants.blamed()", New: "_ = participants.blamed()", Test: "TestParticipantTakerIsRefused"},
		{Name: "a key that exists counts as reserved", File: "internal/engine/replan.go",
			Old: "err == nil && f.row == nil && !f.hidden", New: "err == nil && !f.hidden", Test: "TestParticipantInsertExists"},
		{Name: "partitions of one name in two tables are one", File: "internal/engine/participant.go",
			Old: "p.only == partition && p.table.Same(t)", New: "p.only == partition", Test: "TestParticipantTables"},
		{Name: "an entity in doubt is sent", File: "internal/engine/bulk_send.go",
			Old: "err := batch[i].op.Usable()", New: "err := error(nil)", Test: "TestBulkEntityInDoubt"},
		{Name: "a deleted entity is a foreign row", File: "internal/engine/delivery.go",
			Old: "if a.gone && err == nil {\n		return true", New: "if a.gone && err == nil {\n		d.pager.foreign(in)\n		return true", Test: "TestWideDeletedMeanwhile"},
	})
	mutants.Run(t, "./index", []mutants.Mutant{
		{Name: "an entity without state has no rows elsewhere", File: "index/elsewhere.go",
			Old: "e.Type(reserved.MaintainerState) != \"\" && !(*stored.Row)(e)", New: "!(*stored.Row)(e)", Test: "TestElsewhereStateLost"},
		{Name: "a key that cannot be decoded is no row of the definition", File: "index/elsewhere.go",
			Old: "if err != nil { // a layout that cannot decode", New: "if err != nil && false {", Test: "TestElsewhereLayouts"},
		{Name: "a row of another program is an entity's", File: "index/elsewhere.go",
			Old: "	if !m.Owns(row) || reconcile.IsTombstone(row) {\n		return nil\n	}\n	k, _", New: "	if reconcile.IsTombstone(row) {\n		return nil\n	}\n	k, _", Test: "TestVerifyElsewhereForeignRow"},
	})
	mutants.Run(t, "./internal/reconcile", []mutants.Mutant{
		{Name: "every row is a tombstone", File: "internal/reconcile/handler.go",
			Old: "return isCopy && (*stored.Row)(row).ProjectionID() == gone", New: "return isCopy", Test: "TestSweepLeavesRows"},
		{Name: "a young tombstone is swept", File: "internal/reconcile/handler.go",
			Old: "|| !r.stored.Timestamp.Before(before) ", New: "", Test: "TestSweepYoungTombstone"},
		{Name: "a dropped table stops the clean-up", File: "internal/reconcile/handler.go",
			Old: "if isConflict(err) || errors.Is(err, errs.ErrTableNotFound) {", New: "if isConflict(err) {", Test: "TestSweepWithoutTable"},
		{Name: "a large row is tried again", File: "internal/reconcile/handler.go",
			Old: "errors.As(err, &le) || errors.As(err, &ve)", New: "errors.As(err, &le) && false || errors.As(err, &ve)", Test: "TestPoisonousRows"},
		{Name: "a cancelled context leaves the notification hidden", File: "internal/reconcile/reconcile.go",
			Old: "engine.Bound(context.WithoutCancel(ctx), ", New: "engine.Bound(ctx, ", Test: "TestInlineCancelled"},
		{Name: "an outbox without a notification is believed", File: "internal/reconcile/reconcile.go",
			Old: "if err != nil || sent == nil {", New: "if err != nil {", Test: "TestInlineQuietOutbox"},
	})
	mutants.Run(t, "./materialized", []mutants.Mutant{
		{Name: "a young tombstone is swept", File: "materialized/target.go",
			Old: "|| !t.stored.Timestamp.Before(before) ", New: "", Test: "TestSweepYoungTombstone"},
		{Name: "what is right is repaired", File: "materialized/compare.go",
			Old: "if err != nil || f.Kind == \"\" {", New: "if err != nil {", Test: "TestVerifyBesideWorker"},
		{Name: "a tombstone dangles", File: "materialized/compare.go",
			Old: "has := mine && !n.gone && n.entity", New: "has := n.entity", Test: "TestVerifyBesideWorker"},
		{Name: "every pending effect is one of the view", File: "internal/reconcile/pending.go",
			Old: "return e.RowKey == entity.RowKey() && slices.Contains(kinds, e.Kind)", New: "return e.RowKey == entity.RowKey()", Test: "TestNotPending"},
		{Name: "the note of another view is read", File: "materialized/compare.go",
			Old: "damaged == nil && mine && n.entity != entity", New: "damaged == nil && (mine || true) && n.entity != entity", Test: "TestNotPending"},
		{Name: "a missing table has no notes", File: "internal/tabledoor/tabledoor.go",
			Old: "	if errors.Is(err, table.ErrNotFound) {\n		return nil, nil", New: "	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrNotCreated) {\n		return nil, nil", Test: "TestTables"},
		{Name: "a name with a zero is refused", File: "materialized/view.go",
			Old: "c < '0' ||", New: "c <= '0' ||", Test: "TestDefinitions"},
		{Name: "a fault that is not confirmed is none", File: "verify/consistent.go",
			Old: "		r.count(derived.Unconfirmed, 1)\n", New: "", Test: "TestVerifyUnconfirmed"},
	})
	mutants.Run(t, "./largeentity", []mutants.Mutant{
		{Name: "the longest name is of another program", File: "internal/blobs/blobs.go",
			Old: "len(parts) != 3 || NameLength(name) > MaxName {", New: "len(parts) != 3 || NameLength(name) >= MaxName {", Test: "TestNames"},
		{Name: "the row of another sweep ends a sweep", File: "largeentity/sweep.go",
			Old: "if err != nil && !errors.Is(err, table.ErrExists) {", New: "if err != nil {", Test: "TestRelinkTwice"},
		{Name: "a reader is read behind its end", File: "largeentity/upload.go",
			Old: "	if err == nil && !ended {\n		r,", New: "	if err == nil {\n		r,", Test: "TestUploadReaders"},
		{Name: "a blob of another program is swept", File: "largeentity/sweep.go",
			Old: "if b.foreign || b.table", New: "if b.table", Test: "TestSweepForeignBlobs"},
		{Name: "a replaced blob is linked", File: "largeentity/links.go",
			Old: "ok && b.state == live && b.entity", New: "ok && b.entity", Test: "TestReplacedLink"},
		{Name: "the row of a blob goes before the blob", File: "largeentity/links.go",
			Old: "if err == nil && !s.client.opt.Now()", New: "if !s.client.opt.Now()", Test: "TestReclaimRefused"},
		{Name: "a blob of another size is the upload's", File: "largeentity/client.go",
			Old: "(stored.size != f.size || stored.sum != f.sum)", New: "stored.sum != f.sum", Test: "TestUploadAltered"},
	})
	mutants.Run(t, "./logtail", []mutants.Mutant{
		{Name: "a cursor before use is at the beginning", File: "logtail/read.go",
			Old: "if !c.opened && c.from.IsZero() {", New: "if false {", Test: "TestTokenBeforeUse"},
	})
	mutants.Run(t, "./eventual", []mutants.Mutant{
		{Name: "the last message of a batch decides whether a list is complete", File: "eventual/poison.go",
			Old: "repeated = repeated || seen[d.id]", New: "repeated = seen[d.id]", Test: "TestPoisonQueueIncomplete"},
		{Name: "a worker that stops warns of each message", File: "eventual/execute.go",
			Old: "	if out.expected {\n", New: "	if false && out.expected {\n", Test: "TestStop$"},
		{Name: "a lost message is not logged", File: "eventual/execute.go",
			Old: "		x.log(slog.LevelWarn, \"message lost\", out)\n", New: "", Test: "TestLost$"},
		{Name: "a message keeps a forged history", File: "eventual/handler.go",
			Old: "if h == (history{}) && before == len(all) {", New: "if h == (history{}) && before > 0 {", Test: "TestWithHistory"},
		{Name: "a message without room is never deadly", File: "eventual/message.go",
			Old: "	if r.historyFull {\n		return r.unfinished()", New: "	if false {\n		return r.unfinished()", Test: "TestHistoryDeadly"},
	})
	mutants.Run(t, "./internal/engine", []mutants.Mutant{
		{Name: "a part of a directory has no number", File: "internal/engine/wide.go",
			Old: "err != nil || number < 1 || ", New: "err != nil && number > 99 || ", Test: "TestDirectory"},
		{Name: "the parts of a directory have any order", File: "internal/engine/wide.go",
			Old: "len(d) > 0 && uint8(number) <=", New: "len(d) > 0 && uint8(number) ==", Test: "TestDirectory"},
	})
	mutants.Run(t, "./internal/wire", []mutants.Mutant{
		{Name: "a boundary has two characters", File: "internal/wire/batch.go",
			Old: "len(open) < 3 {", New: "len(open) < 4 {", Test: "TestMalformedResponses"},
		{Name: "an empty boundary is one", File: "internal/wire/batch.go",
			Old: "len(open) < 3 {", New: "len(open) < 2 {", Test: "TestMalformedResponses"},
		{Name: "a redirect is the service's answer", File: "internal/wire/call.go",
			Old: "s >= 300 && s < 400", New: "s > 300 && s < 400", Test: "TestUnavailable"},
		{Name: "a call without a response has a signature", File: "internal/wire/call.go",
			Old: "if c.resp == nil || c.resp.Request == nil {\n\t\treturn false", New: "if c.resp.Request == nil {\n\t\treturn false", Test: "TestNoResponse"},
	})
	mutants.Run(t, "./internal/edm", []mutants.Mutant{
		{Name: "values of other contents are the same", File: "internal/edm/value.go",
			Old: "return a.I == b.I && a.S == b.S && a.G == b.G", New: "return a.G == b.G", Test: "TestSame"},
		{Name: "a RowKey of a part is too long", File: "internal/edm/write.go",
			Old: "n > maxKeyUnits {", New: "n > maxKeyUnits+1 {", Test: "TestRowKeyOfPart"},
		{Name: "the option part occurs twice", File: "internal/edm/tag.go",
			Old: "n > MaxPart || placed {", New: "n > MaxPart {", Test: "TestPartOption"},
	})
}
