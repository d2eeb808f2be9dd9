package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestTable: what writes rest on, taken away piece by piece.
func TestTable(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "rows after a page count as missing", File: "internal/engine/bulk_send.go",
			Old: "return !marked[rk] && (!p.more() || keys.Compare(rk, last) <= 0)", New: "return !marked[rk] && last == last", Test: "TestShortReadBack"},
	})
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "only the last refusal counts", File: "internal/engine/write.go",
			Old: "w.sent.mayStillApply = w.sent.mayStillApply || !w.final()", New: "w.sent.mayStillApply = !w.final()", Test: "TestEarlierRefusals"},
		{Name: "an entity holds a version that no response has reported", File: "internal/engine/outcome.go",
			Old: "	if !same {\n", New: "	if !same && w.stored(s).Known() {\n", Test: "TestHeldVersion"},
		{Name: "an entity holds the version of a changed row", File: "internal/engine/outcome.go",
			Old: "same = ours && containsAll(f.row.Columns(), s.Body.Columns())", New: "same = containsAll(f.row.Columns(), s.Body.Columns())", Test: "TestHeldVersion"},
		{Name: "throttling uses up attempts", File: "internal/engine/attempts.go",
			Old: "if !busy || !bounded || a.retry.Attempts == 1 {", New: "if !busy || bounded || a.retry.Attempts == 1 {", Test: "TestThrottled"},
		{Name: "Retry-After is ignored", File: "internal/engine/attempts.go",
			Old: "max(wait, backOff(a.busy, least, most))", New: "max(0*wait, backOff(a.busy, least, most))", Test: "TestRetryAfter"},
		{Name: "few attempts", File: "internal/engine/attempts.go",
			Old: "if c.attempts >= c.retry.ConflictAttempts {", New: "if c.attempts >= min(8, c.retry.ConflictAttempts) {", Test: "TestContention"},
		{Name: "a redirected response counts", File: "internal/wire/call.go",
			Old: "c.resp.Request.Response != nil", New: "c.resp.Request.Response == c.resp", Test: "TestRedirects"},
		{Name: "a refusal without a code counts", File: "internal/wire/call.go",
			Old: "re.ErrorCode == \"\" && re.StatusCode != http.StatusRequestEntityTooLarge", New: "re.ErrorCode == \"\" && re.StatusCode == http.StatusRequestEntityTooLarge", Test: "TestForeignResponses"},
		{Name: "a success without an ETag counts", File: "internal/wire/call.go",
			Old: "err == nil && etag == \"\"", New: "err == nil && etag == \"none\"", Test: "TestForeignResponses"},
		{Name: "unconditional writes do not read first", File: "table/table.go",
			Old: "BlindWrites: o.BlindWrites}", New: "BlindWrites: !o.BlindWrites}", Test: "TestReadBeforeBlindWrite"},
		{Name: "rows are read one by one", File: "internal/engine/planner.go",
			Old: "if len(ahead) < 2 {", New: "if len(ahead) >= 0 {", Test: "TestConcurrentReads"},
	})
}
