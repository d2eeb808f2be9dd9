package table_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestBulkSettlingCut: an effect is settled with its operation, and with no other, however the stream is cut into transactions.
func TestBulkSettlingCut(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, at := range []int{0, 10, 49, 80} {
		people, s, _, e, i := announced(t)
		r, err := table.Bulk(ctx, stream(81, func(n int) table.Op {
			if n == at {
				return people.Settling(i, 0).DeleteOp(e)
			}
			return people.InsertOp(&resident{"S", n + 10, "Jones", fmt.Sprint("m", n)})
		}), nil)
		if err != nil || r.Done != 81 {
			t.Error(at, r, err)
		}
		is, err := people.Intents().Get(ctx, keys.Raw("S"), i.Op)
		check(err)
		for _, r := range s.Rows("people") {
			if r.RowKey == e.Key.RowKey() {
				t.Error(at, "the effect was settled without its write", is.State)
			}
		}
	}
}

// TestBulkMissingRequests: deletes by key that find nothing take no transaction each, and no row is read twice for others.
func TestBulkMissingRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := town(t, nil)
	_, err := table.Bulk(ctx, stream(50, func(i int) table.Op { return people.InsertOp(&resident{"S", 2 * i, "L", ""}) }), nil)
	check(err)
	s.Count()
	r, err := table.Bulk(ctx, stream(100, func(i int) table.Op { return people.DeleteAnyOp(residentAt(i)) }), nil)
	if err != nil || r.Done != 50 || r.Missing != 50 {
		t.Error(r, err)
	}
	if got := s.Count(); got != "101 get, 1 transaction" { // the row of each, and the list that all are in
		t.Error(got)
	}
}
