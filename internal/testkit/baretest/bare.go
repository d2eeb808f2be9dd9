// Package baretest makes the parts of a store for tests and measurements, as a store makes them:
// tables that have definitions and belong to no store.
package baretest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/table"
)

// Attach returns a handle of the same table with these definitions, besides those of t, as a store
// makes it. t has the outbox already. It sends nothing. Errors: *table.ValueError for a nil table
// or definition; those of the definitions.
func Attach[T any](t *table.Table[T], definitions ...extend.Definition[T]) (*table.Table[T], error) {
	h := &host.Host{}
	if e := door.Table(t); e != nil && e.Mode.Outbox != nil {
		h.Outbox = e.Mode.Outbox
	}
	d := bare.Declare(h, t)
	for _, definition := range definitions {
		if err := d.Add(definition); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.Name(), err)
		}
	}
	made, _, err := host.Declared(d)
	with, _ := made.(*table.Table[T])
	return with, err
}

// Handlers returns the handlers of the definitions of t that have effects, the indexes elsewhere
// and the views, as a store has them; without such definitions, that of [bare.Transactions].
func Handlers(t table.Handle) (all []host.Handler) {
	kinds := map[string]bool{}
	for _, m := range door.Table(t).Mode.Maintainers {
		if of, is := m.Typed().(interface {
			HandlerOf(t table.Handle) host.Handler
		}); is {
			if h := of.HandlerOf(t); !kinds[h.Kind] {
				kinds[h.Kind] = true
				all = append(all, h)
			}
		}
	}
	if all == nil {
		all = append(all, bare.Transactions(t))
	}
	return all
}

// Ensure creates the tables of the definitions of t whose rows are in other tables, unless they
// exist. 1 request for each; idempotent.
func Ensure(ctx context.Context, t table.Handle) error {
	done := map[string]bool{strings.ToLower(t.Name()): true}
	for _, m := range door.Table(t).Mode.Maintainers {
		of, is := m.Typed().(interface {
			RowsTable() (name string, ensure func(context.Context) error)
		})
		if !is {
			continue
		}
		name, ensure := of.RowsTable()
		if done[strings.ToLower(name)] {
			continue
		}
		done[strings.ToLower(name)] = true
		if err := ensure(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Registry is the host.Registry of a host without a store. It keeps what makes the logs and series
// that are declared, and their mistakes.
type Registry struct {
	tasks []host.Task
	err   error
}

// Declare implements host.Registry.
func (d *Registry) Declare(_ string, p host.Parts, err error) error {
	d.tasks, d.err = append(d.tasks, p.Ensure...), errors.Join(d.err, err)
	return err
}

// Claim implements host.Registry: any table may be declared.
func (d *Registry) Claim(_, _ string) error { return nil }

// Ensure makes what is declared, as that of a store does, and returns the mistakes.
func (d *Registry) Ensure(ctx context.Context) error {
	err := d.err
	for _, task := range d.tasks {
		err = errors.Join(err, task.Do(ctx))
	}
	return err
}

// WithOutbox is [bare.With] for writes that have effects: the handle also gets the outbox that
// notifies workers of them. A table has one outbox, and the handles that are made of this one keep
// it.
//
// Requests: a write with effects takes 2 more, to store its notification and to show it; a refused
// write stores an abort record and withdraws the notification.
//
// Errors:
//   - *table.LimitError for maintainers that need more than 97 rows together
//   - *table.ValueError for a maintainer that is nil or has the name of another one, for an outbox
//     that is nil, for a second outbox, and if Common.WriteTimeout is no bound
func WithOutbox[T any](t *table.Table[T], outbox commit.Outbox, maintainers ...extend.Maintainer[T]) (*table.Table[T], error) {
	in, err := bare.InOutbox(t, outbox)
	if err != nil {
		return nil, err
	}
	return bare.With(in.(*table.Table[T]), maintainers...)
}
