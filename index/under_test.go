package index_test

import (
	"context"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestUnderOpenRange: a range without an upper bound, or without any, keeps its lower bound and selects no rows beyond the index.
func TestUnderOpenRange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byEmail, byAge)
	for i, mail := range []string{"a", "b", "c", "d"} {
		insertAll(t, staff, s, worker{"S", i + 1, "Jones", mail, 10 * (i + 1), nil})
	}
	for from, want := range map[string][]int{"": {1, 2, 3, 4}, "c": {3, 4}, "e": nil} {
		q := table.Query[worker]{Partition: sales, Rows: byEmail.Under(keys.RawRows(from, ""))}
		testkit.Expect(t, "workers whose addresses are at least "+from, ids(t, byEmail.Query(ctx, staff, q)), want)
	}
	q := table.Query[worker]{Partition: sales, Rows: byAge.Under(keys.RawRows("030", ""))}
	testkit.Expect(t, "workers aged 30 or over", ids(t, byAge.Query(ctx, staff, q)), []int{3, 4})
}
