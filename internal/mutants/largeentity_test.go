package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/internal/mutants"
)

// TestLargeentity: removes what values in blobs depend on, piece by piece.
func TestLargeentity(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: compiles the package anew")
	}
	some := []string{"-test.short"}
	mutants.Run(t, "./largeentity", []mutants.Mutant{
		{Name: "a value is not copied", File: "largeentity/copy.go",
			Old: "	if b.name == \"\" {\n", New: "	if true {\n", Test: "TestMove"},
		{Name: "a blob that the service does not delete ends the sweep", File: "largeentity/sweeper.go",
			Old: "case errors.As(err, &re) && (", New: "case errors.As(err, &re) && false && (", Test: "TestSweepKept"},
		{Name: "the new blob's row replaces another", File: "largeentity/links.go",
			Old: "	return p.Insert(r, errTaken)\n", New: "	if _, err := p.Load(ctx, r.Key.Row()); err != nil {\n		return err\n	}\n	return p.Put(r)\n", Test: "TestUploadAgain|TestEveryFault/undone", Args: some},
		{Name: "old values can be stored", File: "largeentity/links.go",
			Old: "now.After(until) || ", New: "now.After(until) && false || ", Test: "TestUploadAgain"},
		{Name: "values of the future can be stored", File: "largeentity/links.go",
			Old: " || b.uploaded().Sub(now) > l.store.opt.Grace/2 {\n", New: " {\n", Test: "TestUploadAgain"},
		{Name: "an old plan is sent", File: "largeentity/links.go",
			Old: "	p.NotAfter(until)\n", New: "	_ = until\n", Test: "TestSuspended"},
		{Name: "a value is stored in another partition", File: "largeentity/links.go",
			Old: "n.table != l.store.table || n.partition != c.Key.PartitionKey() {\n			return condition", New: "n.table != l.store.table {\n			return condition", Test: "TestUploadAgain"},
		{Name: "two entities of a transaction take one value", File: "largeentity/links.go",
			Old: "	if !p.First(", New: "	if !p.First(\"\") && !p.First(", Test: "TestUploadAgain"},
		{Name: "a blob that passes to another entity is deleted", File: "largeentity/links.go",
			Old: "		p.AfterCommit(b.String(), nil)\n", New: "", Test: "TestEveryMethod|TestEveryFault/rekeyed", Args: some},
		{Name: "a moved entity loses its blob", File: "largeentity/links.go",
			Old: "	if c.Archived() {\n", New: "	if c.Archived() && false {\n", Test: "TestEveryFault/moved", Args: some},
		{Name: "a restore takes any blob", File: "largeentity/links.go",
			Old: "w.state == moved && w.incarnation == incarnation && w.entity == b.entity {\n", New: "w.incarnation != \" \" && w.entity == b.entity {\n", Test: "TestRestoreAfterSweep"},
		{Name: "a tombstone goes with its blob", File: "largeentity/links.go",
			Old: "	if err == nil && !s.opt.Now().Before(s.opt.unlinkable(n)) {\n", New: "	if err == nil {\n", Test: "TestEveryFault/inserted_and_deleted"},
		{Name: "the old blob is deleted before the write is committed", File: "largeentity/links.go",
			Old: "		p.AfterCommit(b.String(), func(ctx context.Context) { l.store.reclaim(ctx, l.rows, b.name) })\n", New: "		l.store.reclaim(context.Background(), l.rows, b.name)\n", Test: "TestEveryFault/replaced", Args: some},
		{Name: "another program's row is trusted", File: "largeentity/links.go",
			Old: "ok && b.state == live && b.entity == c.Key.RowKey() {\n", New: "ok && b.id != \"\" {\n", Test: "TestForeignRow"},
		{Name: "a sweep does not condemn", File: "largeentity/sweepblobs.go",
			Old: "	if !w.opt.DryRun {\n		r, err :=", New: "	if !w.opt.DryRun && n.id == \"\" {\n		r, err :=", Test: "TestSweepSlowWriter"},
		{Name: "a sweep deletes young blobs", File: "largeentity/sweepblobs.go",
			Old: "row == nil && !w.expired(b):\n", New: "row == nil && !w.expired(b) && b.id == \"\":\n", Test: "TestSweep$", Args: some},
		{Name: "a sweep does not ask the destination last", File: "largeentity/sweeprows.go",
			Old: "		e, err := w.rows.Entity(r.stored)\n", New: "		if r.stored, err = w.rows.GetRow(ctx, r.key()); err != nil {\n			return nil\n		}\n		e, err := w.rows.Entity(r.stored)\n", Test: "TestSweepRestored"},
		{Name: "a sweep takes the tombstones of blobs that can be linked", File: "largeentity/sweeper.go",
			Old: "	if now.Before(w.store.opt.unlinkable(r.name)) {\n", New: "	if now.Before(w.store.opt.unlinkable(r.name)) && r.id == \"\" {\n", Test: "TestSweepReplaced|TestEveryFault/inserted_and_deleted"},
		{Name: "a condemned row goes at once", File: "largeentity/sweeper.go",
			Old: "	return r.state != condemned || now.Sub(", New: "	return r.state != \"\" || now.Sub(", Test: "TestSweepSlowWriter"},
		{Name: "a missing blob is not looked for again", File: "largeentity/sweeprows.go",
			Old: "	if !errors.Is(err, ErrBlobNotFound) {\n", New: "	if !errors.Is(err, ErrBlobNotFound) && err != nil {\n", Test: "TestSweepConcurrent"},
		{Name: "a signature hides rows from a sweep", File: "largeentity/sweeper.go",
			Old: "		if s.rows.Engine().Ranged() {", New: "		if s.rows.Engine().Ranged() && false {", Test: "TestSweepRanged"},
		{Name: "an error is lost at MaxDeletes", File: "largeentity/sweeprows.go",
			Old: "	if errors.Is(failed, errEnough) && err != nil {", New: "	if errors.Is(failed, errEnough) && err != nil && false {", Test: "TestSweepErrorAtCap"},
		{Name: "a dry run does not count rows", File: "largeentity/sweeprows.go",
			Old: "(blob == nil || w.opt.DryRun) &&", New: "(blob == nil || w.opt.DryRun && false) &&", Test: "TestDryRunRows"},
		{Name: "an earlier plan makes the calls of a later one", File: "internal/engine/finish.go",
			Old: "	if w.sent.mayStillApply {\n", New: "	if w.sent.mayStillApply && false {\n", Test: "TestLateDuplicate"},
		{Name: "a value that is cut off has ended", File: "largeentity/upload.go",
			Old: "		case err == io.EOF:\n", New: "		case err == io.EOF, err == io.ErrUnexpectedEOF:\n", Test: "TestUploadCutOff"},
		{Name: "an idle reader is read for ever", File: "largeentity/upload.go",
			Old: "		if empty++; n > 0 {\n", New: "		if empty++; n >= 0 {\n", Test: "TestUploadIdleReader"},
		{Name: "all buffers are sent at the same time", File: "largeentity/upload.go",
			Old: "	u.slots = make(chan struct{}, u.store.opt.BlocksInFlight)\n", New: "	u.slots = make(chan struct{}, u.store.opt.BlocksInFlight+1)\n", Test: "TestBlocksInFlight"},
		{Name: "the hash is not compared", File: "largeentity/download.go",
			Old: "	if d.hash != nil && ", New: "	if d.hash == nil && ", Test: "TestReadBroken"},
		{Name: "the length of a response is not compared", File: "largeentity/download.go",
			Old: "	case all && *resp.ContentLength != d.blob.size:\n", New: "	case all && *resp.ContentLength < d.blob.size:\n", Test: "TestReadBroken"},
		{Name: "the status of a response does not count", File: "largeentity/download.go",
			Old: "	case all && status != http.StatusOK, !all && status != http.StatusPartialContent:\n", New: "	case all && status < http.StatusOK:\n", Test: "TestBlobReadNotModified"},
		{Name: "a read continues with another version", File: "largeentity/download.go",
			Old: "	if d.etag != \"\" {\n", New: "	if d.etag != \"\" && d.offset < 0 {\n", Test: "TestReadContinues"},
		{Name: "an upload replaces a blob", File: "largeentity/client.go",
			Old: "		if err = call.CheckWrite(string(blobs.Deref(etag)), err); !exists(err) {\n", New: "		if err = call.CheckWrite(string(blobs.Deref(etag)), err); true {\n", Test: "TestUploadLostResponses"},
		{Name: "a merge leaves parts of the earlier value", File: "largeentity/blob.go",
			Old: "	return []any{[]byte(b.data), b.name, b.size, b.sum, b.contentType}, nil\n", New: "	if b.name == \"\" {\n		return []any{[]byte(b.data), nil, b.size, nil, b.contentType}, nil\n	}\n	return []any{[]byte(b.data), b.name, b.size, b.sum, b.contentType}, nil\n", Test: "TestEveryMethod"},
		{Name: "a move does not tell the maintainers", File: "archive/handler.go",
			Old: "m.as(engine.Move{Away: true})", New: "m.as(engine.Move{})", Test: "TestDestination"},
		{Name: "a restore does not tell the maintainers", File: "archive/restore.go",
			Old: "m.as(engine.Move{Restored: archived.Incarnation})", New: "m.as(engine.Move{})", Test: "TestDestination"},
	})
	mutants.Run(t, "./maintain", []mutants.Mutant{
		{Name: "nothing is called after the commit", File: "internal/engine/execute.go",
			Old: "		w.currentPlan.after.run(ctx)\n", New: "", Test: "TestAfterCommit"},
		{Name: "a call that is taken back is made", File: "internal/engine/aftercommit.go",
			Old: "return c.name == name })\n", New: "return c.name == name && call != nil })\n", Test: "TestAfterCommit"},
		{Name: "an old plan is sent", File: "internal/engine/stale.go",
			Old: "!late.IsZero() && w.table.Options.Now().After(late) {\n", New: "!late.IsZero() && w.table.Options.Now().Before(late.AddDate(-1, 0, 0)) {\n", Test: "TestNotAfter"},
		{Name: "the last of several times counts", File: "internal/engine/plan.go",
			Old: "	if p.late.IsZero() || t.Before(p.late) {\n", New: "	if true {\n", Test: "TestNotAfter"},
	})
}
