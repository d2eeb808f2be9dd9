package eventual

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// WorkerOptions are those of a worker. The zero value of each field is its default.
type WorkerOptions struct {
	table.Common

	// CleanUp is a queue for clean-up messages: the commit records of a partition and hour are deleted a day later. Without one, call
	// [table.Table.SweepCommitRecords] from time to time. It must not be the queue of the notifications.
	CleanUp Queue

	// Concurrency is how many messages the worker executes at a time. Defaults to 16.
	Concurrency int

	// PerPartition is how many of them may be of one partition, so that one busy tenant does not keep all others waiting. The worker
	// keeps up to Concurrency further messages of a busy partition in hand, renews them, and begins with each as soon as the
	// partition allows. To find messages of other partitions behind them, it asks the queue again after half of Idle if the
	// handlers are slow, else every Later, and returns the messages that it cannot hold to the queue, for 1 s at first and up to
	// Later. Drain returns none. Defaults to half of Concurrency, and at least 1.
	PerPartition int

	// Visibility is how long the queue hides a message that the worker has received, in whole seconds. The worker renews it at a third of
	// that while handlers run. The messages of a crashed worker stay hidden for that long. Defaults to 1 min, at most 7 days.
	Visibility time.Duration

	// Timeout bounds a handler's run. A run that it ends counts as an attempt, also if the handler waited for a service that did not
	// answer: let it be longer than the handler's own requests may take. Defaults to 5 min; negative means no bound.
	HandlerTimeout time.Duration

	// Attempts is how often a message fails before it becomes poison. A delivery that does not end, because the worker crashes or loses the
	// message, is no attempt. After Attempts such deliveries, the worker executes the message while it executes nothing else, for 1 request
	// more; after Attempts of those, the message becomes poison of ClassDeaths: at most 2 × Attempts crashes. Defaults to 10.
	Attempts int

	// Wait is the pause before the second attempt, in whole seconds. It doubles up to MaxWait. Default to 1 s and 5 min.
	Wait, MaxWait time.Duration

	// Patience is how long messages of unknown kinds and versions are returned to the queue, every Later, for workers of another release.
	// After that they become poison. Default to 1 h and 30 s.
	UnknownKindTimeout, Defer time.Duration

	// Idle is the longest pause between two requests to an empty queue; the first pause is a 16th of it. Defaults to 4 s.
	Idle time.Duration

	// Stop is how long Run waits for running handlers after its context has ended, before it ends their contexts. Defaults to 30 s.
	StopTimeout time.Duration

	// Logger logs completed messages at Debug, other messages at Warn, and poison at Error. Defaults to no logging.
	Logger *slog.Logger
}

func (o *WorkerOptions) withDefaults() WorkerOptions {
	var out WorkerOptions
	if o != nil {
		out = *o
	}
	out.Common = out.Common.WithDefaults()
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

func def[T comparable](v *T, d T) {
	if *v == *new(T) {
		*v = d
	}
}

// check is what is wrong with the options.
func (o *WorkerOptions) check() error {
	wrong := func(field string, is any, least string) error {
		return &table.ValueError{Field: "WorkerOptions." + field, Reason: fmt.Sprintf("is %v; it must be %s or more", is, least)}
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
	}{{"Wait", o.Wait}, {"MaxWait", o.MaxWait}, {"Patience", o.UnknownKindTimeout}, {"Later", o.Defer}, {"Idle", o.Idle}, {"Stop", o.StopTimeout}} {
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
	}{{"Visibility", o.Visibility}, {"MaxWait", o.MaxWait}, {"Later", o.Defer}} {
		if c.d > maxHidden {
			return &table.LimitError{Field: "WorkerOptions." + c.field, Limit: "seconds", Got: int(c.d / time.Second), Max: int(maxHidden / time.Second)}
		}
	}
	return nil
}

// known are the handlers of a table by their kinds.
type known struct {
	intents *table.CommitRecords
	kinds   map[string]Handler
}

// sorted puts handlers where messages find them. The case of a table's name means nothing.
func sorted(handlers []Handler) (map[string]*known, error) {
	tables := map[string]*known{}
	for i, h := range handlers {
		fail := func(reason string) (map[string]*known, error) {
			return nil, &table.ValueError{Field: fmt.Sprintf("handlers[%d]", i), Reason: reason}
		}
		switch {
		case h.Kind == "":
			return fail("has no kind")
		case h.Handle == nil:
			return fail("has no function")
		case wire.Absent(h.Table):
			return fail("has no table")
		}
		name := folded(h.Table.Name())
		t := tables[name]
		if t == nil {
			t = &known{intents: h.Table.CommitRecords(), kinds: map[string]Handler{}}
			tables[name] = t
		}
		if !t.intents.Same(h.Table.CommitRecords()) {
			return fail("is of another table than an earlier one of that name, or of another client")
		}
		if _, is := t.kinds[h.Kind]; is {
			return fail(fmt.Sprintf("is the second of kind %q for its table", h.Kind))
		}
		def(&h.Version, 1)
		t.kinds[h.Kind] = h
	}
	return tables, nil
}
