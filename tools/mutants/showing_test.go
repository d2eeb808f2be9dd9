package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestShowing: what makes it safe to show notifications beside other work.
func TestShowing(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./eventual", []mutants.Mutant{
		{Name: "a notification is shown before the move is finished", File: "internal/engine/finish.go",
			Old: "	if finished := w.finish(ctx); ends && finished {\n", New: "	if !ends {\n		w.show(ctx)\n		w.notification = nil\n	}\n	if finished := w.finish(ctx); ends && finished {\n", Test: "TestShownAfterMove"},
		{Name: "calls after the commit wait for the notification", File: "internal/engine/finish.go",
			Old: "	case len(w.currentTransaction.after) > 0:\n", New: "	case false:\n", Test: "TestShownBesideCalls"},
		{Name: "a writer withdraws the message of what it has not finished", File: "internal/engine/finish.go",
			Old: "return All(ctx, w.currentTransaction.participants, w.finishParticipant) == nil", New: "_ = All(ctx, w.currentTransaction.participants, w.finishParticipant)\n	return true", Test: "TestEndsItself"},
		{Name: "a writer withdraws the message before the record is done", File: "internal/engine/finish.go",
			Old: "		if t.MarkDone(ctx, rec) != nil {\n", New: "		withdraw(ctx, n, &t.Options)\n		if t.MarkDone(ctx, rec) != nil {\n", Test: "TestEndsItself"},
		{Name: "a writer marks what it has not finished as done", File: "internal/engine/finish.go",
			Old: "ends && finished {", New: "ends && (finished || true) {", Test: "TestEndsItself"},
		{Name: "a writer leaves all to the workers", File: "internal/engine/finish.go",
			Old: "ends && finished {", New: "ends && finished && false {", Test: "TestEndsItself"},
		{Name: "bulk work waits for the end of each write", File: "internal/engine/finish.go",
			Old: "	case w.showing != nil:\n", New: "	case w.showing != nil && !w.currentTransaction.own:\n", Test: "TestEndsBesideBulk"},
		{Name: "a write returns before its notification is shown", File: "internal/engine/write.go",
			Old: "	defer w.awaitShow()\n", New: "", Test: "TestShownBesideCalls"},
		{Name: "a transaction of bulk work waits for its notification", File: "internal/engine/bulk.go",
			Old: "showing: b.showing, ", New: "", Test: "TestShownBesideBulk"},
		{Name: "bulk work returns before its notifications are shown", File: "internal/engine/bulk.go",
			Old: "	b.showing.end()\n", New: "", Test: "TestShownBesideBulk"},
		{Name: "any number of notifications are shown at a time", File: "internal/engine/finish.go",
			Old: "make(chan struct{}, most)", New: "make(chan struct{}, 1000*most)", Test: "TestShownBesideBulk"},
		{Name: "a panic in Show is lost", File: "internal/engine/finish.go",
			Old: "	if text := s.panicked.Load(); text != nil {\n", New: "	if text := s.panicked.Load(); text != nil && false {\n", Test: "TestShowPanics"},
		{Name: "a write that is resolved later is shown by bulk work that has ended", File: "internal/engine/outcome.go",
			Old: "		w.showing = nil // the bulk work of the write has ended\n", New: "", Test: "TestResolvedAfterBulk"},
	})
}
