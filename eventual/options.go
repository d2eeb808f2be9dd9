package eventual

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// WorkerOptions are the options of a worker. The zero value of each field is its default.
type WorkerOptions struct {
	// Common bounds the requests of the worker. Retry.ConflictAttempts, with the pauses of Retry.ConflictWait and MaxConflictWait,
	// bounds how often the worker starts again because a concurrent worker has changed the commit record; then the attempt of the
	// message has failed. Logger also receives completed messages at Debug, returned and lost messages at Warn, and poison at Error.
	//
	// Tracing receives a span for each message that the worker executes, aztablekit.Worker.Execute, or aztablekit.Worker.CleanUp for
	// a clean-up message. Its children are the requests of the worker for the message, and the spans of the methods that the handlers
	// call. The attributes are messaging.system, messaging.operation.type, messaging.message.id, db.collection.name (the table of the
	// write), aztablekit.operation_id (of the write), aztablekit.attempt and aztablekit.outcome (the text of the log); and after a
	// failure aztablekit.class (of the poison that follows) and aztablekit.effect (the kind). The span has the status error if the
	// log's level is Warn or Error. It contains no text of an error. Requests to receive and to renew messages belong to no message.
	table.Common

	// CleanUp is a queue for clean-up messages: the commit records of a partition and hour are deleted a day later. Without a
	// clean-up queue, call [commit.SweepAll] from time to time. It must not be the queue of the notifications.
	CleanUp Queue

	// Concurrency is how many messages the worker executes at a time. Defaults to 16.
	//
	// While handlers are fast, the worker receives the next messages before handlers are free for them, up to 32 in one request: as
	// many as it expects to execute within 250 ms, and at most 4 × Concurrency. It deletes a message while it executes the next. So
	// it contains at most 5 × Concurrency messages. With Concurrency 1, it receives a message after it has deleted the previous
	// one. If handlers become slow, the worker returns the messages that wait for them to the queue after a third of Visibility.
	Concurrency int

	// PerPartition is how many messages of one partition the worker executes at a time, so that other partitions need not wait for
	// a busy partition. Further messages of a busy partition wait in the worker, which renews them, and starts each as soon as the
	// partition allows: as many as it expects to start within a third of Visibility, at least Concurrency and at most 4 ×
	// Concurrency. To find messages of other partitions behind them, the worker requests more messages after half of Idle if the
	// handlers are slow, else every Defer, and returns the messages that it has no room for to the queue, for 1 s at first and up
	// to Defer. Drain returns no messages. Defaults to half of Concurrency, and at least 1.
	PerPartition int

	// Visibility is how long the queue hides a message that the worker has received, in whole seconds. The worker renews it at a
	// third of that while handlers run. The messages of a crashed worker stay hidden for that long. Defaults to 1 min, at most 7
	// days.
	Visibility time.Duration

	// HandlerTimeout bounds one call of a handler. A call that it ends counts as an attempt, even if the handler waited for a
	// service that did not respond: set it longer than the handler's own requests may take. Defaults to 5 min; negative means no
	// bound.
	HandlerTimeout time.Duration

	// Attempts is how often a message fails before it becomes poison. A delivery that does not end, because the worker crashes or
	// loses the message, is no attempt. After Attempts such deliveries, the worker executes the message in isolation, while it
	// executes nothing else, for 1 request more; after Attempts of those, the message becomes poison of ClassCrashes: at most 2 ×
	// Attempts crashes. Defaults to 10.
	Attempts int

	// Wait is the pause before the second attempt, in whole seconds. It doubles with each attempt up to MaxWait, and is shortened
	// by up to a half. Default to 1 s and 5 min.
	Wait, MaxWait time.Duration

	// UnknownKindTimeout is how long messages of unknown tables, kinds and versions are returned to the queue, for Defer each time,
	// for workers of another release. Then they become poison. So do messages of writes without a commit record whose clock was more
	// than a day ahead. Default to 1 h and 30 s.
	UnknownKindTimeout, Defer time.Duration

	// Idle is the longest pause between two requests to an empty queue; the first pause is a 16th of it. Defaults to 4 s.
	Idle time.Duration

	// StopTimeout is how long Run waits for running handlers after its context has ended, before it ends their contexts. Defaults
	// to 30 s.
	StopTimeout time.Duration
}

// settings are the options of a worker with their defaults: those of Common are the engine's.
type settings struct {
	engine.Options
	WorkerOptions
}

func (o *WorkerOptions) withDefaults() settings {
	var out settings
	if o != nil {
		out.WorkerOptions = *o
	}
	out.Options = out.Common.Engine()
	def(&out.Concurrency, 16)
	def(&out.PerPartition, max(out.Concurrency/2, 1))
	def(&out.Visibility, time.Minute)
	def(&out.HandlerTimeout, 5*time.Minute)
	def(&out.Attempts, 10)
	def(&out.Wait, time.Second)
	def(&out.MaxWait, 5*time.Minute)
	def(&out.UnknownKindTimeout, time.Hour)
	def(&out.Defer, 30*time.Second)
	def(&out.Idle, 4*time.Second)
	def(&out.StopTimeout, 30*time.Second)
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	return out
}

// def sets an option that is zero to its default.
func def[T comparable](v *T, d T) {
	if *v == *new(T) {
		*v = d
	}
}

// check returns an error for the first option with a wrong value.
func (o *WorkerOptions) check() error {
	wrong := func(field string, value any, least string) error {
		return &table.ValueError{Field: "WorkerOptions." + field, Reason: fmt.Sprintf("is %v; it must be %s or more", value, least)}
	}
	for _, c := range []struct {
		field string
		n     int
	}{{"Concurrency", o.Concurrency}, {"PerPartition", o.PerPartition}, {"Attempts", o.Attempts}} {
		if c.n < 0 {
			return wrong(c.field, c.n, "0")
		}
	}
	for _, c := range []struct {
		field string
		d     time.Duration
	}{{"Wait", o.Wait}, {"MaxWait", o.MaxWait}, {"UnknownKindTimeout", o.UnknownKindTimeout}, {"Defer", o.Defer}, {"Idle", o.Idle}, {"StopTimeout", o.StopTimeout}} {
		if c.d < 0 {
			return wrong(c.field, c.d, "0")
		}
	}
	if o.Visibility < time.Second {
		return wrong("Visibility", o.Visibility, "1s")
	}
	for _, c := range []struct {
		field string
		d     time.Duration
	}{{"Visibility", o.Visibility}, {"MaxWait", o.MaxWait}, {"Defer", o.Defer}} {
		if c.d > maxVisibility {
			return &table.LimitError{Field: "WorkerOptions." + c.field, Limit: "seconds", Got: int(c.d / time.Second), Max: int(maxVisibility / time.Second)}
		}
	}
	return nil
}
