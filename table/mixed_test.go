package table_test

import (
	"context"
	"errors"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestMixedErrors: Get and List return the error of an invalid key, of a request, and of a row that does not fit its type.
func TestMixedErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	staff, err := bare.NewTable(s.Tables(), "staff", table.Schema[employee]{
		Partition: keys.Partition(dept, func(e *employee) *string { return &e.Department }),
		Row:       keys.Row(empid, func(e *employee) *int { return &e.ID }),
	}, nil)
	testkit.NoError(t, err)
	testkit.NoError(t, tabledoor.Ensure(ctx, staff))
	reader, err := table.NewMixed(staff)
	testkit.NoError(t, err)
	for id := range 2 {
		_, err = staff.Insert(ctx, &employee{"Sales", id, "Jones", 44})
		testkit.NoError(t, err)
	}
	key := func(id int) keys.Key { return keys.At(dept.PartitionKey("Sales"), empid.RowKey(id)) }
	testkit.NoError(t, reader.Rows().MergeAny(ctx, key(1), table.PropertyOf[string]("Age").Set("old")))
	list := func(q table.Query[table.Row]) (n int, last error) {
		for x, err := range reader.List(ctx, q) {
			if last = err; err == nil && x != nil {
				n++
			}
		}
		return n, last
	}
	all := table.Query[table.Row]{Partition: dept.PartitionKey("Sales")}
	s.Count()
	var ke *keys.KeyError
	if x, err := reader.Get(ctx, key(-1)); !errors.As(err, &ke) {
		t.Errorf("Get by an invalid key: got %v, error %v; want a *keys.KeyError", x, err)
	}
	testkit.Expect(t, "requests", s.Count().String(), "none")
	var de *table.DecodeError
	if x, err := reader.Get(ctx, key(1)); !errors.As(err, &de) {
		t.Errorf("Get of a row that does not fit: got %v, error %v; want a *table.DecodeError", x, err)
	}
	if n, err := list(all); n != 1 || !errors.As(err, &de) {
		t.Errorf("List: got %d entities, error %v; want 1 and a *table.DecodeError", n, err)
	}
	if x, err := reader.Get(ctx, key(9)); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Get of no row: got %v, error %v; want ErrNotFound", x, err)
	}
	s.SetFaults(storagetest.First(storagetest.OfKind(requests.Query, storagetest.Refuse(403, "AuthorizationFailure")), storagetest.OfKind(requests.Get, storagetest.Refuse(403, "AuthorizationFailure"))))
	var re *azcore.ResponseError
	if n, err := list(all); n != 0 || !errors.As(err, &re) {
		t.Errorf("List that is refused: got %d entities, error %v; want an *azcore.ResponseError", n, err)
	}
	if x, err := reader.Get(ctx, key(0)); !errors.As(err, &re) {
		t.Errorf("Get that is refused: got %v, error %v; want an *azcore.ResponseError", x, err)
	}
}
