package table_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
)

// TestTimestampOfWrite: a stored entity has the time of its ETag, and no time if the ETag has none.
func TestTimestampOfWrite(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 1, 2, 3, 123456700, time.UTC)
	whole := `W/"datetime'2026-11-21T01%3A02%3A03.1234567Z'"`
	etags := map[string]time.Time{
		whole:                                   at,
		strings.ReplaceAll(whole, "3A", "3a"):   at,
		strings.ReplaceAll(whole, "%3A", ":"):   at,
		strings.ReplaceAll(whole, "-", "%2D"):   at,
		whole[2:]:                               at,
		`"1"`:                                   {},
		`W/"datetime'`:                          {},
		`W/"datetime'x'"`:                       {},
		`W/"datetime'2026-11-21T01:02:03Z%zz'"`: {},
	}
	for i := range len(whole) - 2 { // whatever is cut off
		cut := whole[:i] + `'"`
		if _, is := etags[cut]; !is && !strings.HasSuffix(whole[:i], "Z") {
			etags[cut] = time.Time{}
		}
	}
	for etag, want := range etags {
		staff := newStaff(t, sdkClient(t, &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) {
			return jsonResponse(204, "", "ETag", etag), nil
		}}))
		e, err := staff.Insert(context.Background(), &employee{Department: "Sales", ID: 1})
		testkit.NoError(t, err)
		if !e.Timestamp.Equal(want) {
			t.Errorf("the ETag %s: got the time %v, want %v", etag, e.Timestamp, want)
		}
	}
}
