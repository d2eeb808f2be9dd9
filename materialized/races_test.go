package materialized_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/table"
)

// TestSlowWorker: while a worker is about to write a derived entity, the entity changes, and another worker executes the change.
// The slow worker does not overwrite it.
func TestSlowWorker(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		name      string
		before    []int64 // salaries that the view has followed before: the first one of the insert, 0 for none
		write     int64   // that the slow worker executes
		meanwhile []int64 // -1 deletes the employee
		members   string
	}{
		{"a changed entity", []int64{10}, 20, []int64{30}, "1:Sales:30"},
		{"there and back", []int64{10}, 20, []int64{10}, "1:Sales:10"},
		{"a deleted entity", []int64{10}, 20, []int64{-1}, "gone:1"},
		{"an entity that leaves the view", []int64{10}, 20, []int64{0}, "gone:1"},
		{"a new entity is deleted", nil, 20, []int64{-1}, "gone:1"},
		{"a new entity changes, and is deleted", nil, 20, []int64{30, -1}, "gone:1"},
		{"an entity comes back, and leaves the view again", []int64{10, 0}, 20, []int64{0}, "gone:1"},
		{"an entity leaves the view, and comes back", []int64{10}, 0, []int64{10}, "1:Sales:10"},
	} {
		for _, summary := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, setting{summary: summary})
				pay := func(n int64) {
					_, err := s.staff.Get(ctx, employeeKey(1))
					switch {
					case n < 0:
						testkit.NoError(t, s.staff.DeleteAny(ctx, employeeKey(1)))
					case err != nil:
						s.insert(t, "Sales", 1, n)
					default:
						testkit.NoError(t, s.staff.MergeAny(ctx, employeeKey(1), salary.Set(n)))
					}
				}
				for _, n := range c.before {
					pay(n)
					s.drain(t)
				}
				hooked := &testkit.Hooked{Service: s.Service}
				var o table.Options
				o.Retry.Wait, o.Retry.ConflictWait = -1, -1
				options.SetNow(&o.Common, s.Now)
				slow, err := open(s.ConnectionString(), hooked, o, setting{summary: summary})
				testkit.NoError(t, err)
				pay(c.write)
				waited := false
				hooked.BeforeRequest = func(r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "$batch") && !waited {
						waited = true
						for _, n := range c.meanwhile {
							pay(n)
							s.drain(t)
						}
						s.expectConsistent(t)
					}
				}
				slow.drain(t)
				testkit.Expect(t, "the slow worker has waited", waited, true)
				s.Advance(time.Minute)
				s.drain(t)
				testkit.Expect(t, "members", s.members(), c.members)
				s.expectConsistent(t)
			})
		}
	}
}
