package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// everyWrite contains writes of all kinds.
var everyWrite = map[string]func(context.Context, *table.Table[employee], *table.Entity[employee]) error{
	"Insert": func(ctx context.Context, staff *table.Table[employee], _ *table.Entity[employee]) error {
		_, err := staff.Insert(ctx, &employee{"Sales", 2, "New", 50})
		return err
	},
	"Upsert": func(ctx context.Context, staff *table.Table[employee], _ *table.Entity[employee]) error {
		_, err := staff.Upsert(ctx, &employee{"Sales", 1, "Smith", 50}, table.ReplaceExisting)
		return err
	},
	"Merge": func(ctx context.Context, staff *table.Table[employee], e *table.Entity[employee]) error {
		return staff.Merge(ctx, e, age.Set(50))
	},
	"Transact": func(ctx context.Context, staff *table.Table[employee], e *table.Entity[employee]) error {
		_, err := table.Transact(ctx, staff.InsertOp(&employee{"Sales", 2, "New", 50}), staff.DeleteOp(e))
		return err
	},
	"Bulk": func(ctx context.Context, staff *table.Table[employee], _ *table.Entity[employee]) error {
		r, err := door.Bulk(ctx, stream(300, func(i int) table.Op { return staff.InsertOp(&employee{"Sales", i + 10, "New", 50}) }), nil)
		if err == nil && r.Applied != 300 {
			err = fmt.Errorf("got %d of 300 applied", r.Applied)
		}
		return err
	},
	"Ensure": func(ctx context.Context, staff *table.Table[employee], _ *table.Entity[employee]) error {
		return tabledoor.Ensure(ctx, staff)
	},
}

// TestThrottled: a write succeeds although the service is busy for longer than all attempts take, whichever response says so.
func TestThrottled(t *testing.T) {
	t.Parallel()
	for what, fault := range map[string]storagetest.Fault{
		"503":               storagetest.Refuse(503, "ServerBusy"),
		"429":               storagetest.Refuse(429, "TooManyRequests"),
		"500":               storagetest.Refuse(500, "OperationTimedOut"),
		"503 in a response": storagetest.RefuseInTransaction(503, "ServerBusy"),
	} {
		for name, write := range everyWrite {
			for i, exact := range []bool{false, true, false, true} {
				t.Run(fmt.Sprintf("%s/%s/exact=%v/%d", what, name, exact, i), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						o := blindOptions()
						o.Retry.Attempts = i / 2 * 3
						staff, e, s := staffInMemory(t, o)
						if exact {
							staff = staff.Exact()
						}
						start := time.Now()
						s.SetFaults(storagetest.When(func(storagetest.Request) bool { return time.Since(start) < 12*time.Second }, fault))
						if err := write(context.Background(), staff, e); err != nil {
							t.Errorf("after %v: got %v; want none", time.Since(start), err)
						}
					})
				})
			}
		}
	}
}

// TestAlwaysThrottled: a write to a service that stays busy ends with its time, and pauses between its attempts.
func TestAlwaysThrottled(t *testing.T) {
	t.Parallel()
	for name, write := range everyWrite {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				staff, e, s := staffInMemory(t, nil)
				writes := 0
				s.SetFaults(storagetest.When(func(q storagetest.Request) bool { writes++; return q.Kind != requests.Get }, storagetest.Refuse(503, "ServerBusy")))
				start := time.Now()
				err := write(context.Background(), staff, e)
				if took := time.Since(start); !errors.Is(err, table.ErrUnknownOutcome) || took < 20*time.Second || took > 30*time.Second || writes > 100 {
					t.Errorf("got %v after %v and %d requests; want ErrUnknownOutcome within 30 s", err, took, writes)
				}
			})
		})
	}
}

// busyOnce is a service that is busy once, and asks for a pause.
type busyOnce struct {
	*storagetest.Service
	header, value string
	mu            sync.Mutex
	times         []time.Time
}

func (a *busyOnce) Do(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return a.Service.Do(r)
	}
	a.mu.Lock()
	a.times = append(a.times, time.Now())
	first := len(a.times) == 1
	a.mu.Unlock()
	if first {
		busy := errorResponse(503, "ServerBusy")
		busy.Header.Set(a.header, a.value)
		busy.Request = r
		return busy, nil
	}
	return a.Service.Do(r)
}

