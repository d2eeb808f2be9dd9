package table

import (
	"context"
	"errors"
	"slices"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// GetFields reads some fields of an entity with parts: the head, and the parts in which the fields are stored.
//
//	e, err := pages.GetFields(ctx, k, title, visits)
//	if e.Has(article) { … }
//
// The entity has all fields of the parts that were read, and is [Entity.Partial] unless these are all of its parts. Merge and
// Delete accept it, and read no more if the table has no maintainers.
//
// Errors: those of Get; *TypeError for a field that is not stored; *VersionError for a row that Schema.Upgrade would change: Get
// it. Requests: 1 if the fields are in the head, or in part 1 and parts behind it; otherwise 2 at the same time, which also transfer
// the parts between the wanted ones. With T = [Row], any field reads all parts, by 1 request.
func (t *Table[T]) GetFields(ctx context.Context, k keys.Key, fields ...AnyField[T]) (*Entity[T], error) {
	var names []string
	for _, f := range fields {
		if wire.IsNil(f) {
			return nil, t.h.opError("GetFields", k, &ValueError{Field: "fields", Reason: "contain nil"})
		}
		more, err := f.properties(t.h.shape.plan)
		if err != nil {
			return nil, t.h.opError("GetFields", k, err)
		}
		names = append(names, more...)
	}
	return typed[T](t.h.getFields(ctx, k, t.h.shape.plan.PartsOf(names...)))
}

func (h handle) getFields(ctx context.Context, k keys.Key, parts []uint8) (_ entity, err error) {
	ctx, end := h.engine.Span(ctx, "GetFields")
	defer func() { end(err) }()
	if h.engine.Mode.Parts == 0 || h.shape.isRow && len(parts) > 0 { // the part of a property of a Row is not known before
		return h.get(ctx, "GetFields", k)
	}
	if err := errors.Join(k.Err(), ctx.Err()); err != nil {
		return nil, h.opError("GetFields", k, err)
	}
	row, whole, err := h.engine.GetParts(ctx, k, parts)
	if err != nil {
		return nil, h.opError("GetFields", k, err)
	}
	in := edm.Entity{PartitionKey: k.PartitionKey(), RowKey: k.RowKey(), ETag: string(row.ETag), Timestamp: row.Timestamp, Columns: row.Columns}
	read := append([]uint8{0}, parts...)
	if !whole { // else the start of a value in chunks would count as damaged
		in.Columns = h.shape.plan.OfWholeFields(row.Columns, read)
	}
	r := edm.ReadColumns(in, in.Columns)
	var e entity
	if whole {
		e, _, err = h.shape.read(r, in)
	} else {
		head := slices.DeleteFunc(slices.Clone(row.Columns), func(c edm.Column) bool { return c.Part > 0 })
		e, err = h.shape.partial(r, in, &part{h.shape.plan, row.Columns, read, &engine.Row{Key: row.Key, Columns: head}})
	}
	if err != nil {
		return nil, h.opError("GetFields", k, err)
	}
	return e, nil
}

// Has reports whether a field was read. Of an entity that is not [Entity.Partial], every field was. Of one that was read from a
// copy, the fields were that have a value in it.
func (e *Entity[T]) Has(f AnyField[T]) bool {
	if !e.Partial() {
		return e != nil
	}
	p := e.known.part
	names, err := f.properties(p.plan)
	if err != nil {
		return false
	}
	if p.parts == nil {
		return slices.ContainsFunc(p.columns, func(c edm.Column) bool { return slices.Contains(names, c.Name) })
	}
	return !slices.ContainsFunc(p.plan.PartsOf(names...), func(part uint8) bool { return !slices.Contains(p.parts, part) })
}
