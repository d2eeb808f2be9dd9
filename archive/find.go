package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ErrCannotList: the destination cannot list its rows. See [Lister].
var ErrCannotList = errors.New("archive: the destination cannot list its rows: it has no method List")

// Find reads an entity from the table or from the destination. archived reports whether it comes from the destination: then it has
// no ETag and cannot be written; see Restore. If the destination has several incarnations, Find returns the newest. Find may miss
// an entity that is restored and archived again at the same time. An entity from the destination may have a pending move, or may
// have been deleted meanwhile. Errors: table.ErrNotFound; those of Get about the row. 1 request if the entity was not moved, 2 if it was moved, 3 if it is in
// neither place.
func (m *Mover[T]) Find(ctx context.Context, k keys.Key) (e *table.Entity[T], archived bool, err error) {
	fail := func(err error) (*table.Entity[T], bool, error) {
		return nil, false, fmt.Errorf("archive: Find: %w", err)
	}
	ctx, end := m.from.Engine().Span(ctx, "Find")
	defer func() { end(err) }()
	if e, err = m.from.Get(ctx, k); err == nil {
		return e, false, nil
	} else if !errors.Is(err, table.ErrNotFound) {
		return fail(err)
	}
	switch newest, err := m.newest(ctx, k); {
	case err != nil:
		return fail(err)
	case newest != nil:
		if e, err = m.from.Entity(newest.Row); err != nil {
			return fail(err)
		}
		return e, true, nil
	}
	// The entity may have been restored since the first read.
	if e, err = m.from.Get(ctx, k); err != nil {
		return fail(err)
	}
	return e, false, nil
}

// newest returns the newest incarnation of a key that the destination contains, or nil if it contains none.
func (m *Mover[T]) newest(ctx context.Context, k keys.Key) (newest *ArchivedRow, err error) {
	for archived, err := range m.to.Incarnations(ctx, k) {
		if err == nil && (archived.Key != k || archived.Err() != nil) {
			err = fmt.Errorf("destination: %w: want a row of %v", table.ErrForeignRow, k)
		}
		if err != nil {
			return nil, err
		}
		if archived.Kind == m.kind && (newest == nil || archived.Time.After(newest.Time)) {
			newest = archived
		}
	}
	return newest, nil
}

// Archived yields the entities of a partition that movers of this kind have stored in the destination, all incarnations. After an
// entity that cannot be read, which yields an error, the list continues. Errors: ErrCannotList; those of Get about the row.
// Requests are the destination's.
func (m *Mover[T]) Archived(ctx context.Context, partition keys.Enc) iter.Seq2[*table.Entity[T], error] {
	return func(yield func(*table.Entity[T], error) bool) {
		l, is := m.to.(Lister)
		if !is {
			yield(nil, ErrCannotList)
			return
		}
		for archived, err := range l.List(ctx, partition) {
			var damaged *table.DecodeError
			switch {
			case errors.Is(err, table.ErrForeignRow), errors.Is(err, table.ErrUnknownParts), errors.As(err, &damaged):
				if !yield(nil, fmt.Errorf("archive: Archived: %w", err)) {
					return
				}
				continue
			case err != nil:
				yield(nil, fmt.Errorf("archive: Archived: %w", err))
				return
			case archived.Kind != m.kind:
				continue
			}
			e, err := m.from.Entity(archived.Row)
			if err != nil {
				err = fmt.Errorf("archive: Archived: %w", err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
