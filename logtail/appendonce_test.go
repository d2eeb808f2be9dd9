package logtail_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestAppendOnce: a record that several attempts append is stored once, in its place in time, in one partition and in several.
func TestAppendOnce(t *testing.T) {
	t.Parallel()
	for _, spread := range []int{1, 8} {
		ctx := context.Background()
		s := storagetest.New(nil)
		claims := openLog(t, s, &logtail.Options{Spread: spread})
		began := time.Now()
		s.Count()
		once := func(id string, at time.Time, amount int, want requests.Counts) {
			t.Helper()
			r, err := claims.AppendOnce(ctx, id, at, &claim{1, amount})
			testkit.NoError(t, err)
			testkit.Expect(t, "requests of "+id, s.Count(), want)
			if r.Writer != id || r.Sequence != 0 || !r.Time.Equal(at.Truncate(100)) {
				t.Errorf("got record of %s %d at %v, want %s 0 at %v", r.Writer, r.Sequence, r.Time, id, at)
			}
		}
		inserted, repeated := requests.Counts{requests.Insert: 1}, requests.Counts{requests.Insert: 1, requests.Get: 1}
		once("b", began, 2, inserted)
		once("a", began, 1, inserted)
		once("b", began, 20, repeated)
		once("b", began.Add(-time.Hour), 3, inserted)
		again := openLog(t, s, &logtail.Options{Spread: spread}) // another process
		s.Count()
		_, err := again.AppendOnce(ctx, "a", began, &claim{1, 10})
		testkit.NoError(t, err)
		var got []int
		for r, err := range claims.Tail(ctx, 10) {
			testkit.NoError(t, err)
			got = append(got, r.Value.Amount)
		}
		testkit.Expect(t, "the newest", got, []int{1, 2, 3})
	}
}

// TestAppendOnceFaults: whatever happens to the request, the record is stored once when the call, or another one, has succeeded.
func TestAppendOnceFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, f := range []storagetest.Fault{storagetest.LostResponse(), storagetest.Refuse(503, "ServerBusy"), storagetest.Refuse(500, "OperationTimedOut"), storagetest.NotSent()} {
		s := storagetest.New(nil)
		claims := openLog(t, s, &logtail.Options{})
		s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Once(f)))
		for range 2 {
			if _, err := claims.AppendOnce(ctx, "x", time.Unix(1e9, 0), &claim{1, 1}); err != nil {
				t.Errorf("%v: got error %v", f, err)
			}
		}
		if n := len(s.Rows("claims")); n != 1 {
			t.Errorf("%v: got %d rows, want 1", f, n)
		}
	}
}

// TestAppendOnceRefused: wrong arguments are refused before any request.
func TestAppendOnceRefused(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	claims := openLog(t, s, &logtail.Options{})
	s.Count()
	var value *table.ValueError
	var key *keys.KeyError
	for what, c := range map[string]struct {
		id string
		at time.Time
		v  *claim
		as any
	}{
		"no value":      {"a", time.Now(), nil, &value},
		"no ID":         {"", time.Now(), &claim{}, &value},
		"a long ID":     {strings.Repeat("a", 500), time.Now(), &claim{}, &key},
		"a time of old": {"a", time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), &claim{}, &key},
	} {
		if _, err := claims.AppendOnce(t.Context(), c.id, c.at, c.v); !errors.As(err, c.as) {
			t.Errorf("%s: got error %v, want a %T", what, err, c.as)
		}
	}
	if _, err := claims.In(keys.RawPartition("a/b")).AppendOnce(t.Context(), "a", time.Now(), &claim{}); !errors.As(err, &key) {
		t.Errorf("an invalid source: got error %v, want a %T", err, key)
	}
	testkit.Expect(t, "requests", s.Count(), requests.Counts{})
	if _, err := s.Tables().DeleteTable(t.Context(), "claims", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := claims.AppendOnce(t.Context(), "a", time.Now(), &claim{}); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("without the table: got error %v, want ErrNotCreated", err)
	}
}

// TestAppendOnceSpread: a record that was appended before Spread has grown is not stored again
// behind that, nor by a writer that still has the smaller number.
func TestAppendOnceSpread(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	began := time.Now()
	for _, spread := range []int{1, 3, 8, 3, 1} {
		claims := openLog(t, s, &logtail.Options{Spread: spread})
		for i := range 30 {
			_, err := claims.AppendOnce(t.Context(), fmt.Sprint("id", i), began, &claim{1, i})
			testkit.NoError(t, err)
		}
		read := 0
		for _, err := range claims.Tail(t.Context(), 1000) {
			testkit.NoError(t, err)
			read++
		}
		testkit.Expect(t, fmt.Sprintf("records by Spread %d", spread), read, 30)
	}
	testkit.Expect(t, "rows", len(s.Rows("claims")), 30)
}
