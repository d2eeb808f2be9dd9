package table_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// stream returns a stream of n operations.
func stream(n int, op func(int) table.Op) iter.Seq2[table.Op, error] {
	return func(yield func(table.Op, error) bool) {
		for i := range n {
			if !yield(op(i), nil) {
				return
			}
		}
	}
}

// residentInserts returns n inserts of residents for stream.
func residentInserts(people *table.Table[resident], n int) (int, func(int) table.Op) {
	return n, func(i int) table.Op { return people.InsertOp(&resident{"S", i + 1, "L", ""}) }
}

// TestBulkSkip: Skip is called for an operation that is refused for its own sake, and for no other error.
func TestBulkSkip(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	never := &engine.BulkOptions{Skip: func(i int, err error) bool {
		t.Errorf("Skip was called for operation %d: %v; want no call", i, err)
		return true
	}}
	ends := func(what string, people *table.Table[resident], want error) {
		t.Helper()
		r, err := door.Bulk(ctx, stream(residentInserts(people, 3)), never)
		var be *table.BatchError
		if !errors.Is(err, want) || !errors.As(err, &be) || r != (engine.BulkResult{}) {
			t.Errorf("%s: got %+v %v; want %v and a *table.BatchError and r == engine.BulkResult{}", what, r, err, want)
		}
	}
	// The outbox fails with an error of a transaction or a limit of its own.
	for _, outboxErr := range []error{&table.BatchError{Index: 5, Err: table.ErrExists}, &table.BatchError{Index: 1, Err: table.ErrExists}, &table.LimitError{Limit: "of a queue"}} {
		people, _ := townWithEffects(t, &memoryOutbox{notifyErr: &table.OpError{Op: "Transact", Err: outboxErr}})
		ends(outboxErr.Error(), people, table.ErrOutbox)
	}
	// A row that the plan needs cannot be read.
	people, s := newTown(t, nil)
	s.SetFaults(storagetest.OfKind(requests.Get, storagetest.Refuse(403, "AuthorizationFailure")))
	r, err := door.Bulk(ctx, stream(residentInserts(people, 3)), never)
	if err == nil || r != (engine.BulkResult{}) {
		t.Errorf("got %+v, %v; want an error and r == engine.BulkResult{}", r, err)
	}
	// An exact write is refused for a reason that may pass, and its abort record cannot be stored.
	people, s = newTown(t, nil)
	exact := peopleOf(t, s, nil).Exact()
	insertAll(t, exact, s, resident{"S", 2, "L", ""})
	s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Refuse(403, "AuthorizationFailure")))
	ends("unknown", exact, table.ErrUnknownOutcome)
	_ = people
}

// TestBulkRepeated: a stream of inserts that was applied before does not cost a request for each insert, and Skip is called for
// each.
func TestBulkRepeated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, people := range map[string]func(t *testing.T) (*table.Table[resident], *testkit.Hooked){
		"without maintainers": func(t *testing.T) (*table.Table[resident], *testkit.Hooked) {
			_, s := newTown(t, nil)
			return peopleOf(t, s, nil), s
		},
		"with maintainers": func(t *testing.T) (*table.Table[resident], *testkit.Hooked) { return newTown(t, nil) },
	} {
		people, s := people(t)
		one := func(i int) table.Op { return people.InsertOp(&resident{"S", i + 1, "L", ""}) }
		_, err := door.Bulk(ctx, stream(90, func(i int) table.Op { return one(2 * i) }), nil)
		noError(t, err)
		s.Count()
		var skipped []int
		r, err := door.Bulk(ctx, stream(180, one), &engine.BulkOptions{Skip: func(i int, err error) bool {
			var be *table.BatchError
			if !errors.Is(err, table.ErrExists) || !errors.As(err, &be) || be.Index != i || be.Key.PartitionKey() != "S" {
				t.Errorf(`%s: got %d: %v; want ErrExists and a *table.BatchError and be.Index == %v and be.Key.PartitionKey() == "S"`, what, i, err, i)
			}
			skipped = append(skipped, i)
			return true
		}})
		if err != nil || r.Applied != 90 || r.Skipped != 90 || len(skipped) != 90 || len(s.Rows("people")) < 180 {
			t.Errorf(`%v: got %+v, %v; want no error and r.Done == 90 and r.Skipped == 90 and len(skipped) == 90 and len(s.Rows("people")) >= 180`, what, r, err)
		}
		counts := s.Count().String()
		t.Log(what, counts)
		if strings.Contains(counts, "90") {
			t.Errorf(`%v: got %q; want "90" not in counts`, what, counts)
		}
	}
}

// TestBulkMaintained: derived rows change in the transactions of their entities.
func TestBulkMaintained(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	n := 300
	_, err := door.Bulk(ctx, stream(n, func(i int) table.Op {
		return people.InsertOp(&resident{"S", i + 1, fmt.Sprint("L", i%5), fmt.Sprint("m", i)})
	}), nil)
	noError(t, err)
	if err := checkDerivedRows(s.Service); err != nil {
		t.Error(err)
	}
	// A transaction contains 47 residents: two operations for each, and those of the five lists, which are read once. The
	// next resident is planned too, since only its plan shows that it does not fit.
	if got := s.Count().String(); got != "5 get, 7 transaction" {
		t.Errorf("got %q; want %q", got, "5 get, 7 transaction")
	}
	r, err := table.BulkDelete(ctx, people, table.Query[resident]{Partition: dept.PartitionKey("S"), Where: lastName.Eq("L3")}, nil)
	if err != nil || r.Changed != 60 {
		t.Errorf("got %+v, %v; want no error and r.Done == 60", r, err)
	}
	if err := checkDerivedRows(s.Service); err != nil {
		t.Error(err)
	}
	base, err := bare.NewTable(serviceOf(t, s), "people", peopleSchema, nil)
	noError(t, err)
	if _, err := table.BulkDelete(ctx, base, table.Query[resident]{Partition: dept.PartitionKey("S")}, nil); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("got %v; want ErrUnknownMaintainer", err)
	}
}

// TestBulkMissingRequests: deletes by key that find no row do not take a transaction each, and rows are read by queries.
func TestBulkMissingRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	_, err := door.Bulk(ctx, stream(50, func(i int) table.Op { return people.InsertOp(&resident{"S", 2 * i, "L", ""}) }), nil)
	noError(t, err)
	s.Count()
	r, err := door.Bulk(ctx, stream(100, func(i int) table.Op { return people.DeleteAnyOp(residentAt(i)) }), nil)
	if err != nil || r.Applied != 50 || r.Missing != 50 {
		t.Errorf("got %+v, %v; want no error and r.Done == 50 and r.Missing == 50", r, err)
	}
	if got := s.Count().String(); got != "1 get, 2 query, 1 transaction" { // the shared list, and the rows: as many as surely fit, and then all
		t.Errorf("got %q; want %q", got, "1 get, 2 query, 1 transaction")
	}
}
