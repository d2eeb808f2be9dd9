package table

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// With returns a handle of the same table with these maintainers, besides those that t has. Every write by the handle calls the
// maintainers and writes their rows in the same transaction, still 1 request. A write by key, and a write of an entity that was not
// read whole, reads the row first and writes by its ETag, 1 request more. After a conflict it reads and writes again, Retry.ConflictAttempts
// times at most.
//
// Maintainers that add effects need an outbox; see [Table.WithOutbox]. Handles without maintainers do not see the derived rows of
// other handles: use one handle for all writes.
//
// A write that fails because of a maintainer returns a *DerivedError. If concurrent writers kept changing a shared row, the error is
// ErrContended. A derived row that another program has deleted or changed is read and repaired with the entity's next write; see
// [Table.Repaired].
//
// Errors: *LimitError for maintainers that need more than 97 rows together; *ValueError for a maintainer that is nil or has the name of
// another one.
func (t *Table[T]) With(maintainers ...Maintainer[T]) (*Table[T], error) {
	h, err := t.h.withMaintainers("With", t.h.engine.Mode.Outbox, plainOf(maintainers))
	if err != nil {
		return nil, err
	}
	return &Table[T]{h}, nil
}

// WithOutbox is [Table.With] for writes that have effects: the handle also gets the outbox that notifies workers of them. A table has
// one outbox, and the handles that are made of this one keep it.
//
//	staff, err := plain.WithOutbox(outbox, eventual.OnChange("mail", isNew))
//
// Requests: a write with effects takes 2 more, to store its notification and to show it; a refused write stores an abort record and
// withdraws the notification.
//
// Errors: those of With; *ValueError for an outbox that is nil, for a second outbox, and if Common.WriteTimeout is no bound.
func (t *Table[T]) WithOutbox(outbox Outbox, maintainers ...Maintainer[T]) (*Table[T], error) {
	h, err := t.h.withOutbox(outbox, plainOf(maintainers))
	if err != nil {
		return nil, err
	}
	return &Table[T]{h}, nil
}

// plainOf returns maintainers as the engine calls them, nil for one that is nil.
func plainOf[T any](maintainers []Maintainer[T]) []engine.Maintainer {
	plain := make([]engine.Maintainer, len(maintainers))
	for i, m := range maintainers {
		if !wire.IsNil(m) {
			plain[i] = maintainerOf[T]{m}
		}
	}
	return plain
}

// withOutbox returns a handle with an outbox and more maintainers.
func (h handle) withOutbox(outbox Outbox, more []engine.Maintainer) (handle, error) {
	plain, err := h.outbox(outbox)
	if err != nil {
		return handle{}, fmt.Errorf("table: WithOutbox %s: %w", h.engine.Name, err)
	}
	return h.withMaintainers("WithOutbox", plain, more)
}

// outbox returns an outbox as the engine calls it, if the table can have it.
func (h handle) outbox(outbox Outbox) (engine.Outbox, error) {
	if wire.IsNil(outbox) {
		return nil, &ValueError{Field: "outbox", Reason: "is nil; give one, or use With"}
	}
	plain, is := outboxOf{outbox}, h.engine.Mode.Outbox
	switch {
	case !reflect.ValueOf(outbox).Comparable():
		return nil, &ValueError{Field: "outbox", Reason: "cannot be compared with others; use a pointer"}
	case is != nil && !engine.SameOutbox(is, plain):
		return nil, &ValueError{Field: "outbox", Reason: "the table has another one"}
	case h.engine.Options.WriteTimeout < 0:
		return nil, &ValueError{Field: "Common.WriteTimeout", Reason: "must be a bound: the notification of a write is hidden for twice this time"}
	}
	return plain, nil
}

// withMaintainers returns a handle with an outbox, which may be nil, and more maintainers. A nil maintainer is an error.
func (h handle) withMaintainers(method string, outbox engine.Outbox, more []engine.Maintainer) (handle, error) {
	m := h.engine.Mode
	m.Outbox = outbox
	m.Maintainers = append(slices.Clip(m.Maintainers), more...)
	fail := func(err error) (handle, error) {
		return handle{}, fmt.Errorf("table: %s %s: %w", method, h.engine.Name, err)
	}
	rows := 0
	names := map[string]bool{}
	for _, m := range m.Maintainers {
		switch {
		case m == nil:
			return fail(&ValueError{Field: "maintainers", Reason: "one is nil"})
		case m.Name() == "" || names[m.Name()]:
			return fail(&ValueError{Field: "maintainers", Reason: fmt.Sprintf("the name %q is empty or taken", m.Name())})
		case m.MaxRows() < 0:
			return fail(&ValueError{Field: "maintainers", Reason: fmt.Sprintf("MaxRows of %q is negative", m.Name())})
		}
		names[m.Name()] = true
		rows += m.MaxRows()
	}
	if rows > engine.MaxDerived {
		return fail(&LimitError{Limit: "rows that the maintainers of an entity touch", Got: rows, Max: engine.MaxDerived})
	}
	h.engine = h.engine.With(m)
	return h, nil
}

// Exact returns a handle of the same table whose writes also store a commit record, a small row ~i|… beside the entity, in the same
// transaction. After a lost response, the commit record proves that the write was applied. If there is none, the library stores an
// abort record in its place, and the write can never commit, even if its request arrives later. The outcome is unknown only if no abort
// record could be stored: because the context or the write's time has ended, or because the service refuses the abort record. The error
// is then an [UnknownError], which can be resolved later.
//
// Requests: as without Exact; 1 or 2 more after a lost response. If an insert finds its row, 1 more: it stores an abort record, because
// a late copy of its request could succeed once the row is deleted. The same is true of other writes without an ETag. Commit records
// are kept for 24 hours; then commit.SweepAll deletes them.
func (t *Table[T]) Exact() *Table[T] {
	return &Table[T]{t.h.exact()}
}

func (h handle) exact() handle { return h.with(func(m *engine.Mode) { m.Exact = true }) }

// Repaired returns how many derived rows were found missing or changed, and were repaired with a write of their entity, by this handle
// and by handles that With and Exact made of it or that it was made of.
func (t *Table[T]) Repaired() int { return t.h.engine.Repaired() }