// TestRetryAfter: a write keeps the pause that the service asks for. If its time does not allow the pause, the write ends at
// once.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		date := time.Now().UTC().Add(7 * time.Second).Format(http.TimeFormat)
		for _, c := range []struct {
			header, value string
			least         time.Duration // between the two requests; 0 if the write ends after one
		}{
			{"Retry-After", date, 6 * time.Second}, // a date in whole seconds
			{"Retry-After", "7", 7 * time.Second},
			{"X-Ms-Retry-After-Ms", "6500", 6500 * time.Millisecond},
			{"Retry-After", "60", 0},
			{"Retry-After", "soon", 50 * time.Millisecond},
		} {
			_, _, s := staffInMemory(t, nil)
			a := &busyOnce{Service: s.Service, header: c.header, value: c.value}
			staff, err := bare.NewTable(serviceOf(t, a), "staff", staffSchema, nil)
			noError(t, err)
			start := time.Now()
			_, err = staff.Insert(context.Background(), &employee{"Sales", 9, "New", 1})
			switch {
			case c.least == 0:
				if !errors.Is(err, table.ErrUnknownOutcome) || len(a.times) != 1 || time.Since(start) != 0 {
					t.Errorf("%s: %s: got %v, %d requests, after %v; want ErrUnknownOutcome after one, at once", c.header, c.value, err, len(a.times), time.Since(start))
				}
			case err != nil || len(a.times) != 2 || a.times[1].Sub(a.times[0]) < c.least:
				t.Errorf("%s: %s: got %v, requests at %v; want two, at least %v apart", c.header, c.value, err, a.times, c.least)
			}
		}
	})
}

// TestContention: concurrent inserts that share a derived row all succeed within the time of a write.
func TestContention(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const writers = 50
		people, s := newTown(t, nil)
		s.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.Slow(20 * time.Millisecond) })
		errs := make([]error, writers)
		var wg sync.WaitGroup
		start := time.Now()
		for i := range writers {
			wg.Go(func() {
				_, errs[i] = people.Insert(context.Background(), &resident{"S", i + 1, "Jones", fmt.Sprint("m", i)})
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Errorf("after %v: got %v; want no error", time.Since(start), err)
		}
		if err := checkDerivedRows(s.Service); err != nil {
			t.Error(err)
		}
		t.Log("took", time.Since(start))
	})
}

// TestThrottledReads: the read before a write waits for a busy service as long as a write does.
func TestThrottledReads(t *testing.T) {
	t.Parallel()
	writes := map[string]func(context.Context, *table.Table[employee], *table.Entity[employee]) error{
		"Upsert": everyWrite["Upsert"],
		"MergeAny": func(ctx context.Context, staff *table.Table[employee], e *table.Entity[employee]) error {
			return staff.MergeAny(ctx, e.Key, age.Set(50))
		},
		"DeleteAny": func(ctx context.Context, staff *table.Table[employee], e *table.Entity[employee]) error {
			return staff.DeleteAny(ctx, e.Key)
		},
		"Bulk": func(ctx context.Context, staff *table.Table[employee], _ *table.Entity[employee]) error {
			r, err := door.Bulk(ctx, stream(300, func(i int) table.Op {
				return staff.UpsertOp(&employee{"Sales", i + 10, "New", 50}, table.ReplaceExisting)
			}), nil)
			if err == nil && r.Applied != 300 {
				err = fmt.Errorf("got %d of 300 applied", r.Applied)
			}
			return err
		},
	}
	for name, write := range writes {
		for _, exact := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/exact=%v", name, exact), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					staff, e, s := staffInMemory(t, &table.Options{})
					if exact {
						staff = staff.Exact()
					}
					start := time.Now()
					s.SetFaults(storagetest.When(func(storagetest.Request) bool { return time.Since(start) < 20*time.Second }, storagetest.Refuse(503, "ServerBusy")))
					if err := write(context.Background(), staff, e); err != nil {
						t.Errorf("after %v: got %v; want none", time.Since(start), err)
					}
				})
				synctest.Test(t, func(t *testing.T) {
					staff, e, s := staffInMemory(t, &table.Options{})
					start := time.Now()
					s.SetFaults(storagetest.When(func(storagetest.Request) bool { return true }, storagetest.Refuse(503, "ServerBusy")))
					err := write(context.Background(), staff, e)
					if took := time.Since(start); !errors.Is(err, table.ErrUnreachable) || took < 20*time.Second || took > 31*time.Second {
						t.Errorf("after %v: got %v; want ErrUnreachable when the write's time is over", took, err)
					}
				})
			})
		}
	}
}
