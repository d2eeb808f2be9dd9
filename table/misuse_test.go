package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestMisuse: a method that is used wrongly sends nothing, and its error names the mistake.
func TestMisuse(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	staff := newStaff(t, s.Tables())
	noError(t, tabledoor.Ensure(ctx, staff))
	e, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1})
	noError(t, err)
	row, err := tabledoor.GetRow(ctx, staff, e.Key)
	noError(t, err)
	pages, page, err := openVisited(ctx)
	noError(t, err)
	bad := keys.At(dept.PartitionKey("Sales"), empid.RowKey(-1))
	s.Count()
	_, exists := baretest.Exists(ctx, staff, bad)
	_, getRow := tabledoor.GetRow(ctx, staff, bad)
	_, getFields := staff.GetFields(ctx, bad, age)
	_, insertRow := door.InsertRow[*table.Entity[employee]](ctx, staff, keys.Raw("Sales", "~i|1"), (*stored.Row)(row))
	_, insertNil := door.InsertRow[*table.Entity[employee]](ctx, staff, e.Key, nil)
	var many error
	for _, err := range staff.GetMany(ctx, e.Key, bad) {
		many = errors.Join(many, err)
	}
	changed := *e
	changed.Value.ID = -1
	_, update := staff.Update(ctx, e.Key, func(*employee) error { return errors.New("not today") })
	for says, err := range map[string]error{
		"is negative":                exists,
		"GetRow":                     getRow,
		"GetFields":                  getFields,
		"~, which is reserved":       insertRow,
		"nil":                        insertNil,
		"GetMany":                    many,
		"not today":                  update,
		"counted from 0":             pages.Merge(ctx, page, table.ElementOf(func(v *visited) *[]int32 { return &v.Visits }, -1).Set(1)),
		"Move":                       staff.Move(ctx, &changed),
		"MoveTo":                     staff.MoveTo(ctx, nil, e),
		"does not say which columns": json.Unmarshal([]byte(`{"PartitionKey":"p","RowKey":"r","A":"x","_parts":"99x A"}`), &table.Row{}),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got error %v; want one that says %q", err, says)
		}
	}
	testkit.Expect(t, "requests", s.Count().String(), "1 get")
}
