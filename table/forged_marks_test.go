package table_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestForgedMarksAreBounded: the holder of a signature for one partition forges marks, and a
// program that may write everything reads the rows. What that stores elsewhere is one abort record
// for each mark with a preparation, and only in tables of the store.
func TestForgedMarksAreBounded(t *testing.T) {
	t.Parallel()
	const forged = 3
	for _, c := range []struct {
		what     string
		home     string
		ahead    time.Duration
		prepared bool
		want     int // abort records
	}{
		{"with preparations", "people/S", 0, true, forged},
		{"in a partition that does not exist", "people/new", 0, true, forged},
		{"without preparations", "people/S", 0, false, 0},
		{"of another table", "strangers/S", 0, true, 0},
		{"of the day after tomorrow", "people/S", 48 * time.Hour, true, 0},
		{"of the day before yesterday", "people/S", -48 * time.Hour, true, 0},
	} {
		ctx := context.Background()
		s := storagetest.New(nil)
		service := serviceOf(t, s)
		people := openLeaversTable(t, service, s.Now, "people")
		left := openLeaversTable(t, service, s.Now, "leavers", "people")
		strangers := openLeaversTable(t, service, s.Now, "strangers")
		for _, tab := range []*table.Table[resident]{people, left, strangers} {
			noError(t, tabledoor.Ensure(ctx, tab))
			_, err := tab.Insert(ctx, &resident{Dept: "S", ID: 1, Last: "Jones"})
			noError(t, err)
		}
		forge := func(row string) {
			t.Helper()
			_, err := s.Tables().NewClient("leavers").AddEntity(ctx, []byte(row), nil)
			noError(t, err)
		}
		for i := range forged {
			id := fmt.Sprintf("%s%016d", commit.IDTime(s.Now().Add(c.ahead-time.Hour)), i)
			forge(fmt.Sprintf(`{"PartitionKey":"X","RowKey":"p_%06d","Last":"F","_tx":"%s/%s/insert/0/"}`, i, id, c.home))
			if c.prepared {
				forge(fmt.Sprintf(`{"PartitionKey":"X","RowKey":"~t|%s","_v":1,"Home":%q,"State":"prepared",`+
					`"Rows":"[{\"row\":\"p_%06d\",\"fate\":\"insert\"}]"}`, id, c.home, i))
			}
		}
		x := table.Query[resident]{Partition: dept.PartitionKey("X")}
		for range 3 {
			for i := range forged {
				_, _ = left.Get(ctx, keys.At(x.Partition, residentID.Of(i))) // which error is not this test's
			}
			_, err := table.Collect(left.List(ctx, x))
			noError(t, err)
		}
		got := map[string]int{}
		for _, name := range []string{"people", "strangers"} {
			for _, r := range s.Rows(name) {
				if strings.HasPrefix(r.RowKey, "~i|") && r.Get("State") == "aborted" {
					got[name]++
				} else {
					got[name+" "+r.RowKey]++
				}
			}
		}
		want := map[string]int{"people p_000001": 1, "strangers p_000001": 1}
		if c.want > 0 {
			want["people"] = c.want
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got the rows %v elsewhere, want %v", c.what, got, want)
		}
	}
}
