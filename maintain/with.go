package maintain

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// With returns a handle of the same table with these maintainers, besides the maintainers of t. Every write by the handle calls
// the maintainers and writes their rows in the same transaction, still 1 request. A write by key, and a write of an entity that
// was not read whole, reads the row first and writes by its ETag, 1 request more. After a conflict it reads and writes again,
// Retry.ConflictAttempts times at most.
//
// All writers of a table must use handles with the same maintainers. A handle without one of them fails with
// table.ErrUnknownMaintainer if the row has state of that maintainer. To find such state, it reads the row before a write by key
// (Upsert, methods with Any), unless table.Options.BlindWrites is set. Maintainers that add effects need an outbox; see [WithOutbox].
//
// A write that fails because of a maintainer returns a *table.DerivedError. If concurrent writers kept changing a shared row, the
// error is table.ErrContended. A derived row that another program has deleted or changed is read and repaired with the entity's
// next write; see [table.Table.Repaired].
//
// Errors: *table.LimitError for maintainers that need more than 97 rows together; *table.ValueError for a maintainer that is nil
// or has the name of another maintainer.
func With[T any](t *table.Table[T], maintainers ...Maintainer[T]) (*table.Table[T], error) {
	if err := engine.CheckHandle("t", t.Engine()); err != nil {
		return nil, fmt.Errorf("maintain: With: %w", err)
	}
	change, err := attach(t.Engine(), "With", t.Engine().Mode.Outbox, plainOf(maintainers))
	if err != nil {
		return nil, err
	}
	return t.InMode(change), nil
}

// WithOutbox is [With] for writes that have effects: the handle also gets the outbox that notifies workers of them. A table has
// one outbox, and the handles that are made of this one keep it.
//
//	staff, err := maintain.WithOutbox(plain, outbox, eventual.OnChange("mail", isNew))
//
// Requests: a write with effects takes 2 more, to store its notification and to show it; a refused write stores an abort record and
// withdraws the notification.
//
// Errors: *table.ValueError for an outbox that is nil, for a second outbox, and if Common.WriteTimeout is no bound, and for a
// maintainer that is nil or has the name of another maintainer; *table.LimitError for maintainers that need more than 97 rows
// together.
func WithOutbox[T any](t *table.Table[T], outbox commit.Outbox, maintainers ...Maintainer[T]) (*table.Table[T], error) {
	if err := engine.CheckHandle("t", t.Engine()); err != nil {
		return nil, fmt.Errorf("maintain: WithOutbox: %w", err)
	}
	change, err := attachOutbox(t.Engine(), outbox, plainOf(maintainers))
	if err != nil {
		return nil, err
	}
	return t.InMode(change), nil
}

// plainOf returns maintainers as the engine calls them, nil for a nil maintainer.
func plainOf[T any](maintainers []Maintainer[T]) []engine.Maintainer {
	plain := make([]engine.Maintainer, len(maintainers))
	for i, m := range maintainers {
		if !wire.IsNil(m) {
			plain[i] = maintainerOf[T]{m}
		}
	}
	return plain
}

// attachOutbox returns the change of a handle's mode by an outbox and more maintainers.
func attachOutbox(t *engine.Table, outbox commit.Outbox, more []engine.Maintainer) (func(*engine.Mode), error) {
	plain, err := outboxFor(t, outbox)
	if err != nil {
		return nil, fmt.Errorf("maintain: WithOutbox %s: %w", t.Name, err)
	}
	return attach(t, "WithOutbox", plain, more)
}

// outboxFor returns an outbox as the engine calls it, if the table can have it.
func outboxFor(t *engine.Table, outbox commit.Outbox) (engine.Outbox, error) {
	if wire.IsNil(outbox) {
		return nil, &table.ValueError{Field: "outbox", Reason: "is nil; give one, or use With"}
	}
	plain, is := outboxOf{outbox}, t.Mode.Outbox
	switch {
	case !reflect.ValueOf(outbox).Comparable():
		return nil, &table.ValueError{Field: "outbox", Reason: "cannot be compared with others; use a pointer"}
	case is != nil && !engine.SameOutbox(is, plain):
		return nil, &table.ValueError{Field: "outbox", Reason: "the table has another one"}
	case t.Options.WriteTimeout < 0:
		return nil, &table.ValueError{Field: "Common.WriteTimeout", Reason: "must be a bound: the notification of a write is hidden for twice this time"}
	}
	return plain, nil
}

// attach returns the change of a handle's mode by an outbox, which may be nil, and more maintainers. A nil maintainer is an error.
func attach(t *engine.Table, method string, outbox engine.Outbox, more []engine.Maintainer) (func(*engine.Mode), error) {
	maintainers := append(slices.Clip(t.Mode.Maintainers), more...)
	fail := func(err error) (func(*engine.Mode), error) {
		return nil, fmt.Errorf("maintain: %s %s: %w", method, t.Name, err)
	}
	rows := t.Mode.Parts
	names := map[string]bool{}
	for _, m := range maintainers {
		switch {
		case m == nil:
			return fail(&table.ValueError{Field: "maintainers", Reason: "one is nil"})
		case m.Name() == "" || names[m.Name()]:
			return fail(&table.ValueError{Field: "maintainers", Reason: fmt.Sprintf("the name %q is empty or taken", m.Name())})
		case m.MaxRows() < 0:
			return fail(&table.ValueError{Field: "maintainers", Reason: fmt.Sprintf("MaxRows of %q is negative", m.Name())})
		}
		names[m.Name()] = true
		rows += m.MaxRows()
	}
	if rows > engine.MaxDerived {
		return fail(&table.LimitError{Limit: "rows that the maintainers of an entity touch, its parts included", Got: rows, Max: engine.MaxDerived})
	}
	return func(m *engine.Mode) { m.Maintainers, m.Outbox = maintainers, outbox }, nil
}

// outboxOf is an outbox as the engine calls it.
type outboxOf struct{ commit.Outbox }

// Notify stores a notification.
func (o outboxOf) Notify(ctx context.Context, n engine.Notification) (engine.SentNotification, error) {
	of := commit.Notification{Table: n.Table, Partition: n.Partition, OperationID: n.OperationID, Hidden: n.Hidden}
	for _, r := range n.Remotes {
		of.Remotes = append(of.Remotes, commit.Remote(r))
	}
	sent, err := o.Outbox.Notify(ctx, of)
	if err != nil || sent == nil {
		return nil, err
	}
	return sent, nil
}
