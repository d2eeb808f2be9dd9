package whole_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"
	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity/series"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// spans records the spans of the library.
type spans struct {
	mu          sync.Mutex
	all, failed []string
}

func (s *spans) provider() tracing.Provider {
	return tracing.NewProvider(func(string, string) tracing.Tracer {
		return tracing.NewTracer(func(ctx context.Context, name string, _ *tracing.SpanOptions) (context.Context, tracing.Span) {
			if !strings.HasPrefix(name, "aztablekit.") { // that of a request
				return ctx, tracing.Span{}
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.all = append(s.all, name)
			return ctx, tracing.NewSpan(tracing.SpanImpl{SetStatus: func(status tracing.SpanStatus, text string) {
				s.mu.Lock()
				defer s.mu.Unlock()
				if status == tracing.SpanStatusError {
					s.failed = append(s.failed, name+": "+text)
				}
			}})
		}, nil)
	}, nil)
}

// refusedMethods are calls during which the service refuses a request although they succeed, beside outageMethods and readMethods.
var refusedMethods = map[string]func(context.Context, *outage) error{
	"Ensure": func(ctx context.Context, x *outage) error {
		return errors.Join(tabledoor.Ensure(ctx, x.base), x.logs.Ensure(ctx))
	},
	"table.Bulk with Skip": func(ctx context.Context, x *outage) error {
		_, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
			yield(x.base.InsertOp(&x.jones.Value), nil)
			yield(x.base.InsertOp(smith), nil)
		}, &engine.BulkOptions{Skip: func(int, error) bool { return true }})
		return err
	},
	"table.Bulk of a row that exists": func(ctx context.Context, x *outage) error {
		_, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) { yield(x.base.InsertOp(&x.jones.Value), nil) }, nil)
		return err
	},
	"table.Bulk of rows that do not exist": func(ctx context.Context, x *outage) error {
		_, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
			for _, id := range []string{"1", "2", "3"} {
				yield(x.base.DeleteAnyOp(keys.Raw("Sales", id)), nil)
			}
		}, nil)
		return err
	},
	"Create and Drop": func(ctx context.Context, x *outage) error {
		now := time.Now()
		common := options.At(func() time.Time { return now })
		common.Tracing = x.common.Tracing
		byDays := logtail.NewByPeriod[struct{}](&host.Host{Tables: x.tables}, "days", &logtail.PeriodOptions{Keep: 1, Common: common}, nil)
		days := byDays.Periods()
		_, errFirst := days.Create(ctx)
		_, errAgain := days.Create(ctx)
		now = now.AddDate(0, 0, 3)
		_, errDrop := days.Drop(ctx, nil)
		return errors.Join(errFirst, errAgain, errDrop)
	},
	"AppendOnce": func(ctx context.Context, x *outage) error {
		_, errFirst := x.lines.AppendOnce(ctx, "1", hired, smith)
		_, errAgain := x.lines.AppendOnce(ctx, "1", hired, smith)
		return errors.Join(errFirst, errAgain)
	},
	"Resend": func(ctx context.Context, x *outage) error {
		r, err := x.lines.Append(ctx, smith)
		if err != nil {
			return err
		}
		return x.lines.Resend(ctx, r)
	},
	"series.Add": func(ctx context.Context, x *outage) error {
		var declared baretest.Registry
		visits := series.New[int64](&host.Host{Tables: x.tables, Registry: &declared}, "visits", series.Days(time.UTC), &series.Options{Common: x.common})
		errEnsure := declared.Ensure(ctx)
		_, errAdd := visits.Add(ctx, hired, 1)
		return errors.Join(errEnsure, errAdd, visits.AddAll(ctx, maps.All(map[time.Time]int64{hired: 2})))
	},
	"TableDestination.Get": func(ctx context.Context, x *outage) error {
		old, err := workertest.Place(&host.Host{Tables: x.tables}, archive.ToTable("old", &archive.Options{Common: x.common}))
		if err != nil {
			return err
		}
		errEnsure := old.Ensure(ctx)
		_, errGet := old.Get(ctx, archivedJones.ID)
		return errors.Join(errEnsure, errGet)
	},
	"View.Get": func(ctx context.Context, x *outage) error {
		names, err := table.ViewOf[struct{ Name string }](x.base)
		if err != nil {
			return err
		}
		_, err = names.Get(ctx, keys.Raw("Sales", "000299"))
		return err
	},
	"Records.Resolve": func(ctx context.Context, x *outage) error {
		_, err := records.Of(x.sending).Resolve(ctx, keys.RawPartition("Sales"), "00VHNCZB00X3HA15YNNNN76AS1")
		return err
	},
	"Worker": func(ctx context.Context, x *outage) error {
		handler := bare.NewHandler("badge", x.sending, func(context.Context, eventual.Job, string) error { return nil })
		w, err := bareworker.New(x.queues.Queues().NewQueueClient("notifications"), x.queues.Queues().NewQueueClient("poison"), []host.Handler{handler}, &eventual.WorkerOptions{Common: x.common})
		if err != nil {
			return err
		}
		_, errInsert := x.sending.Insert(ctx, smith)
		return errors.Join(w.Ensure(ctx), errInsert, w.Drain(ctx))
	},
	"Mover": func(ctx context.Context, x *outage) error {
		old, err := workertest.Place(&host.Host{Tables: x.tables}, archive.ToTable("old", &archive.Options{Common: x.common}))
		if err != nil {
			return err
		}
		mover, err := workertest.NewMover("old", x.sending, old, x.out)
		if err != nil {
			return err
		}
		w, err := bareworker.New(x.queues.Queues().NewQueueClient("notifications"), x.queues.Queues().NewQueueClient("poison"), []host.Handler{mover.Handler}, &eventual.WorkerOptions{Common: x.common})
		if err != nil {
			return err
		}
		err = errors.Join(w.Ensure(ctx), old.Ensure(ctx), mover.Archive(ctx, x.jones), w.Drain(ctx))
		_, _, errFind := mover.Find(ctx, jones)
		_, errRestore := mover.Restore(ctx, jones)
		return errors.Join(err, errFind, errRestore, w.Drain(ctx))
	},
	"materialized": func(ctx context.Context, x *outage) error {
		type person struct{ PartitionKey, RowKey, Name string }
		people, err := bare.NewTable(x.tables, "people", table.Schema[person]{
			Partition: keys.RawPartitionOf(func(p *person) *string { return &p.PartitionKey }),
			Row:       keys.RawRowOf(func(p *person) *string { return &p.RowKey }),
		}, &table.Options{Common: x.common})
		if err != nil {
			return err
		}
		byID := materialized.New("people", people, func(e *Employee, _ keys.Key) (person, bool) { return person{"all", e.ID, e.Name}, true })
		staff, err := baretest.Attach(x.sending, byID)
		if err != nil {
			return err
		}
		w, err := bareworker.New(x.queues.Queues().NewQueueClient("notifications"), x.queues.Queues().NewQueueClient("poison"), baretest.Handlers(staff), &eventual.WorkerOptions{Common: x.common})
		if err != nil {
			return err
		}
		_, errInsert := staff.Insert(ctx, smith)
		err = errors.Join(w.Ensure(ctx), tabledoor.Ensure(ctx, people), errInsert, w.Drain(ctx), staff.DeleteAny(ctx, keys.Raw("Sales", smith.ID)), w.Drain(ctx))
		_, errVerify := verify.Check(ctx, staff, nil)
		return errors.Join(err, errVerify)
	},
}

