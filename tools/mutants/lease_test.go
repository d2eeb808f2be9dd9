package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestLease plants bugs in leases.
func TestLease(t *testing.T) {
	mutants.Run(t, "./lease", []mutants.Mutant{
		{Name: "a head without its ETag", File: "lease/guard.go",
			Old: "Key: e.head, Match: e.etag,", New: "Key: e.head, Match: azcore.ETagAny,", Test: "TestLateEntry"},
		{Name: "the guards of smaller tokens stay", File: "lease/guard.go",
			Old: "for _, k := range e.guards {", New: "for _, k := range e.guards[:0] {", Test: "TestNoFence"},
		{Name: "a write does not need its guard", File: "lease/guard.go",
			Old: "aztables.TransactionTypeUpdateMerge, azcore.ETagAny)", New: "aztables.TransactionTypeInsertMerge, \"\")", Test: "TestNoFence"},
		{Name: "who enters ignores a greater token", File: "lease/guard.go",
			Old: "	case e.greater > l.token, e.token == l.token && !e.mine:", New: "	case e.token == l.token && !e.mine:", Test: "TestThiefDies"},
		{Name: "a token of another acquisition is its own", File: "lease/guard.go",
			Old: "	case e.greater > l.token, e.token == l.token && !e.mine:", New: "	case e.greater > l.token:", Test: "TestRestored"},
		{Name: "a guard is sent whatever its holder believes", File: "lease/guard.go",
			Old: "func(m *engine.Mode) { m.Guard = (*holder)(l) }", New: "func(*engine.Mode) {}", Test: "TestNoFence"},
		{Name: "a missing guard is a missing row", File: "internal/engine/replan.go",
			Old: "} else if s.Absent != nil && errors.Is", New: "} else if s.Absent == nil && errors.Is", Test: "TestNoFence"},
		{Name: "belief from the response on", File: "lease/lease.go",
			Old: "l.renewed(at, err)", New: "l.renewed(momentOf(l.leases.rows.Options.Now), err)\n		_ = at", Test: "TestSlowResponse"},
		{Name: "belief from the read after a lost response", File: "lease/lease.go",
			Old: "	l.etag = r.etag\n	l.over", New: "	l.etag = r.etag\n	l.renewed(momentOf(l.leases.rows.Options.Now), nil)\n	l.over", Test: "TestSchedules|TestLinearizable|TestLostRenewal"},
		{Name: "a renewal without its ETag", File: "lease/row.go",
			Old: "Kind: aztables.TransactionTypeUpdateMerge, Match: was}", New: "Kind: aztables.TransactionTypeUpdateMerge, Match: azcore.ETagAny}", Test: "TestLostRenewal"},
		{Name: "a lease is taken without its ETag", File: "lease/row.go",
			Old: "Kind: aztables.TransactionTypeUpdateReplace, Match: was}", New: "Kind: aztables.TransactionTypeUpdateReplace, Match: azcore.ETagAny}", Test: "TestSchedules"},
		{Name: "tokens begin again", File: "lease/leases.go",
			Old: "max(seen.token, above)+1", New: "above+1", Test: "TestRequests"},
		{Name: "a thief goes by its own clock", File: "lease/leases.go",
			Old: "if left := seen.left(); left > 0 {", New: "if left := seen.left() - time.Until(s.rows.Options.Now()); left > 0 {", Test: "TestExpiredIsTaken"},
		{Name: "a lease is over a second too early", File: "lease/row.go",
			Old: "max(r.timeToLive+allowance-r.age, 0)", New: "max(r.timeToLive-r.age, 0)", Test: "TestExpiredIsTaken"},
		{Name: "a lease is its own by the name", File: "lease/leases.go",
			Old: "case seen.nonce == l.nonce && !seen.released:", New: "case seen.owner == s.owner && !seen.released:", Test: "TestSchedules|TestLeaders"},
		{Name: "a holder believes until the release is answered", File: "lease/lease.go",
			Old: "	_ = l.end(\"it was released\")\n", New: "	defer func() { _ = l.end(\"it was released\") }()\n", Test: "TestReleasedBelief"},
		{Name: "a suspended machine does not notice", File: "lease/belief.go",
			Old: "return max(m.wall.Sub(before.wall), m.monotonic.Sub(before.monotonic))", New: "return m.monotonic.Sub(before.monotonic)", Test: "TestSuspended"},
		{Name: "a clock that is set back lengthens the belief", File: "lease/belief.go",
			Old: "return max(m.wall.Sub(before.wall), m.monotonic.Sub(before.monotonic))", New: "return m.wall.Sub(before.wall)", Test: "TestClockIsSet"},
		{Name: "a waiting program looks too often", File: "lease/errors.go",
			Old: "left = max(left, e.timeToLive)", New: "left = max(left, time.Second)", Test: "TestFollower"},
		{Name: "a leader is never told", File: "lease/elect.go",
			Old: "			lose(lost)\n", New: "			_ = lose\n", Test: "TestLeaderIsTold"},
		{Name: "a response without a date is as old as the row", File: "lease/row.go",
			Old: "	case found.Date.IsZero():\n", New: "	case found.Date.IsZero() && false:\n", Test: "TestNoDate"},
		{Name: "a renewal that hangs outlasts the belief", File: "lease/elect.go",
			Old: "min(look, l.left())", New: "look", Test: "TestLeaderIsTold"},
	})
}
