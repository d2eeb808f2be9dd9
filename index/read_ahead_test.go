package index_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestReadAhead: with ReadAhead, a query of an index yields the same entities by the same requests.
func TestReadAhead(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, ix := range map[string]*index.Index[worker, string]{
		"full copies": index.New("last", keys.Ordered(), name, nil),
		"projected":   index.New("last", keys.Ordered(), name, nil).Only(last),
		"pointers":    index.New("last", keys.Ordered(), name, nil).Only(),
	} {
		staff, s := newStaff(t, ix)
		for i := range 25 {
			insertAll(t, staff, s, worker{"S", i, "Cao", "", 30, nil})
		}
		for _, c := range []table.Query[worker]{
			{PageSize: 4}, {PageSize: 4, Limit: 8}, {PageSize: 4, Limit: 10}, {Limit: 4},
			{PageSize: 4, Budget: table.Budget{Requests: 3}}, {PageSize: 4, Budget: table.Budget{Requests: 14}}, {PageSize: 4, Budget: table.Budget{Rows: 12}},
		} {
			var got []string
			for _, ahead := range []bool{false, true} {
				s.Count()
				c.Partition, c.Rows, c.ReadAhead, c.Stats, c.Cursor = sales, ix.Value("Cao"), ahead, new(table.Stats), new(table.Cursor)
				var ids []int
				spent := false
				for e, err := range ix.Query(ctx, staff, c) {
					if spent = errors.Is(err, table.ErrBudget); spent {
						break
					}
					check(t, err)
					ids = append(ids, e.Value.ID)
				}
				got = append(got, fmt.Sprint(ids, spent, *c.Stats, c.Cursor.Token(), " by ", s.Count()))
			}
			testkit.Expect(t, fmt.Sprintf("%s, limit %d, %+v", what, c.Limit, c.Budget), got[1], got[0])
		}
	}
}
