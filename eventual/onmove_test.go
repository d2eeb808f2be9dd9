package eventual_test

import (
	"context"
	"slices"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/table"
)

// TestOnMove: a move to another partition, another table or another RowKey is told from an insert and a delete, and is one effect.
func TestOnMove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := noPauses()
	o, _ := newOffice(t, c)
	news := bare.OnChange("news", func(c *extend.Change[clerk]) (string, bool) {
		if from, moved := c.MovedFrom(); moved {
			return from.String() + " to " + c.Key.String(), true
		}
		if _, moves := c.MovedTo(); moves {
			return "", false
		}
		switch {
		case c.Old == nil:
			return "hired " + c.Key.String(), true
		case c.New == nil:
			return "left " + c.Key.String(), true
		}
		return "changed " + c.Key.String(), true
	})
	base, err := bare.NewTable(o.acc.Tables(), "staff", schema, &table.Options{Common: c})
	noError(t, err)
	staff, err := baretest.WithOutbox(base, o.out, news)
	noError(t, err)
	others, err := bare.NewTable(o.acc.Tables(), "others", schema, &table.Options{Common: c})
	noError(t, err)
	door.Table(others).Kin = new(engine.Kin)
	door.Table(others).Kin.Add("staff")
	noError(t, tabledoor.Ensure(ctx, others))
	others, err = baretest.WithOutbox(others, o.out, news)
	noError(t, err)

	e, err := staff.Insert(ctx, &clerk{"S", 1, "Jones"})
	noError(t, err)
	e.Value.Last = "Smith"
	noError(t, staff.Replace(ctx, e))
	e.Value.Dept = "M"
	noError(t, staff.Move(ctx, e))
	e.Value.ID = 2
	noError(t, staff.Move(ctx, e))
	noError(t, staff.MoveTo(ctx, others, e))
	noError(t, others.Delete(ctx, e))

	var got []string
	note := func(_ context.Context, _ eventual.Job, news string) error { got = append(got, news); return nil }
	opt := fastPolling()
	opt.Concurrency = 1
	drain(t, o.worker(t, opt, bare.NewHandler("news", staff, note), bare.NewHandler("news", others, note)))
	slices.Sort(got)
	testkit.Expect(t, "effects", got, []string{
		"('M','c_000001') to ('M','c_000002')",
		"('M','c_000002') to ('M','c_000002')",
		"('S','c_000001') to ('M','c_000001')",
		"changed ('S','c_000001')",
		"hired ('S','c_000001')",
		"left ('M','c_000002')",
	})
}
