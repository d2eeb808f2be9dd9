package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestUpdateConflicts: the second attempt of Update begins at once with the row that was read after the refusal. Later attempts
// begin with a pause and a read. No change is lost.
func TestUpdateConflicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		conflicts int // by merges of another program
		requests  string
		paused    bool
	}{
		{0, "1 get, 1 replace", false},
		{1, "2 get, 1 merge, 2 replace", false},
		{2, "4 get, 2 merge, 3 replace", true},
		{3, "6 get, 3 merge, 4 replace", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx := context.Background()
			s := &testkit.Hooked{Service: storagetest.New(nil)}
			people, other := peopleOf(t, s, blindOptions()), peopleOf(t, s.Service, nil)
			noError(t, tabledoor.Ensure(ctx, people))
			_, err := other.Insert(ctx, &resident{"S", 1, "a", "x"})
			noError(t, err)
			s.Count()
			n := 0
			s.BeforeRequest = func(r *http.Request) {
				if r.Method == http.MethodPut && n < c.conflicts {
					n++
					noErrorInHook(t, other.MergeAny(ctx, residentAt(1), eMail.Set(strings.Repeat("x", n+1))))
				}
			}
			var seen []string
			start := time.Now()
			e, err := people.Update(ctx, residentAt(1), func(r *resident) error {
				seen = append(seen, r.Email)
				r.Last += "b"
				return nil
			})
			noError(t, err)
			what := fmt.Sprintf("%d conflicts: ", c.conflicts)
			testkit.Expect(t, what+"requests", s.Count().String(), c.requests)
			testkit.Expect(t, what+"paused", time.Since(start) > 0, c.paused)
			testkit.Expect(t, what+"calls", len(seen), c.conflicts+1)
			testkit.Expect(t, what+"the resident", e.Value, resident{"S", 1, "ab", strings.Repeat("x", c.conflicts+1)})
			got, err := people.Get(ctx, residentAt(1))
			noError(t, err)
			testkit.Expect(t, what+"the stored resident", got, e)
		})
	}
}

// TestUpdateConflictWithDeletion: the row is gone after the refusal, or has another type.
func TestUpdateConflictWithDeletion(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := mailTown(t, 1, 1, 1)
	own := &testkit.Hooked{Service: s.Service}
	people, other := mailProgram(t, own), mailProgram(t, s)
	own.BeforeRequest = func(r *http.Request) {
		if r.Method == http.MethodPut {
			own.BeforeRequest = nil
			noErrorInHook(t, other.DeleteAny(ctx, residentAt(1)))
			_, err := residentRows(t, s).Upsert(ctx, residentRow(t, "p_000001", map[string]any{"Last": int64(1)}), table.ReplaceExisting)
			noErrorInHook(t, err)
		}
	}
	change := func(r *resident) error { r.Last = "new"; return nil }
	var de *table.DecodeError
	if _, err := people.Update(ctx, residentAt(1), change); !errors.As(err, &de) || !strings.Contains(err.Error(), "Update people") {
		t.Errorf("another type: got error %v; want a *DecodeError of Update", err)
	}
	noError(t, residentRows(t, s).DeleteAny(ctx, residentAt(1)))
	_, err := other.Insert(ctx, &resident{"S", 1, "a", ""})
	noError(t, err)
	own.BeforeRequest = func(r *http.Request) {
		if r.Method == http.MethodPut {
			own.BeforeRequest = nil
			noErrorInHook(t, other.DeleteAny(ctx, residentAt(1)))
		}
	}
	if _, err := people.Update(ctx, residentAt(1), change); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("deleted: got error %v; want ErrNotFound", err)
	}
}
