package table_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestPrimarysOwn: what is kept with one entity does not wander to other rows.
func TestPrimarysOwn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := town(t, nil)
	put(t, people, s, resident{"S", 1, "Jones", "a"})
	rows := byHand(s)
	r, err := rows.Get(ctx, residentAt(1))
	check(err)
	twin := r.Value.At(residentAt(2))
	check(twin.Set("Email", "b"))
	_, err = rows.Insert(ctx, twin)
	check(err)
	check(people.DeleteAny(ctx, residentAt(2)))
	there := false
	for _, row := range s.Rows("people") {
		there = there || row.RowKey == "email_a"
	}
	if !there {
		t.Error("the index row of another entity was deleted")
	}
	plain := peopleOf(s.ConnectionString(), s, nil)
	e, err := plain.Get(ctx, residentAt(1))
	check(err)
	if err := plain.ReplaceAny(ctx, e); !errors.Is(err, table.ErrUnknownMaintainer) {
		t.Error(err)
	}

	// Full copies of rows of any type.
	all, err := rows.With(nil, copies{})
	check(err)
	one, err := all.Insert(ctx, handmade("any", map[string]any{"X": 1}))
	check(err)
	check(one.Value.Set("X", 2))
	check(all.Replace(ctx, one))
	for _, row := range s.Rows("people") {
		switch row.RowKey {
		case "copy_any":
			if row.Get("X") != int64(2) || row.Get("_ix") != nil || row.Get("_life") != nil || row.Get("_op") == nil {
				t.Error(row)
			}
		case "any":
			if row.Get("_ix") == nil || row.Get("_life") == nil {
				t.Error(row)
			}
		}
	}
	check(all.Delete(ctx, one))
}

// copies is a maintainer of rows of any type.
type copies struct{}

func (copies) Name() string { return "copies" }
func (copies) MaxRows() int { return 1 }
func (copies) Maintain(_ context.Context, p *table.Plan, c *table.Change[table.Row]) error {
	k := keys.At(keys.Raw("S"), keys.Raw("copy_"+c.Key.RowKey()))
	if c.New == nil {
		return p.Remove(k.Row())
	}
	c.Incarnation()
	c.SetState("x")
	if c.Old == nil {
		return p.Insert(c.New.At(k), nil)
	}
	return p.Put(c.New.At(k))
}
