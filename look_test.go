package aztablekit_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestRecordsWithoutNotes: a commit record of a program that stores no notes is deleted by one search of the tables: by processes that
// run and by a program that does the work of a day itself, also if the service refuses the search at first.
func TestRecordsWithoutNotes(t *testing.T) {
	t.Parallel()
	// The queries of a table that the search sends and nothing else.
	isSearch := func(q storagetest.Request) bool { return q.Table == "plain" && q.Kind == requests.Query }
	for name, days := range map[string]func(context.Context, *aztablekit.Store, int){
		"processes": func(_ context.Context, s *aztablekit.Store, n int) {
			stop := running(t, s)
			time.Sleep(time.Duration(n)*24*time.Hour + 30*time.Minute)
			stop()
		},
		"by hand": func(ctx context.Context, s *aztablekit.Store, n int) {
			for range n {
				_ = s.RunDaily(ctx) // the search is refused in one of the tests
				time.Sleep(24*time.Hour + time.Minute)
			}
		},
	} {
		for _, refused := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx := context.Background()
					service := storagetest.New(nil)
					store, plain := openPlain(service)
					testkit.NoError(t, store.Ensure(ctx))
					days(ctx, store, 1)
					_, err := plain.Exact().Insert(ctx, &reminder{Group: "A", ID: 1})
					testkit.NoError(t, err)
					for _, r := range service.Rows("noteswork") {
						if r.RowKey != "day" {
							_, err := service.Tables().NewClient("noteswork").DeleteEntity(ctx, r.PartitionKey, r.RowKey, nil)
							testkit.NoError(t, err)
						}
					}
					if refused {
						service.SetFaults(storagetest.When(isSearch, storagetest.Refuse(403, "AuthorizationFailure")))
						days(ctx, store, 3)
						service.SetFaults(nil)
					}
					searches := 0
					service.SetFaults(storagetest.When(func(q storagetest.Request) bool {
						if isSearch(q) {
							searches++
						}
						return false
					}, storagetest.LostRequest()))
					days(ctx, store, 4)
					if left := strings.Join(libraryRows(service), " "); left != "day ~c" {
						t.Errorf("rows of the library: got %q, want %q", left, "day ~c")
					}
					did := searches
					days(ctx, store, 3)
					if did == 0 || searches != did {
						t.Errorf("queries of the search: got %d, and %d later; want some, and none later", did, searches-did)
					}
				})
			})
		}
	}
}