// TestSpanStatus: some span of the library fails if and only if the method returns an error, also if the service refuses a request
// during the method, once or always.
func TestSpanStatus(t *testing.T) {
	t.Parallel()
	methods := maps.Clone(readMethods)
	for _, m := range outageMethods {
		methods[m.name] = m.kit
	}
	maps.Copy(methods, refusedMethods)
	for _, name := range []string{"GetMany", "GetMany of several"} {
		delete(methods, name) // a row that does not exist is one of their results
	}
	for i, name := range slices.Sorted(maps.Keys(methods)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := expectSpanStatus(t, methods[name], nil)
			for j, code := range []string{"412 UpdateConditionNotSatisfied", "404 ResourceNotFound", "409 EntityAlreadyExists", "403 AuthorizationFailure"} {
				if (i+j)%testkit.Sample(1) != 0 { // of a sample, each method with one of them
					continue
				}
				var status int
				var text string
				fmt.Sscan(code, &status, &text)
				expectSpanStatus(t, methods[name], storagetest.When(func(storagetest.Request) bool { return true }, storagetest.Refuse(status, text)))
				for n := range min(requests, 8) {
					expectSpanStatus(t, methods[name], storagetest.AtRequest(n+1, storagetest.Refuse(status, text)))
					expectSpanStatus(t, methods[name], storagetest.AtRequest(n+1, storagetest.RefuseInTransaction(status, text)))
				}
			}
		})
	}
}

// expectSpanStatus calls a method on a service with faults, and returns how many requests it has sent.
func expectSpanStatus(t *testing.T, method func(context.Context, *outage) error, faults storagetest.FaultFunc) (n int) {
	t.Helper()
	var recorded spans
	var err error
	synctest.Test(t, func(t *testing.T) {
		s := storagetest.New(nil)
		filled := newOutageOf(t, s, s)
		x := openOutage(t, s, table.Common{Tracing: recorded.provider()})
		x.s, x.jones, x.photo, x.queues = s, filled.jones, filled.photo, s
		x.common = table.Common{Tracing: recorded.provider()}
		s.Count()
		s.SetFaults(faults)
		err = method(t.Context(), x)
		n = s.Count().Total()
	})
	if len(recorded.failed) > 0 && err == nil || len(recorded.failed) == 0 && len(recorded.all) > 0 && err != nil {
		t.Errorf("with %v: got failed spans %q of %q and error %v; want both or none", faults, recorded.failed, recorded.all, err)
	}
	return n
}
