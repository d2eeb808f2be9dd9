package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestShowing: what makes it safe to show notifications beside other work.
func TestShowing(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./eventual", []mutants.Mutant{
		{Name: "a notification is shown before the move is finished, not beside it", File: "internal/engine/finish.go",
			Old: "	case len(w.currentTransaction.remotes)+len(w.currentTransaction.after) > 0:\n", New: "	case len(w.currentTransaction.after) > 0:\n", Test: "TestShownBesideMove"},
		{Name: "calls after the commit wait for the notification", File: "internal/engine/finish.go",
			Old: "	case len(w.currentTransaction.remotes)+len(w.currentTransaction.after) > 0:\n", New: "	case len(w.currentTransaction.remotes) > 0:\n", Test: "TestShownBesideCalls"},
		{Name: "effects are executed while the move is finished", File: "internal/engine/finish.go",
			Old: "	return executes || len", New: "	return executes && false || len", Test: "TestShownBesideMove"},
		{Name: "a notification is shown beside the finish of any number of partitions", File: "internal/engine/finish.go",
			Old: "	return executes || len(w.currentTransaction.remotes) > FanOut", New: "	return executes", Test: "TestShownAfterMany"},
		{Name: "a write returns before its notification is shown", File: "internal/engine/write.go",
			Old: "	defer w.awaitShow()\n", New: "", Test: "TestShownBesideMove|TestShownBesideCalls"},
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
