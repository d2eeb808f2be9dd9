package jobs_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestVerifyDefinitions: a job of jobs.Verify repairs the rows of the definitions that it names, those
// of all if it names none.
func TestVerifyDefinitions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   []string
		want map[string]int
	}{
		{nil, map[string]int{"first": 10, "second": 10}},
		{[]string{"second"}, map[string]int{"second": 10}},
		{[]string{"first", "second"}, map[string]int{"first": 10, "second": 10}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := storagetest.New(nil)
			ctx, stop := context.WithCancel(t.Context())
			store := aztablekit.Open(s, "office", &aztablekit.Options{Daily: -1})
			byLast := func(name string) *index.Index[clerk, string] {
				of := func(c *clerk) (string, bool) { return c.Last, true }
				return index.New(name, keys.Text(), of, &index.Options{Pointer: true}) // no write refreshes its rows
			}
			check := jobs.Verify[clerk]("check")
			staff := aztablekit.Table(store, "staff", dept, empid, byLast("first"), byLast("second"), check)
			testkit.NoError(t, store.Ensure(ctx))
			for i := range 10 {
				_, err := staff.Insert(ctx, &clerk{Dept: "Sales", ID: i, Last: "Jones"})
				testkit.NoError(t, err)
			}
			count := func(drop bool) map[string]int {
				all := map[string]int{}
				for _, r := range s.Rows("staff") {
					name, _, _ := strings.Cut(r.RowKey, "_")
					if name != "first" && name != "second" {
						continue
					}
					all[name]++
					if drop {
						_, err := s.Tables().NewClient("staff").DeleteEntity(ctx, r.PartitionKey, r.RowKey, nil)
						testkit.NoError(t, err)
					}
				}
				return all
			}
			testkit.Expect(t, "rows before", len(count(true)), 2)
			testkit.NoError(t, check.Start(ctx, "1", jobs.Verification{Definitions: c.of, Repair: true}, nil))
			ended := make(chan error)
			go func() { ended <- store.Run(ctx) }()
			time.Sleep(time.Minute)
			status, err := check.Status(ctx, "1")
			testkit.NoError(t, err)
			stop()
			testkit.NoError(t, <-ended)
			got := count(false)
			if status.State != jobs.Finished || got["first"] != c.want["first"] || got["second"] != c.want["second"] {
				t.Errorf("definitions %q: got %v rows, %+v; want %v", c.of, got, status, c.want)
			}
		})
	}
}
