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

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
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
	Badge      bool // a badge is printed
}

// badge is the payload of an effect: a badge to print.
type badge struct {
	ID   int
	Name string
}

var (
	dept   = keys.Partition(keys.Text(), func(e *employee) *string { return &e.Department })
	empid  = keys.Row(keys.Digits[int](6).Named("empid"), func(e *employee) *int { return &e.ID })
	number = keys.Row(keys.Digits[int](6), func(b *badge) *int { return &b.ID })
	byName = index.New("last", keys.Fold(keys.Text()), func(e *employee) (string, bool) { return e.LastName, true }, nil)
)

// badgeOf returns the badge of a new employee.
func badgeOf(c *eventual.Change[employee]) (badge, bool) {
	if !c.Inserted() || !c.New.Badge {
		return badge{}, false
	}
	return badge{c.New.ID, c.New.LastName}, true
}

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
	company := aztablekit.Open(acc, "company", &aztablekit.Options{Common: common, Worker: eventual.WorkerOptions{Concurrency: 1}})
	printed := aztablekit.Table(company, "staff", keys.OnePartition[badge]("badges"), number, &aztablekit.Settings[badge]{Options: table.Options{BlindWrites: true}})
	print := eventual.On("badge", badgeOf, func(ctx context.Context, _ eventual.Job, b badge) error {
		_, err := printed.Upsert(ctx, &b, table.ReplaceExisting)
		return err
	})
	staff := aztablekit.Table(company, "staff", dept, empid, byName, print)

	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"set up", company.Ensure},
		{"insert an employee with an index row: the first write also reads the catalogue", func(ctx context.Context) error {
			_, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", false})
			return err
		}},
		{"a transaction while the service is busy", func(ctx context.Context) error {
			service.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.Once(storagetest.Refuse(503, "ServerBusy"))))
			defer service.SetFaults(nil)
			_, err := table.Transact(ctx, staff.InsertOp(&employee{"Sales", 2, "Cao", false}), staff.InsertOp(&employee{"Sales", 3, "Brown", false}))
			return err
		}},
		{"list pages of two", func(ctx context.Context) error {
			_, err := table.Collect(staff.List(ctx, table.Query[employee]{Partition: dept.Of("Sales"), PageSize: 2}))
			return err
		}},
		{"get an employee that does not exist", func(ctx context.Context) error {
			if _, err := staff.Get(ctx, staff.Key(employee{Department: "Sales", ID: 9})); !errors.Is(err, table.ErrNotFound) {
				return fmt.Errorf("got error %v, want ErrNotFound", err)
			}
			return nil
		}},
		{"insert an employee with an effect", func(ctx context.Context) error {
			_, err := staff.Insert(ctx, &employee{"Sales", 4, "Adams", true})
			return err
		}},
		{"execute the effect", company.Drain},
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
