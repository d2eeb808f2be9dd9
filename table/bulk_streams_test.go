package table_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestBulkCompleting: an effect is completed in the same transaction as its operation, wherever the stream is cut into
// transactions.
func TestBulkCompleting(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, at := range []int{0, 10, 49, 80} {
		people, s, _, e, i := pendingEffect(t)
		r, err := table.Bulk(ctx, stream(81, func(n int) table.Op {
			if n == at {
				return people.Completing(i, 0).DeleteOp(e)
			}
			return people.InsertOp(&resident{"S", n + 10, "Jones", fmt.Sprint("m", n)})
		}), nil)
		if err != nil || r.Done != 81 {
			t.Errorf("%v: got %+v, %v; want no error and r.Done == 81", at, r, err)
		}
		is, err := people.CommitRecords().Get(ctx, keys.Raw("S"), i.OperationID)
		noError(t, err)
		for _, r := range s.Rows("people") {
			if r.RowKey == e.Key.RowKey() {
				t.Errorf("operation %d: got the effect %v without its write; want both or neither", at, is.State)
			}
		}
	}
}

// TestBulkMissingRequests: deletes by key that find no row do not take a transaction each, and no row is read twice.
func TestBulkMissingRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	_, err := table.Bulk(ctx, stream(50, func(i int) table.Op { return people.InsertOp(&resident{"S", 2 * i, "L", ""}) }), nil)
	noError(t, err)
	s.Count()
	r, err := table.Bulk(ctx, stream(100, func(i int) table.Op { return people.DeleteAnyOp(residentAt(i)) }), nil)
	if err != nil || r.Done != 50 || r.Missing != 50 {
		t.Errorf("got %+v, %v; want no error and r.Done == 50 and r.Missing == 50", r, err)
	}
	if got := s.Count().String(); got != "101 get, 1 transaction" { // the row of each, and the shared list
		t.Errorf("got %q; want %q", got, "101 get, 1 transaction")
	}
}

// refusesFirst is a maintainer that refuses one resident and inserts a row for another.
type refusesFirst struct{}

func (refusesFirst) Name() string { return "one" }
func (refusesFirst) MaxRows() int { return 1 }

func (refusesFirst) Maintain(_ context.Context, p *table.Plan, c *table.Change[resident]) error {
	switch {
	case c.New == nil:
	case c.New.ID == 1:
		return errors.New("refused")
	case c.New.ID == 2:
		return p.Insert(&table.Row{Key: residentAt(9)}, nil)
	}
	return nil
}

// TestBulkSlowStream: a write does not wait for the next operation of a slow stream, even after a refusal.
func TestBulkSlowStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, s := newTown(t, nil)
		people, err := peopleOf(t, s, nil).With(refusesFirst{})
		noError(t, err)
		r, err := table.Bulk(context.Background(), func(yield func(table.Op, error) bool) {
			for i := 1; i <= 6; i++ {
				if i == 3 || i == 5 {
					time.Sleep(time.Hour)
				}
				if !yield(people.InsertOp(&resident{"S", i, "L", ""}), nil) {
					return
				}
			}
		}, &table.BulkOptions{Window: 2, Skip: func(int, error) bool { return true }})
		if err != nil || r.Done != 5 || r.Skipped != 1 {
			t.Errorf("got %+v, %v; want no error and r.Done == 5 and r.Skipped == 1", r, err)
		}
	})
}

// TestBulkMissingBeforeInsert: a delete that finds no row does not conflict with a later insert of the row.
func TestBulkMissingBeforeInsert(t *testing.T) {
	t.Parallel()
	_, s := newTown(t, nil)
	people, err := peopleOf(t, s, nil).With(refusesFirst{})
	noError(t, err)
	ops := []table.Op{people.DeleteAnyOp(residentAt(9)), people.InsertOp(&resident{"S", 2, "L", ""})}
	r, err := table.Bulk(context.Background(), stream(2, func(i int) table.Op { return ops[i] }), nil)
	if err != nil || r.Done != 1 || r.Missing != 1 {
		t.Errorf("got %+v, %v; want no error and r.Done == 1 and r.Missing == 1", r, err)
	}
}
