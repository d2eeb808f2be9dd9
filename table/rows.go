package table

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// GetRow reads a row by its key, as it is stored and whatever its type. 1 request. Errors: ErrNotFound, ErrTableNotFound,
// *keys.KeyError.
func (t *Table[T]) GetRow(ctx context.Context, k keys.Key) (*Row, error) { return t.h.getRow(ctx, k) }

func (h handle) getRow(ctx context.Context, k keys.Key) (_ *Row, err error) {
	ctx, end := h.engine.Span(ctx, "GetRow")
	defer func() { end(err) }()
	if err := errors.Join(engine.AddressErr(k), ctx.Err()); err != nil {
		return nil, h.opError("GetRow", k, err)
	}
	r, err := h.engine.Get(ctx, k)
	if err != nil {
		return nil, h.opError("GetRow", k, err)
	}
	return rowOf(r), nil
}

// Entity returns the row as an entity of T: the one that Get would have read. A copy ([Row.Copy]) gives the entity that was copied,
// with its key and without its ETag; see [Entity]. Errors are those of Get about the row.
func (t *Table[T]) Entity(row *Row) (*Entity[T], error) { return typed[T](t.h.entity(row)) }

func (h handle) entity(row *Row) (entity, error) {
	if row == nil {
		return nil, h.opError("Entity", keys.Key{}, errNil)
	}
	if h.engine.Mode.LibraryRows { // a handle of RowsOf
		return &Entity[Row]{Value: *row, Key: row.Key, ETag: row.ETag, Timestamp: row.Timestamp, known: known{row: row.stored(), edited: h.engine.Mode.Parts > 0}}, nil // what is stored is read for its parts
	}
	e, err := h.shape.entityOf(row)
	if err != nil {
		return nil, h.opError("Entity", row.Key, err)
	}
	return e, nil
}
