package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Mover moves entities of a table to a destination, and back. It is safe for concurrent use.
type Mover[T any] struct {
	kind   string
	from   *table.Table[T]
	asking *table.Table[T] // whose writes ask for a move
	to     Destination
}

// The errors of a mover, besides those of package table.
var (
	// ErrRestored: this life was restored before.
	ErrRestored = errors.New("archive: it was restored before")
	// ErrUnderway: its move is under way, so it cannot be restored yet.
	ErrUnderway = errors.New("archive: its move is under way")
	// ErrForeign: the destination returned something that no move has stored, or that belongs to another entity or incarnation.
	ErrForeign = errors.New("archive: the destination holds something there that no move has stored")
	// ErrCannotList: the destination cannot list what it keeps. See Lister.
	ErrCannotList = errors.New("archive: the destination cannot list")
)

// New returns a mover. kind names its effects, and must be the same in all programs that move between these two places. from is the
// table with its maintainers, so that indexes move with the entities, up to 96 rows for an entity. outbox notifies workers of moves,
// and may be nil if from has an outbox. New sends nothing. Errors are those of [table.Table.With], and *table.ValueError.
func New[T any](kind string, from *table.Table[T], to Destination, outbox table.Outbox) (*Mover[T], error) {
	fail := func(err error) (*Mover[T], error) { return nil, fmt.Errorf("archive: New %s: %w", kind, err) }
	switch {
	case kind == "":
		return fail(&table.ValueError{Field: "kind", Reason: "is empty"})
	case from == nil:
		return fail(&table.ValueError{Field: "from", Reason: "is nil"})
	case wire.IsNil(to):
		return fail(&table.ValueError{Field: "to", Reason: "is nil"})
	}
	from, err := from.With(outbox)
	if err != nil {
		return fail(err)
	}
	if r, is := to.(*Rows); is && table.Same(r.rows, from) {
		return fail(&table.ValueError{Field: "to", Reason: "is the table itself"})
	}
	asking, err := from.With(nil, &asks[T]{kind, to})
	if err != nil {
		return fail(err)
	}
	if _, err := from.With(nil, &restores[T]{kind: kind}); err != nil { // what goes must be able to come back
		return fail(err)
	}
	return &Mover[T]{kind, from, asking, to}, nil
}

// payload is what an effect says: a life that is to be moved, or that was restored and is to be forgotten.
type payload struct {
	Incarnation string `json:"life"`
	Forget      bool   `json:"forget,omitempty"`
}

// effect adds one to a plan.
func effect(p *table.Plan, kind string, of payload) error {
	b, err := json.Marshal(of)
	if err != nil {
		return err
	}
	p.Effect(kind, 1, b)
	return nil
}

// asks adds a move to the touch of an entity.
type asks[T any] struct {
	kind string
	to   Destination
}

func (a *asks[T]) Name() string { return a.kind }
func (a *asks[T]) MaxRows() int { return 0 }

func (a *asks[T]) Maintain(_ context.Context, p *table.Plan, c *table.Change[T]) error {
	if c.New == nil {
		return nil
	}
	if to, is := a.to.(Checker); is {
		row, err := c.Row()
		if err != nil {
			return err
		}
		if err := to.Check(&ArchivedRow{ID: ID{c.Key, c.Incarnation()}, Kind: a.kind, Row: row, Moves: []string{someOp}, Time: sometime}); err != nil {
			return err
		}
	}
	return effect(p, a.kind, payload{Incarnation: c.Incarnation()})
}

// someOp and sometime are as long as any name and time of a write.
var (
	someOp   = strings.Repeat("0", 26)
	sometime = time.Date(2000, 1, 1, 0, 0, 0, 1, time.UTC)
)

// Archive asks for an entity to be moved, if the stored row is still as e was read, and renews e's ETag. A worker moves the entity, with
// what concurrent writers have written to it meanwhile. Until then it is in the table, then in both places for a moment, and always in at
// least one. If a concurrent writer deletes it meanwhile, the destination does not have it in the end either.
//
// Errors: those of [table.Table.Touch], such as table.ErrChanged, table.ErrNotFound and, for a row of an older version,
// table.ErrOldVersion; table.ErrNoOutbox if there is no outbox; table.ErrOutbox if the queue does not store the notification, and then
// nothing was written; *table.LimitError for a row that the destination can never store, if it is a [Checker]. Requests: 3, and 1 more if e
// is not the whole row; the worker's are 7. Asking twice does no harm.
func (m *Mover[T]) Archive(ctx context.Context, e *table.Entity[T]) error {
	if err := m.asking.Touch(ctx, e); err != nil {
		return fmt.Errorf("archive: Archive: %w", err)
	}
	return nil
}

// Find reads an entity from the table or from the destination. archived reports that it comes from the destination: then it has no ETag and
// cannot be written; see Restore. If the destination has several incarnations, it is the newest. Find may miss an entity that is restored
// and archived again at the same time, and an entity from the destination may have a move under way, or may have been deleted
// meanwhile. Errors: table.ErrNotFound. 1 request if the entity was not moved, 2 if it was, 3 if it is nowhere.
func (m *Mover[T]) Find(ctx context.Context, k keys.Key) (e *table.Entity[T], archived bool, err error) {
	fail := func(err error) (*table.Entity[T], bool, error) {
		return nil, false, fmt.Errorf("archive: Find: %w", err)
	}
	if e, err = m.from.Get(ctx, k); err == nil {
		return e, false, nil
	} else if !errors.Is(err, table.ErrNotFound) {
		return fail(err)
	}
	switch there, err := m.newest(ctx, k); {
	case err != nil:
		return fail(err)
	case there != nil:
		if e, err = m.from.Entity(there.Row); err != nil {
			return fail(err)
		}
		return e, true, nil
	}
	// It may have been restored since the first look.
	if e, err = m.from.Get(ctx, k); err != nil {
		return fail(err)
	}
	return e, false, nil
}

// newest is the newest life that the destination has of a key, nil for none.
func (m *Mover[T]) newest(ctx context.Context, k keys.Key) (newest *ArchivedRow, err error) {
	for there, err := range m.to.Incarnations(ctx, k) {
		if err == nil && (there.Key != k || there.Err() != nil) {
			err = fmt.Errorf("%w: asked for %v", ErrForeign, k)
		}
		if err != nil {
			return nil, err
		}
		if there.Kind == m.kind && (newest == nil || there.Time.After(newest.Time)) {
			newest = there
		}
	}
	return newest, nil
}

// Archived yields the entities of a partition that movers of this kind have put into the destination, all incarnations. An entity that
// cannot be read yields an error, and the list goes on. Errors: ErrCannotList; those of Get about the row. Requests are the destination's.
func (m *Mover[T]) Archived(ctx context.Context, partition keys.Enc) iter.Seq2[*table.Entity[T], error] {
	return func(yield func(*table.Entity[T], error) bool) {
		l, is := m.to.(Lister)
		if !is {
			yield(nil, ErrCannotList)
			return
		}
		for there, err := range l.List(ctx, partition) {
			switch {
			case errors.Is(err, ErrForeign):
				if !yield(nil, fmt.Errorf("archive: Archived: %w", err)) {
					return
				}
				continue
			case err != nil:
				yield(nil, fmt.Errorf("archive: Archived: %w", err))
				return
			case there.Kind != m.kind:
				continue
			}
			e, err := m.from.Entity(there.Row)
			if err != nil {
				err = fmt.Errorf("archive: Archived: %w", err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
