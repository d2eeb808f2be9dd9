package bare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// PoisonError is a handler's error that moves the message to the poison queue.
type PoisonError struct{ Err error }

func (p *PoisonError) Error() string { return "poison: " + p.Err.Error() }

// Unwrap returns the reason.
func (p *PoisonError) Unwrap() error { return p.Err }

// NewHandler returns a handler for payloads of type P in JSON, as [OnChange] writes them. A message
// with any other payload becomes poison at once.
func NewHandler[P any](kind string, source table.Handle, handle func(ctx context.Context, j extend.Job, payload P) error) host.Handler {
	return host.Handler{Kind: kind, Table: source, Handle: func(ctx context.Context, j extend.Job) error {
		var payload P
		if err := json.Unmarshal(j.Payload, &payload); err != nil {
			return &PoisonError{fmt.Errorf("the payload of the effect of kind %q is no %T: %w", kind, payload, err)}
		}
		return handle(ctx, j, payload)
	}}
}

// OnChange returns a maintainer for [WithOutbox] that adds an effect to a write for each entity
// that changes: f returns the payload, and whether an effect is due. f must be pure, because a
// write may be planned several times. [NewHandler] makes the handler. OnChange adds no requests to
// the requests that each effect takes.
//
// An insert has no c.Old, and a delete no c.New. A move to another key (table.Table.Move) calls f
// twice: for a delete, of which c.MovedTo is the new key, and for an insert, of which c.MovedFrom
// is the old one.
func OnChange[T, P any](kind string, f func(c *extend.Change[T]) (payload P, due bool)) extend.Maintainer[T] {
	return &onChange[T, P]{kind, f}
}

type onChange[T, P any] struct {
	kind string
	f    func(c *extend.Change[T]) (P, bool)
}

func (o *onChange[T, P]) Name() string { return o.kind }
func (o *onChange[T, P]) MaxRows() int { return 0 }

// call calls the function. A panic is an error of the write, such as that of a function that reads
// c.New of a delete.
func (o *onChange[T, P]) call(c *extend.Change[T]) (payload P, due bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("effect %s: its function panicked for %v, a change that was an insert: %v, a delete: %v: %v", o.kind, c.Key, c.Old == nil, c.New == nil, r)
		}
	}()
	payload, due = o.f(c)
	return payload, due, nil
}

func (o *onChange[T, P]) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[T]) error {
	payload, due, err := o.call(c)
	if err != nil || !due {
		return err
	}
	b, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	p.Effect(o.kind, 1, b)
	return nil
}

// InOutbox is [WithOutbox] without maintainers, for a handle of any type.
func InOutbox(t table.Handle, outbox commit.Outbox) (table.Handle, error) {
	err := engine.CheckHandle("t", door.Table(t))
	if err == nil {
		err = checkOutbox(door.Table(t), outbox)
	}
	if err != nil {
		return nil, fmt.Errorf("outbox of table %s: %w", t.Name(), err)
	}
	return door.InMode(t, func(m *engine.Mode) { m.Outbox = outbox }), nil
}

// checkOutbox fails for an outbox that the table cannot have.
func checkOutbox(t *engine.Table, outbox commit.Outbox) error {
	is := t.Mode.Outbox
	switch {
	case wire.IsNil(outbox):
		return &table.ValueError{Field: "outbox", Reason: "is nil; give one, or use bare.With"}
	case !reflect.ValueOf(outbox).Comparable():
		return &table.ValueError{Field: "outbox", Reason: "cannot be compared with others; use a pointer"}
	case is != nil && !engine.SameOutbox(is, outbox):
		return &table.ValueError{Field: "outbox", Reason: "the table has another one"}
	case t.Options.WriteTimeout < 0:
		return &table.ValueError{Field: "Common.WriteTimeout", Reason: "must be a bound: the notification of a write is hidden for twice this time"}
	}
	return nil
}

// Transactions returns the handler that finishes writes over several partitions or tables, such as
// [table.Table.Move], whose programs have crashed. A worker that has another handler of the table
// does that, too: Transactions is for tables without any. For [table.Table.MoveTo], the worker
// needs a handler of both tables.
//
// Requests: 1 for each partition that is finished; otherwise 3 and 1 for each row, in each
// partition.
func Transactions(t table.Handle) host.Handler {
	return host.Handler{Kind: engine.ParticipantsEffect, Version: 1, Table: t, Handle: func(ctx context.Context, j extend.Job) error {
		var work engine.ParticipantsWork
		pk, err := j.Key.Partition().Result()
		if err == nil {
			err = json.Unmarshal(j.Payload, &work)
		}
		if err != nil {
			return &PoisonError{errors.New("the effect is not that of a write over several partitions")}
		}
		for _, r := range work.Participants {
			if err := door.Table(t).EndParticipant(ctx, pk, j.OperationID, r, false); err != nil {
				return err
			}
		}
		return nil
	}}
}
