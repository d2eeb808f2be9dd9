package reconcile_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/table"
)

// TestStalledWorker: a worker stalls between its read of the entity and its next request. Meanwhile the entity changes, and another
// worker brings the rows up to date. The stalled worker must not bring back what it has read.
func TestStalledWorker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ first, meanwhile, want string }{
		"a new value":        {"Smith", "Brown", "Brown"},
		"back to the former": {"Smith", "Jones", "Jones"}, // where nothing seems to change for the other worker
		"inserted again":     {"", "Jones", "Jones"},
		"deleted":            {"Smith", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s := newScene(t)
			e, err := s.staff.Insert(ctx, &employee{"Sales", 1, "Jones"})
			testkit.NoError(t, err)
			testkit.NoError(t, s.worker.Drain(ctx))
			change := func(name string) error {
				if name == "" {
					return s.staff.DeleteAny(ctx, e.Key)
				}
				_, err := s.staff.Upsert(ctx, &employee{"Sales", 1, name}, table.ReplaceExisting)
				return err
			}
			testkit.NoError(t, change(c.first))

			other := s.open(t, s.Service)
			var mu sync.Mutex
			read, done := false, false
			hooked := &testkit.Hooked{Service: s.Service, BeforeRequest: func(r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/staff(") && strings.Contains(r.URL.Path, "empid_") {
					read = true
				} else if read && !done {
					done = true
					if err := change(c.meanwhile); err != nil {
						t.Errorf("the write meanwhile: got error %v", err)
					}
					if err := other.worker.Drain(ctx); err != nil {
						t.Errorf("the other worker: got error %v", err)
					}
				}
			}}
			testkit.NoError(t, s.open(t, hooked).worker.Drain(ctx))
			var live []string
			for _, r := range s.Rows("names") {
				if r.Get("_sys") == "empid_000001//Sales" {
					live = append(live, r.PartitionKey)
				}
			}
			testkit.Expect(t, "rows", strings.Join(live, " "), c.want)
			testkit.Expect(t, "stalled", done, true)
		})
	}
}
