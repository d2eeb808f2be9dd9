package eventual_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/table"
)

// TestArguments: constructors refuse wrong arguments and options with their names, and a worker reports missing queues.
func TestArguments(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, _ := newOffice(t, noPauses())
	queue, poison := o.acc.Queues().NewQueueClient("notifications"), o.acc.Queues().NewQueueClient("poison")
	var none *azqueue.QueueClient
	ok := []host.Handler{o.handler()}
	for what, c := range map[string]struct {
		queue, poison *azqueue.QueueClient
		handlers      []host.Handler
		o             eventual.WorkerOptions
		field         string
	}{
		"no queue":        {nil, poison, ok, eventual.WorkerOptions{}, "queue"},
		"a nil queue":     {none, poison, ok, eventual.WorkerOptions{}, "queue"},
		"a queue's name":  {o.acc.Queues().NewQueueClient("q"), poison, ok, eventual.WorkerOptions{}, "queue"},
		"no poison queue": {queue, nil, ok, eventual.WorkerOptions{}, "poison"},
		"no kind":         {queue, poison, []host.Handler{{Table: o.base, Handle: ok[0].Handle}}, eventual.WorkerOptions{}, "handlers[0]"},
		"no table":        {queue, poison, []host.Handler{{Kind: "x", Handle: ok[0].Handle}}, eventual.WorkerOptions{}, "handlers[0]"},
		"no function":     {queue, poison, []host.Handler{{Kind: "x", Table: o.base}}, eventual.WorkerOptions{}, "handlers[0]"},
		"a kind twice":    {queue, poison, []host.Handler{ok[0], ok[0]}, eventual.WorkerOptions{}, "handlers[1]"},
		"Concurrency":     {queue, poison, ok, eventual.WorkerOptions{Concurrency: -1}, "WorkerOptions.Concurrency"},
		"Visibility":      {queue, poison, ok, eventual.WorkerOptions{Visibility: time.Millisecond}, "WorkerOptions.Visibility"},
		"MaxWait":         {queue, poison, ok, eventual.WorkerOptions{MaxWait: -1}, "WorkerOptions.MaxWait"},
	} {
		_, err := bareworker.New(c.queue, c.poison, c.handlers, &c.o)
		var ve *table.ValueError
		if !errors.As(err, &ve) || ve.Field != c.field || strings.Contains(err.Error(), "property") {
			t.Errorf("%s: got %v, want a *ValueError for argument or option %s", what, err, c.field)
		}
	}
	fault := errors.New("a mistake in its declaration")
	for _, h := range []host.Handler{{Kind: "x", Table: door.Faulty[*table.Table[clerk]]("jobs", fault), Handle: ok[0].Handle}, bare.Transactions(door.Faulty[*table.Table[clerk]]("jobs", fault))} {
		if _, err := bareworker.New(queue, poison, []host.Handler{h}, nil); !errors.Is(err, fault) {
			t.Errorf("a faulty table: got %v, want its fault", err)
		}
	}
	var le *table.LimitError
	if _, err := bareworker.New(queue, poison, ok, &eventual.WorkerOptions{Visibility: 8 * 24 * time.Hour}); !errors.As(err, &le) || le.Field != "WorkerOptions.Visibility" {
		t.Errorf("got %v, want a *LimitError for WorkerOptions.Visibility", err)
	}
	var ve *table.ValueError
	if _, err := bareworker.NewOutbox(none, nil); !errors.As(err, &ve) || ve.Field != "queue" {
		t.Errorf("NewOutbox: got %v, want a *ValueError for queue", err)
	}
	if _, err := bareworker.NewPoisonQueue(poison, nil, nil); !errors.As(err, &ve) || ve.Field != "poison" {
		t.Errorf("NewPoisonQueue: got %v, want a *ValueError for poison", err)
	}
	if _, err := bareworker.NewPoisonQueue(nil, poison, nil); !errors.As(err, &ve) || ve.Field != "queue" {
		t.Errorf("NewPoisonQueue: got %v, want a *ValueError for queue", err)
	}
	if _, err := bareworker.NewPoisonQueue(poison, poison, nil); !errors.As(err, &ve) || ve.Field != "poison" {
		t.Errorf("NewPoisonQueue of one queue: got %v, want a *ValueError for poison", err)
	}
	missing, err := bareworker.New(o.acc.Queues().NewQueueClient("nowhere"), poison, ok, nil)
	noError(t, err)
	if err := missing.Run(ctx); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("Run: got %v, want ErrNotCreated", err)
	}
	nowhere, err := bareworker.NewPoisonQueue(poison, o.acc.Queues().NewQueueClient("nowhere"), nil)
	noError(t, err)
	if _, err := nowhere.Backlog(ctx); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("Backlog of poison: got %v, want ErrNotCreated", err)
	}
	if _, err := missing.Backlog(ctx); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("Backlog: got %v, want ErrNotCreated", err)
	}
	noError(t, missing.Ensure(ctx))
	noError(t, missing.Ensure(ctx)) // idempotent
	n, err := missing.Backlog(ctx)
	noError(t, err)
	testkit.Expect(t, "backlog", n, 0)
	drain(t, missing)
}

// TestSameQueues: NewWorker refuses one queue for two purposes, and two tables of one name.
func TestSameQueues(t *testing.T) {
	t.Parallel()
	o, _ := newOffice(t, noPauses())
	other, _ := newOffice(t, noPauses())
	q, p := o.acc.Queues().NewQueueClient("notifications"), o.acc.Queues().NewQueueClient("poison")
	var ve *table.ValueError
	second := other.handler()
	second.Kind = "second"
	for what, c := range map[string]struct {
		poison   *azqueue.QueueClient
		handlers []host.Handler
	}{
		"queue as poison queue":          {q, []host.Handler{o.handler()}},
		"the same table of two accounts": {p, []host.Handler{o.handler(), second}},
	} {
		if _, err := bareworker.New(q, c.poison, c.handlers, nil); !errors.As(err, &ve) {
			t.Errorf("%s: got %v, want a *ValueError", what, err)
		}
	}
}
