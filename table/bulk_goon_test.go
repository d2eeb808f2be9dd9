package table_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestBulkGoesOn: after an error, the same stream goes on at the token: no operation before it is sent again, Skip receives the key
// and the number in the whole stream, and the end has no token.
func TestBulkGoesOn(t *testing.T) {
	t.Parallel()
	staff, s := newBulkStaff()
	const n = 250
	for _, id := range []int{120, 240} {
		_, err := staff.Insert(t.Context(), &employee{"Sales", id, "Here", 30})
		noError(t, err)
	}
	inserts := func(i int) table.Op { return staff.InsertOp(&employee{"Sales", i, "New", 40}) }
	first, err := table.Bulk(t.Context(), stream(n, inserts), &table.Pass{Concurrency: 1})
	if !errors.Is(err, table.ErrExists) || first.Token != "100" || first.Changed != 100 || first.Rows != 100 {
		t.Errorf("got %+v, %v; want ErrExists behind 100 inserts", first, err)
	}
	var skipped []string
	var last table.Progress
	second, err := table.Bulk(t.Context(), stream(n, inserts), &table.Pass{
		Token: first.Token,
		Skip: func(k keys.Key, err error) bool {
			var be *table.BatchError
			errors.As(err, &be)
			skipped = append(skipped, fmt.Sprint(be.Index, k))
			return true
		},
		Progress: func(p table.Progress) { last = p },
	})
	noError(t, err)
	testkit.Expect(t, "skipped", fmt.Sprint(skipped), "[120 ('Sales','empid_000120') 240 ('Sales','empid_000240')]")
	if second.Token != "" || second.Changed != n-102 || second.Skipped != 2 || second.Rows != n-100 || last.Token != "250" {
		t.Errorf("got %+v, and the last progress %+v; want the other %d inserts", second, last, n-102)
	}
	testkit.Expect(t, "rows", len(s.Rows("staff")), n)
}
