package eventual_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/table"
)

// TestArguments: what cannot be is told when it is made, with the field's name.
func TestArguments(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, _ := opened(t, quick())
	hints, poison := o.acc.Queue("notifications"), o.acc.Queue("poison")
	var none *azqueue.QueueClient
	ok := []eventual.Handler{o.handler()}
	for what, c := range map[string]struct {
		queue, poison eventual.Queue
		handlers      []eventual.Handler
		o             eventual.WorkerOptions
		field         string
	}{
		"no queue":        {nil, poison, ok, eventual.WorkerOptions{}, "queue"},
		"a nil queue":     {none, poison, ok, eventual.WorkerOptions{}, "queue"},
		"no poison queue": {hints, nil, ok, eventual.WorkerOptions{}, "poison"},
		"no kind":         {hints, poison, []eventual.Handler{{Table: o.plain, Handle: ok[0].Handle}}, eventual.WorkerOptions{}, "handlers[0]"},
		"no table":        {hints, poison, []eventual.Handler{{Kind: "x", Handle: ok[0].Handle}}, eventual.WorkerOptions{}, "handlers[0]"},
		"no function":     {hints, poison, []eventual.Handler{{Kind: "x", Table: o.plain}}, eventual.WorkerOptions{}, "handlers[0]"},
		"a kind twice":    {hints, poison, []eventual.Handler{ok[0], ok[0]}, eventual.WorkerOptions{}, "handlers[1]"},
		"Concurrency":     {hints, poison, ok, eventual.WorkerOptions{Concurrency: -1}, "WorkerOptions.Concurrency"},
		"Visibility":      {hints, poison, ok, eventual.WorkerOptions{Visibility: time.Millisecond}, "WorkerOptions.Visibility"},
		"MaxWait":         {hints, poison, ok, eventual.WorkerOptions{MaxWait: -1}, "WorkerOptions.MaxWait"},
	} {
		_, err := eventual.NewWorker(c.queue, c.poison, c.handlers, &c.o)
		var ve *table.ValueError
		if !errors.As(err, &ve) || ve.Field != c.field || strings.Contains(err.Error(), "property") { // it is an argument or an option
			t.Errorf("%s: %v", what, err)
		}
	}
	var le *table.LimitError
	if _, err := eventual.NewWorker(hints, poison, ok, &eventual.WorkerOptions{Visibility: 8 * 24 * time.Hour}); !errors.As(err, &le) || le.Field != "WorkerOptions.Visibility" {
		t.Error(err)
	}
	var ve *table.ValueError
	if _, err := eventual.NewOutbox(none, nil); !errors.As(err, &ve) {
		t.Error(err)
	}
	if _, err := eventual.NewPoisonQueue(nil, nil); !errors.As(err, &ve) {
		t.Error(err)
	}
	lost, err := eventual.NewWorker(o.acc.Queue("nowhere"), poison, ok, nil)
	check(err)
	if err := lost.Run(ctx); !errors.Is(err, eventual.ErrQueueNotFound) {
		t.Error(err)
	}
	if _, err := lost.Backlog(ctx); !errors.Is(err, eventual.ErrQueueNotFound) {
		t.Error(err)
	}
	check(lost.Ensure(ctx))
	check(lost.Ensure(ctx)) // idempotent
	if n, err := lost.Backlog(ctx); n != 0 || err != nil {
		t.Error(n, err)
	}
	check(lost.Drain(ctx))
}

// TestSameQueues: queues that must be two are refused where they are one, and so are two tables of one name.
func TestSameQueues(t *testing.T) {
	t.Parallel()
	o, _ := opened(t, quick())
	other, _ := opened(t, quick())
	q, p := o.acc.Queue("notifications"), o.acc.Queue("poison")
	var ve *table.ValueError
	second := other.handler()
	second.Kind = "second"
	for what, c := range map[string]struct {
		poison, cleanUp *azqueue.QueueClient
		handlers        []eventual.Handler
	}{
		"poison": {q, o.acc.Queue("c"), []eventual.Handler{o.handler()}}, "clean-up": {p, q, []eventual.Handler{o.handler()}}, "both": {p, p, []eventual.Handler{o.handler()}},
		"tables": {p, o.acc.Queue("c"), []eventual.Handler{o.handler(), second}},
	} {
		if _, err := eventual.NewWorker(q, c.poison, c.handlers, &eventual.WorkerOptions{CleanUp: c.cleanUp}); !errors.As(err, &ve) {
			t.Error(what, err)
		}
	}
}
