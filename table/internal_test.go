package table_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestRowsOf: a handle of RowsOf writes a copy as a row of its own, and a handle that ignores corrupt state writes the entity again.
func TestRowsOf(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, err := bare.With(newTable(staffSchema), byAgeCopy{})
	noError(t, err)
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	noError(t, err)
	at := func(rowKey string) keys.Key { return keys.At(dept.PartitionKey("Sales"), keys.RawRow(rowKey)) }
	row, err := tabledoor.GetRow(ctx, staff, at("age_44"))
	noError(t, err)
	if k, isCopy := (*stored.Row)(row).Primary(); !isCopy || k != at("empid_000001") {
		t.Errorf("got a copy: %v, of %v; want a copy of %v", isCopy, k, at("empid_000001"))
	}
	rows := door.Rows[table.Table[table.Row]](door.Table(staff), false)
	e, err := rows.Entity(row)
	noError(t, err)
	if e.Key != row.Key || e.ETag != row.ETag {
		t.Errorf("got %v %s, want the copy itself, %v %s", e.Key, e.ETag, row.Key, row.ETag)
	}
	noError(t, rows.Delete(ctx, e))
	row, err = tabledoor.GetRow(ctx, staff, at("empid_000001"))
	noError(t, err)
	if state := (*stored.Row)(row).MaintainerState("age"); (*stored.Row)(row).StateCorrupt() || len(state) > 0 {
		t.Errorf("got state %q, corrupt: %v; want none", state, (*stored.Row)(row).StateCorrupt())
	}
	jones, err := staff.Get(ctx, at("empid_000001"))
	noError(t, err)
	jones.Value.Age++
	noError(t, door.InMode(staff, func(m *engine.Mode) { m.IgnoreCorruptState = true }).Replace(ctx, jones))
	_, err = tabledoor.GetRow(ctx, staff, at("age_45"))
	noError(t, err)
}

// logged notes the key of each entity whose derived rows are written.
type logged struct {
	extend.Maintainer[employee]
	log *[]string
}

func (m logged) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	*m.log = append(*m.log, fmt.Sprint(m.Name(), c.Key))
	return m.Maintainer.Maintain(ctx, p, c)
}

// TestInMode: the same handle with other maintainers of the same names writes entities that the first has read.
func TestInMode(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, err := bare.With(newTable(staffSchema), byAgeCopy{})
	noError(t, err)
	jones, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 7})
	noError(t, err)
	var log []string
	var others []extend.Maintainer[employee]
	for _, m := range door.Table(staff).Mode.Maintainers {
		others = append(others, logged{m.Typed().(extend.Maintainer[employee]), &log})
	}
	loud, err := bare.With(door.InMode(staff, func(m *engine.Mode) { m.Maintainers = nil }), others...)
	noError(t, err)
	noError(t, loud.Replace(ctx, jones))
	if got, want := fmt.Sprint(log), "[age('Sales','empid_000001')]"; got != want || door.Table(loud).Mode.Maintainer("age") == nil {
		t.Errorf("got %s, %v; want %s", got, door.Table(loud).Mode.Maintainer("age"), want)
	}
}

// TestSchema: the ranges, the scope and the fields of a schema.
func TestSchema(t *testing.T) {
	t.Parallel()
	staff := newTable(staffSchema)
	s := door.Table(staff).Mode.Schema
	if got, want := fmt.Sprintln(s.Partitions(), s.Rows(), s.Scope()), "[, ~) [empid_, empid`) empid_\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for rowKey, want := range map[string]bool{"empid_000001": true, "team_Jones": false} {
		if got := s.Mine(&stored.Row{Key: keys.At(dept.PartitionKey("Sales"), keys.RawRow(rowKey))}); got != want {
			t.Errorf("%s: got mine: %v, want %v", rowKey, got, want)
		}
	}
	names, err := s.Properties(table.FieldOf(func(e *employee) *string { return &e.Last }), table.FieldOf(func(e *employee) *int { return &e.ID }))
	if err != nil || fmt.Sprint(names) != "[LastName]" {
		t.Errorf("got %q, %v; want LastName, and none for a field of the key", names, err)
	}
	var te *table.TypeError
	if _, err := s.Properties(table.FieldOf(func(*employee) *string { return new(string) })); !errors.As(err, &te) {
		t.Errorf("got %v, want a *TypeError", err)
	}
	v, err := s.Projected(&employee{"Sales", 1, "Jones", 44}, "Age")
	noError(t, err)
	if got, want := *v.(*employee), (employee{"Sales", 1, "", 44}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
