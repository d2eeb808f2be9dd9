package table_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// residentInserts returns n inserts of residents for stream.
func residentInserts(people *table.Table[resident], n int) (int, func(int) table.Op) {
	return n, func(i int) table.Op { return people.InsertOp(&resident{"S", i + 1, "L", ""}) }
}

// TestBulkSkip: Skip is called for an operation that is refused for its own sake, and for no other error.
func TestBulkSkip(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	never := &table.BulkOptions{Skip: func(i int, err error) bool {
		t.Errorf("Skip was called for operation %d: %v; want no call", i, err)
		return true
	}}
	ends := func(what string, people *table.Table[resident], want error) {
		t.Helper()
		r, err := table.Bulk(ctx, stream(residentInserts(people, 3)), never)
		var be *table.BulkError
		if !errors.Is(err, want) || !errors.As(err, &be) || r != (table.BulkResult{}) {
			t.Errorf("%s: got %+v %v; want %v and a *BulkError and r == table.BulkResult{}", what, r, err, want)
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
	r, err := table.Bulk(ctx, stream(residentInserts(people, 3)), never)
	if err == nil || r != (table.BulkResult{}) {
		t.Errorf("got %+v, %v; want an error and r == table.BulkResult{}", r, err)
	}
	// An exact write is refused for a reason that may pass, and its abort record cannot be stored.
	people, s = newTown(t, nil)
	exact := peopleOf(t, s, nil).Exact()
	insertAll(t, exact, s, resident{"S", 2, "L", ""})
	s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Refuse(403, "AuthorizationFailure")))
	ends("unknown", exact, table.ErrUnknownOutcome)
	_ = people
}

// TestBulkPanics: a panic in a maintainer reaches the caller of Bulk.
func TestBulkPanics(t *testing.T) {
	t.Parallel()
	_, s := newTown(t, nil)
	people, err := peopleOf(t, s, nil).With(failsWith{})
	noError(t, err)
	defer func() {
		if v := fmt.Sprint(recover()); !strings.Contains(v, "nil pointer") || !strings.Contains(v, "failsWith") {
			t.Errorf(`got %q; want "nil pointer" in v and "failsWith" in v`, v)
		}
	}()
	_, err = table.Bulk(context.Background(), stream(residentInserts(people, 3)), nil)
	t.Errorf("got %v; want a panic", err)
}

// TestBulkCancelled: Bulk reads nothing more from the stream when its context has ended.
func TestBulkCancelled(t *testing.T) {
	t.Parallel()
	staff, _, s := staffInMemory(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	read := 0
	r, err := table.Bulk(ctx, stream(100_000, func(i int) table.Op {
		if read = i; i == 500 {
			cancel()
		}
		return upserts(staff, 100)(i)
	}), nil)
	if !errors.Is(err, context.Canceled) || read > 501 || r.Done != 0 || len(s.Rows("staff")) != 1 {
		t.Errorf(`got %+v, %v, %v; want context.Canceled and read <= 501 and r.Done == 0 and len(s.Rows("staff")) == 1`, r, read, err)
	}
}

// TestBulkMixed: deletes that find no row cost few requests among other operations too.
func TestBulkMixed(t *testing.T) {
	t.Parallel()
	staff, _, s := staffInMemory(t, nil)
	r, err := table.Bulk(context.Background(), stream(100, func(i int) table.Op {
		if i%2 == 0 {
			return staff.DeleteAnyOp(employeeKey("D", i))
		}
		return staff.UpsertOp(&employee{"D", i, "Jones", 30}, table.ReplaceExisting)
	}), nil)
	if got := s.Count().String(); err != nil || r != (table.BulkResult{Done: 50, Missing: 50, ResumeAt: 100}) || !strings.HasSuffix(got, "1 query, 3 transaction") {
		t.Errorf(`got %+v, %v, %q; want no error and r == table.BulkResult{Done: 50, Missing: 50, ResumeAt: 100} and strings.HasSuffix(got, "1 query, 3 transaction")`, r, err, got)
	}
	// After a lost response, a missing row was deleted.
	s.SetFaults(batchFault(1, storagetest.LostResponse()))
	r, err = staff.DeleteQuery(context.Background(), table.Query[employee]{Partition: dept.Of("D")}, nil)
	if err != nil || r != (table.BulkResult{Done: 50, ResumeAt: 50}) {
		t.Errorf("got %+v, %v; want no error and r == table.BulkResult{Done: 50, ResumeAt: 50}", r, err)
	}
}

// exitsGoroutine ends the goroutine that calls it.
type exitsGoroutine struct{ manyRows }

func (exitsGoroutine) Maintain(context.Context, *table.Plan, *table.Change[resident]) error {
	runtime.Goexit()
	return nil
}

// TestBulkGoroutineExits: operations whose goroutine has exited are not counted as done.
func TestBulkGoroutineExits(t *testing.T) {
	t.Parallel()
	_, s := newTown(t, nil)
	people, err := peopleOf(t, s, nil).With(exitsGoroutine{manyRows{name: "exits"}})
	noError(t, err)
	if r, err := table.Bulk(context.Background(), stream(residentInserts(people, 3)), nil); err == nil || r != (table.BulkResult{}) {
		t.Errorf("got %+v, %v; want an error and r == table.BulkResult{}", r, err)
	}
}

// TestBulkRepeated: a stream of inserts that was applied before does not cost a request for each insert, and Skip is called for
// each.
func TestBulkRepeated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, people := range map[string]func(t *testing.T) (*table.Table[resident], *hookedService){
		"without maintainers": func(t *testing.T) (*table.Table[resident], *hookedService) {
			_, s := newTown(t, nil)
			return peopleOf(t, s, nil), s
		},
		"with maintainers": func(t *testing.T) (*table.Table[resident], *hookedService) { return newTown(t, nil) },
	} {
		people, s := people(t)
		one := func(i int) table.Op { return people.InsertOp(&resident{"S", i + 1, "L", ""}) }
		_, err := table.Bulk(ctx, stream(90, func(i int) table.Op { return one(2 * i) }), nil)
		noError(t, err)
		s.Count()
		var skipped []int
		r, err := table.Bulk(ctx, stream(180, one), &table.BulkOptions{Skip: func(i int, err error) bool {
			var be *table.BulkError
			if !errors.Is(err, table.ErrExists) || !errors.As(err, &be) || be.Index != i || be.Key.PartitionKey() != "S" {
				t.Errorf(`%s: got %d: %v; want ErrExists and a *BulkError and be.Index == %v and be.Key.PartitionKey() == "S"`, what, i, err, i)
			}
			skipped = append(skipped, i)
			return true
		}})
		if err != nil || r.Done != 90 || r.Skipped != 90 || len(skipped) != 90 || len(s.Rows("people")) < 180 {
			t.Errorf(`%v: got %+v, %v; want no error and r.Done == 90 and r.Skipped == 90 and len(skipped) == 90 and len(s.Rows("people")) >= 180`, what, r, err)
		}
		counts := s.Count().String()
		t.Log(what, counts)
		if strings.Contains(counts, "90") {
			t.Errorf(`%v: got %q; want "90" not in counts`, what, counts)
		}
	}
}
