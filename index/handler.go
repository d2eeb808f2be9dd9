package index

import (
	"context"
	"fmt"
	"strings"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/table"
)

// Handler returns the handler for all definitions of t whose rows are elsewhere ([Elsewhere]), for [eventual.NewWorker]. Workers of
// a release without one of the definitions leave its effects to other workers. A row of another program under the key of an index
// row, and a list that is full, make the message poison.
//
// Requests of an effect: 1, and 2 for each row that it changes, 10 at a time; the same again if a concurrent worker changes a row
// meanwhile. The worker takes 4 more.
func Handler[T any](t *table.Table[T]) eventual.Handler {
	if t.Engine() == nil {
		return eventual.Handler{} // which NewWorker refuses
	}
	return reconcile.Handler(kindOf(t), t, definitionsElsewhere(t)...)
}

func definitionsElsewhere[T any](t *table.Table[T]) (all []reconcile.Definition) {
	for _, m := range derived.MaintainersOf[*elsewhereMaintainer[T]](t.Engine()) {
		all = append(all, m)
	}
	return all
}

// Ensure creates the tables of the definitions of t whose rows are in other tables, unless they exist. It does not create t itself.
// 1 request for each table; idempotent. Errors are those of table.Table.Ensure.
func Ensure[T any](ctx context.Context, t *table.Table[T]) error {
	if err := engine.CheckHandle("t", t.Engine()); err != nil {
		return fmt.Errorf("index: Ensure: %w", table.ErrorOf(err))
	}
	done := map[string]bool{strings.ToLower(t.Name()): true}
	for _, m := range derived.MaintainersOf[ofElsewhere[T]](t.Engine()) {
		name := strings.ToLower(m.rowsTable().Name())
		if done[name] {
			continue
		}
		if err := m.rowsTable().Ensure(ctx); err != nil {
			return fmt.Errorf("index: Ensure: %w", err)
		}
		done[name] = true
	}
	return nil
}

// withInline lets the writes of a handle execute the effects of all definitions elsewhere, if one of them asks for that.
func withInline[T any](t *table.Table[T]) *table.Table[T] {
	for _, m := range derived.MaintainersOf[*elsewhereMaintainer[T]](t.Engine()) {
		if m.option.Inline {
			out := reconcile.Inline(t.Engine().Mode.Outbox, Handler(t))
			return t.InMode(func(m *engine.Mode) { m.Outbox = out })
		}
	}
	return t
}
