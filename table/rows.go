package table

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/keys"
)

// GetRow reads a row by its key, as it is stored and whatever its type. 1 request. Errors: ErrNotFound, ErrTableNotFound,
// *keys.KeyError.
func (t *Table[T]) GetRow(ctx context.Context, k keys.Key) (*Row, error) { return t.h.getRow(ctx, k) }

func (h handle) getRow(ctx context.Context, k keys.Key) (_ *Row, err error) {
	ctx, end := h.engine.Span(ctx, "GetRow")
	defer func() { end(err) }()
	if err := errors.Join(k.Err(), ctx.Err()); err != nil {
		return nil, h.opError("GetRow", k, err)
	}
	r, err := h.engine.Get(ctx, k)
	if err != nil {
		return nil, h.opError("GetRow", k, err)
	}
	return RowOf(r), nil
}

// Entity returns the row as an entity of T: the one that Get would have read. A copy ([Row.Copy]) gives the entity that was copied,
// with its key and without its ETag; see [Entity]. Errors are those of Get about the row.
func (t *Table[T]) Entity(row *Row) (*Entity[T], error) { return typed[T](t.h.entity(row)) }

func (h handle) entity(row *Row) (entity, error) {
	if row == nil {
		return nil, h.opError("Entity", keys.Key{}, errNil)
	}
	if h.engine.Mode.LibraryRows { // a handle of RowsOf
		return &Entity[Row]{Value: *row, Key: row.Key, ETag: row.ETag, Timestamp: row.Timestamp, known: known{row: row.stored()}}, nil
	}
	e, err := h.shape.entityOf(row)
	if err != nil {
		return nil, h.opError("Entity", row.Key, err)
	}
	return e, nil
}

// Range returns the range of the RowKeys of the table's entities, by its schema; every key that is not the library's, if the schema binds
// none.
func (t *Table[T]) Range() keys.Range { return t.h.shape.Rows() }

// PartitionRange returns the range of the PartitionKeys of the table's entities, by its schema; unset, if the schema binds none.
func (t *Table[T]) PartitionRange() keys.Range { return t.h.shape.Partitions() }

// Ranged reports whether the table was seen through a signature for a range of keys ([Grant]): lists, counts and Partitions then
// leave out what lies outside it, without an error. It is known from the first list on, on all handles that were made of one.
func (t *Table[T]) Ranged() bool { return t.h.engine.Ranged() }

// Properties returns the properties in which fields are stored: none for a field that is part of a key. Errors: *TypeError for a
// mistake in a field's accessor, and for a field that is not stored, or is the one for unknown columns.
func (t *Table[T]) Properties(fields ...AnyField[T]) (names []string, err error) {
	for _, f := range fields {
		more, err := f.properties(t.h.shape.plan)
		if err != nil {
			return nil, t.h.opError("Properties", keys.Key{}, err)
		}
		names = append(names, more...)
	}
	return names, nil
}

// Projected returns a value as it is read back with these properties and the keys alone.
func (t *Table[T]) Projected(v T, properties ...string) (p T, err error) {
	e, err := t.h.shape.Projected(&v, properties...)
	if err != nil {
		return p, t.h.opError("Projected", keys.Key{}, err)
	}
	return *e.(*T), nil
}

// Scope names T among the types of the table: by the text with which the RowKeys of its entities begin and, if there is one, a ? and
// Schema.Type, escaped as in a URL's path. A derived row that several entities share contains it; see [Row.Own] and [Row.Tag].
func (t *Table[T]) Scope() string { return t.h.shape.Scope() }

// Mine reports whether a row, or the entity that the row is a copy of, can be T's: by the RowKey and, where both have one, by the type.
func (t *Table[T]) Mine(row *Row) bool { return t.h.shape.Mine(row.Engine()) }
