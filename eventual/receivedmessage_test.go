package eventual

import (
	"strings"
	"testing"
)

// TestWithHistory: a history replaces what the message says of itself, in whatever case, and nothing else.
func TestWithHistory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		h    history
		want string
	}{
		{`{"v":1}`, history{}, `{"v":1}`},
		{`{ "v": 1 }`, history{}, `{ "v": 1 }`},
		{`{"v":1,"TRIED":5,"since":"2026-01-01T00:00:00Z"}`, history{}, `{"v":1}`},
		{`{"v":1,"Alone":5,"later":"x"}`, history{Failed: 2}, `{"later":"x","tried":2,"v":1}`},
		{`{"v":1}`, history{Uncounted: 1, Failed: 2, Isolated: 3, Outages: 4}, `{"alone":3,"away":4,"tried":2,"uncounted":1,"v":1}`},
		{"no object", history{Failed: 2}, "no object"},
	} {
		if got := withHistory(c.text, c.h); got != c.want {
			t.Errorf("%s with %+v: got %s; want %s", c.text, c.h, got, c.want)
		}
	}
}

// TestHistoryDeadly: a message is isolated after as many unfinished deliveries as a worker makes attempts, and is deadly after as many in
// isolation. Without room for a history, the deliveries count instead.
func TestHistoryDeadly(t *testing.T) {
	t.Parallel()
	small := message{Version: messageVersion, Table: "staff", Partition: "p", Op: "01M89M5EVC9M2HDH4H3CQ7YVZ5"}
	padded := func(n int) string {
		return strings.TrimSuffix(small.text(), "}") + `,"later":"` + strings.Repeat("x", n) + `"}`
	}
	n := maxMessage
	for encodedLength(padded(n)) > maxMessage {
		n--
	}
	full := padded(n)
	isolated := small
	isolated.Isolated = 5
	for _, c := range []struct {
		what            string
		text            string
		count           int64
		may, is         bool
		failures, tries int
	}{
		{"a new message", small.text(), 1, false, false, 0, 1},
		{"5 unfinished deliveries", small.text(), 6, true, false, 0, 6},
		{"10 unfinished deliveries", small.text(), 11, true, false, 0, 11},
		{"5 in isolation", isolated.text(), 11, true, true, 0, 11},
		{"full, 4 unfinished", full, 5, false, false, 0, 5},
		{"full, 5 unfinished", full, 6, true, false, 5, 6},
		{"full, 9 unfinished", full, 10, true, false, 9, 10},
		{"full, 10 unfinished", full, 11, true, true, 10, 11},
	} {
		r := newReceivedMessage(delivery{text: c.text, count: c.count}, 5)
		if r.err != nil {
			t.Fatalf("%s: got error %v; want none", c.what, r.err)
		}
		if r.mayBeDeadly() != c.may || r.isDeadly() != c.is || r.failures() != c.failures || r.attempt() != c.tries {
			t.Errorf("%s: got perhaps deadly %v, deadly %v, %d failures, attempt %d; want %v, %v, %d, %d", c.what, r.mayBeDeadly(), r.isDeadly(), r.failures(), r.attempt(), c.may, c.is, c.failures, c.tries)
		}
	}
}
