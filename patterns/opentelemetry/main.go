package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type employee struct {
	Department string
	ID         int
	LastName   string
}

// badge is the payload of an effect: a badge to print.
type badge struct {
	ID   int
	Name string
}

var (
	dept   = keys.Partition(keys.Text(), func(e *employee) *string { return &e.Department })
	schema = table.Schema[employee]{
		Partition: dept,
		Row:       keys.Row(keys.Digits[int](6), func(e *employee) *int { return &e.ID }).Named("empid"),
	}
	byName = index.New("last", keys.Fold(keys.Text()), func(e *employee) (string, bool) { return e.LastName, true }, nil)

	// Each new employee gets a badge.
	badges = eventual.OnChange("badge", func(c *extend.Change[employee]) (badge, bool) {
		if c.New == nil || c.Old != nil {
			return badge{}, false
		}
		return badge{c.New.ID, c.New.LastName}, true
	})
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run calls methods of the library, and prints their spans.
func run(ctx context.Context, out io.Writer) error {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	defer func() { _ = provider.Shutdown(context.WithoutCancel(ctx)) }()

	service := storagetest.New(nil)
	acc, common, err := open(service, provider)
	if err != nil {
		return err
	}
	common.Retry.Wait = time.Millisecond // an example does not wait
	plain, err := table.New(acc.Tables(), "staff", schema, &table.Options{Common: common})
	if err != nil {
		return err
	}
	printed, err := table.New(acc.Tables(), "badges", table.Schema[table.Row]{}, &table.Options{Common: common, BlindWrites: true})
	if err != nil {
		return err
	}
	notifications, poison := acc.Queue("staff-notifications"), acc.Queue("staff-poison")
	outbox, err := eventual.NewOutbox(notifications, &eventual.OutboxOptions{Common: common})
	if err != nil {
		return err
	}
	indexed, err := index.Attach(plain, byName)
	if err != nil {
		return err
	}
	hired, err := eventual.WithOutbox(indexed, outbox, badges)
	if err != nil {
		return err
	}
	print := eventual.NewHandler("badge", plain, func(ctx context.Context, j eventual.Job, b badge) error {
		r := &table.Row{Key: keys.At(keys.RawPartition("badges"), keys.RawRow(fmt.Sprint(b.ID)))}
		if err := r.Set("Name", b.Name); err != nil {
			return err
		}
		_, err := printed.Upsert(ctx, r, table.ReplaceExisting)
		return err
	})
	w, err := eventual.NewWorker(notifications, poison, []eventual.Handler{print}, &eventual.WorkerOptions{Common: common, Concurrency: 1})
	if err != nil {
		return err
	}

	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"set up", func(ctx context.Context) error {
			if err := plain.Ensure(ctx); err != nil {
				return err
			}
			if err := printed.Ensure(ctx); err != nil {
				return err
			}
			return w.Ensure(ctx)
		}},
		{"insert an employee with an index row", func(ctx context.Context) error {
			_, err := indexed.Insert(ctx, &employee{"Sales", 1, "Jones"})
			return err
		}},
		{"a transaction while the service is busy", func(ctx context.Context) error {
			service.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.Once(storagetest.Refuse(503, "ServerBusy"))))
			defer service.SetFaults(nil)
			_, err := table.Transact(ctx, indexed.InsertOp(&employee{"Sales", 2, "Cao"}), indexed.InsertOp(&employee{"Sales", 3, "Brown"}))
			return err
		}},
		{"list pages of two", func(ctx context.Context) error {
			_, err := table.Collect(plain.List(ctx, table.Query[employee]{Partition: dept.Of("Sales"), PageSize: 2}))
			return err
		}},
		{"get an employee that does not exist", func(ctx context.Context) error {
			if _, err := plain.Get(ctx, plain.Key(employee{Department: "Sales", ID: 9})); !errors.Is(err, table.ErrNotFound) {
				return fmt.Errorf("got error %v, want ErrNotFound", err)
			}
			return nil
		}},
		{"insert an employee with an effect", func(ctx context.Context) error {
			_, err := hired.Insert(ctx, &employee{"Sales", 4, "Adams"})
			return err
		}},
		{"execute the effect", w.Drain},
	}
	tracer := provider.Tracer("opentelemetry")
	for _, step := range steps {
		stepCtx, span := tracer.Start(ctx, step.name)
		err := step.do(stepCtx)
		span.End()
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return printTree(out, recorder.Started())
}
