package table_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// sameRow is a maintainer that derives one row from all residents of a name, as if it were each resident's own.
type sameRow struct{ twice bool }

func (sameRow) Name() string { return "same" }
func (sameRow) MaxRows() int { return 1 }
func (m sameRow) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	if c.New == nil {
		return nil
	}
	row := func() *table.Row { return &table.Row{Key: keys.Raw(c.Key.PartitionKey(), "same_"+c.New.Last)} }
	err := p.Insert(row(), nil)
	if err == nil && m.twice {
		err = p.Insert(row(), nil)
	}
	return err
}

// TestBulkDuplicateRow: an operation that derives one row twice is refused, also if it is alone. It is not sent again and again.
func TestBulkDuplicateRow(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	base := peopleOf(t, s, nil)
	noError(t, tabledoor.Ensure(ctx, base))
	people, err := bare.With(base, sameRow{twice: true})
	noError(t, err)
	for n := 1; n <= 3; n++ {
		var refused []int
		r, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
			for id := range n {
				if !yield(people.InsertOp(&resident{"S", id, "Jones", "a"}), nil) {
					return
				}
			}
		}, &engine.BulkOptions{Skip: func(i int, err error) bool {
			if !errors.Is(err, errs.ErrDuplicateRow) {
				t.Errorf("operation %d: got error %v; want ErrDuplicateRow", i, err)
			}
			refused = append(refused, i)
			return true
		}})
		noError(t, err)
		testkit.Expect(t, "refused and applied", []int{len(refused), r.Applied}, []int{n, 0})
	}
}

// TestBulkEntityInDoubt: an entity gets a write of unknown outcome after its operation was made. The operation alone is refused.
func TestBulkEntityInDoubt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	people := peopleOf(t, s, singleAttempt())
	noError(t, tabledoor.Ensure(ctx, people))
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	var refused []int
	r, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		if !yield(people.InsertOp(&resident{"S", 2, "Jones", "b"}), nil) || !yield(people.DeleteOp(e), nil) || !yield(people.InsertOp(&resident{"S", 3, "Jones", "c"}), nil) {
			return
		}
		s.SetFaults(storagetest.When(func(storagetest.Request) bool { return true }, storagetest.LostRequest()))
		if err := people.Replace(ctx, e); !errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("Replace: got error %v; want ErrUnknownOutcome", err)
		}
		s.SetFaults(nil)
	}, &engine.BulkOptions{Skip: func(i int, err error) bool { refused = append(refused, i); return true }})
	noError(t, err)
	testkit.Expect(t, "refused operations", refused, []int{1})
	testkit.Expect(t, "applied", r.Applied, 2)
	testkit.Expect(t, "rows", storedRows(s), "S/p_000001 S/p_000002 S/p_000003")
}
