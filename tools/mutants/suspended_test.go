package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestSuspended: what exact writes and incarnations rest on where machines are suspended, clocks are set, and rows are forged.
func TestSuspended(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "a write with an old operation ID is sent", File: "internal/engine/send.go",
			Old: "		if w.stale() || !w.holds(ctx) {\n", New: "		if w.lateLease() != nil {\n", Test: "TestSuspendedWriter|TestSuspendedExact"},
		{Name: "a write with an operation ID of the future is sent", File: "internal/engine/op.go",
			Old: " || age < -most", New: "", Test: "TestSuspendedExact"},
		{Name: "a delayed write is not notified again", File: "internal/engine/finish.go",
			Old: "	w.notifyAgain(ctx)\n", New: "", Test: "TestHeldRequest"},
		{Name: "a delayed write of which only an earlier plan had effects is not notified again", File: "internal/engine/finish.go",
			Old: "	if w.notify(ctx) != nil {\n", New: "	if w.currentTransaction.effects && w.notify(ctx) != nil {\n", Test: "TestNotifiedAgain"},
		{Name: "a notification is lost if it cannot be sent again", File: "internal/engine/finish.go",
			Old: "		w.notification = first\n", New: "		_ = first\n", Test: "TestNotifiedAgain"},
		{Name: "a delayed write without effects notifies", File: "internal/engine/finish.go",
			Old: "	if first == nil || !w.stale() {", New: "	if !w.stale() {", Test: "TestNotifiedAgain"},
		{Name: "an abort record that was stored too late is trusted", File: "internal/engine/record.go",
			Old: "			return 0, true, old\n", New: "			_ = old\n", Test: "TestSuspendedResolver"},
		{Name: "operation IDs of a clock that is slightly ahead are refused as too old", File: "internal/engine/record.go",
			Old: "\tcase age > commit.Retention:\n", New: "\tcase age > commit.Retention, age < 0:\n", Test: "TestClocksAhead"},
		{Name: "a row's text is an incarnation", File: "table/row.go",
			Old: "\tif s, _ := v.(string); commit.IsID(s) {\n", New: "\tif s, _ := v.(string); s != \"\" {\n", Test: "TestForgedIncarnation"},
		{Name: "a new incarnation may have any form", File: "internal/engine/planner.go",
			Old: "\tif c.state.newIncarnation && !commit.IsID(c.state.incarnation) {\n", New: "\tif c.state.newIncarnation && c.state.incarnation == \"\" {\n", Test: "TestNewIDLater"},
	})
}
