package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type Employee struct {
	Department string
	ID         int
	LastName   string
}

// Badge is the payload of an effect: a badge to print.
type Badge struct {
	ID   int
	Name string
}

var (
	department = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid      = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
)

// badgeDue reports whether an employee needs a new badge.
func badgeDue(c *eventual.Change[Employee]) (Badge, bool) {
	if c.New == nil || c.Old != nil && c.Old.LastName == c.New.LastName {
		return Badge{}, false
	}
	return Badge{c.New.ID, c.New.LastName}, true
}

// An effect outside of storage: a worker prints a badge for each employee with a new name, even if the writer or a worker crashes.
func ExampleWorker() {
	ctx := context.Background()
	print := eventual.On("badge", badgeDue, func(_ context.Context, j eventual.Job, b Badge) error {
		fmt.Println("badge:", b.ID, b.Name, "of", j.Key.RowKey())
		return nil
	})
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	company := aztablekit.Open(storagetest.New(nil), "company", &aztablekit.Options{Common: table.Common{Logger: logger}})
	staff := aztablekit.Table(company, "staff", department, empid, print)
	check(company.Ensure(ctx))
	_, err := staff.Insert(ctx, &Employee{"Sales", 1, "Jones"})
	check(err)

	n, err := company.Backlog(ctx)
	check(err)
	fmt.Println("waiting:", n)
	check(company.Drain(ctx)) // a server calls Run
	fmt.Println("done:", company.Stats().Completed)
	for _, s := range company.Stats().Kinds {
		fmt.Println("of", s.Table, "and kind", s.Kind, "executed:", s.Executed, "failed:", s.Failed)
	}

	running, stop := context.WithCancel(ctx)
	ended := make(chan error)
	company.Pause() // receives no messages until Resume
	go func() { ended <- company.Run(running) }()
	company.Resume()
	stop()
	fmt.Println("stopped:", <-ended)
	// Output:
	// waiting: 1
	// badge: 1 Jones of empid_000001
	// done: 1
	// of staff and kind badge executed: 1 failed: 0
	// stopped: <nil>
}

// The probes of a worker process, for Kubernetes: it is ready while its queue responds, and alive while Run is running.
func Example_probes() {
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	print := eventual.On("badge", badgeDue, func(context.Context, eventual.Job, Badge) error { return nil })
	aztablekit.Table(company, "staff", department, empid, print)

	http.HandleFunc("/readyz", func(rw http.ResponseWriter, _ *http.Request) {
		if err := company.Ready(); err != nil {
			http.Error(rw, err.Error(), http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/livez", func(rw http.ResponseWriter, _ *http.Request) {
		if err := company.Ready(); errors.Is(err, eventual.ErrNotRunning) {
			http.Error(rw, err.Error(), http.StatusServiceUnavailable)
		}
	})

	probe := httptest.NewRecorder()
	http.DefaultServeMux.ServeHTTP(probe, httptest.NewRequest("GET", "/readyz", nil))
	fmt.Print(probe.Code, " ", probe.Body)
	// Output: 503 eventual: the worker is not running
}

// The result of a handler decides about the message. A message in the poison queue can be replayed when the cause is repaired.
func ExamplePoisonQueue() {
	ctx := context.Background()
	ink := false
	print := eventual.On("badge", badgeDue, func(_ context.Context, _ eventual.Job, b Badge) error {
		switch {
		case b.Name == "":
			return eventual.RetryAfter(3600e9, errors.New("the name will follow")) // later, without counting an attempt
		case !ink:
			return eventual.Poison(errors.New("no ink")) // never again; any other error is an attempt that is repeated
		}
		fmt.Println("badge:", b.ID, b.Name)
		return nil
	})
	acc := storagetest.New(nil)
	company := aztablekit.Open(acc, "company", nil)
	staff := aztablekit.Table(company, "staff", department, empid, print)
	check(company.Ensure(ctx))
	_, err := staff.Insert(ctx, &Employee{"Sales", 1, "Jones"})
	check(err)
	fmt.Println(company.Drain(ctx))

	q, err := bareworker.NewPoisonQueue(acc.Queues().NewQueueClient("company-writes"), acc.Queues().NewQueueClient("company-poison"), nil) // company.Poison, in a tool of an operator
	check(err)
	n, err := q.Backlog(ctx)
	check(err)
	fmt.Println("poison messages:", n)
	for p, err := range q.List(ctx) {
		check(err)
		fmt.Println(p.Class, p.Kind, p.Table, p.Partition, p.Attempts)
	}
	ink = true
	n, err = q.Replay(ctx, func(p eventual.PoisonMessage) bool { return p.Kind == "badge" })
	check(err)
	fmt.Println("replayed:", n)
	check(company.Drain(ctx))
	n, err = q.Drop(ctx, func(eventual.PoisonMessage) bool { return true }) // the other messages
	check(err)
	fmt.Println("dropped:", n)
	// Output:
	// eventual: Drain: table staff, partition "Sales": effect badge: poison: no ink
	// poison messages: 1
	// handler badge staff Sales 1
	// replayed: 1
	// badge: 1 Jones
	// dropped: 0
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
