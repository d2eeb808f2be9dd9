package integration

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/table"
)

// updateLosesNothing: concurrent writers add one each, and the sum is right.
func updateLosesNothing(e *env) {
	ctx := context.Background()
	o := &table.Options{}
	o.Retry.ConflictAttempts = 1000
	o.Retry.ConflictWait, o.Retry.MaxConflictWait = time.Millisecond, 20*time.Millisecond
	staff := newTable(e, staffSchema, o)
	_, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1})
	e.must(err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				if _, err := staff.Update(ctx, at("Sales", 1), func(v *employee) error { v.Age++; return nil }); err != nil {
					e.Errorf("Update: got error %v; want none", err)
				}
			}
		})
	}
	wg.Wait()
	if got, err := staff.Get(ctx, at("Sales", 1)); err != nil || got.Value.Age != 40 {
		e.Errorf("Get: got %+v, error %v; want age 40", got, err)
	}
}

// updateEnds: Update returns the error of its change. Against a concurrent writer that changes the row in each attempt, it fails
// after Retry.ConflictAttempts.
func updateEnds(e *env) {
	ctx := context.Background()
	o := &table.Options{}
	o.Retry.ConflictAttempts, o.Retry.ConflictWait = 3, -1
	staff := newTable(e, staffSchema, o)
	v := jones
	_, err := staff.Insert(ctx, &v)
	e.must(err)
	e.counter.Take()
	done, err := staff.Update(ctx, at("Sales", 223), func(v *employee) error { v.Age++; return nil })
	e.must(err)
	e.wantRequests("1 get, 1 replace")
	if done.Value.Age != 45 {
		e.Errorf("Update: got %+v; want age 45", done.Value)
	}
	no := errors.New("no")
	if _, err := staff.Update(ctx, at("Sales", 223), func(*employee) error { return no }); err != no {
		e.Errorf("Update whose change fails: got error %v; want %v", err, no)
	}
	e.wantRequests("1 get")
	attempts := 0
	_, err = staff.Update(ctx, at("Sales", 223), func(v *employee) error {
		attempts++
		return staff.MergeAny(ctx, at("Sales", 223), age.Set(int32(attempts)))
	})
	if !errors.Is(err, table.ErrChanged) || attempts != 3 {
		e.Errorf("Update against a concurrent writer: got error %v after %d attempts; want ErrChanged after 3", err, attempts)
	}
	e.wantRequests("8 get, 3 merge, 3 replace")
	if _, err := staff.Update(ctx, at("Sales", 223), func(v *employee) error { v.ID = 5; return nil }); !errors.Is(err, table.ErrKeyChanged) {
		e.Errorf("Update of a key field: got error %v; want ErrKeyChanged", err)
	}
	e.wantRequests("1 get")
	if _, err := staff.Update(ctx, at("Sales", 9), func(*employee) error { return nil }); !errors.Is(err, table.ErrNotFound) {
		e.Errorf("Update of a missing entity: got error %v; want ErrNotFound", err)
	}
}
