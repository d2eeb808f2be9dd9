package table_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestViewTypes: a view of a type that does not fit the table's type is a *table.TypeError that names the field.
func TestViewTypes(t *testing.T) {
	t.Parallel()
	type other struct{ FirstName string }
	type number struct{ LastName int32 }
	type everything struct {
		LastName string
		Others   map[string]any `table:",extra"`
	}
	type invalid struct{ LastName chan int }
	staff := sales(nil)
	_, err1 := table.ViewOf[other](staff)
	_, err2 := table.ViewOf[number](staff)
	_, err3 := table.ViewOf[everything](staff)
	_, err4 := table.ViewOf[invalid](staff)
	for says, err := range map[string]error{"FirstName": err1, "Edm.String": err2, "unknown columns": err3, "LastName": err4} {
		var te *table.TypeError
		if !errors.As(err, &te) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), staff.Name()) {
			t.Errorf("got error %v; want a *table.TypeError with %s and %s", err, says, staff.Name())
		}
	}
}

// TestViewGet: Get returns the properties of one row, or says that there is none.
func TestViewGet(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type name struct{ LastName string }
	names, err := table.ViewOf[name](sales(nil))
	if err != nil {
		t.Fatalf("got error %v, want none", err)
	}
	if n, err := names.Get(ctx, employeeKey("Sales", 2)); err != nil || n.Value.LastName != "Smith" {
		t.Errorf("got %v, error %v; want Smith", n, err)
	}
	if n, err := names.Get(ctx, keys.At(dept.PartitionKey("Sales"), empid.RowKey(9))); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("a row that does not exist: got %v, error %v; want ErrNotFound", n, err)
	}
	var ke *keys.KeyError
	if n, err := names.Get(ctx, keys.At(dept.PartitionKey("Sales"), empid.RowKey(-1))); !errors.As(err, &ke) {
		t.Errorf("an invalid key: got %v, error %v; want a *keys.KeyError", n, err)
	}
}
