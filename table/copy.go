package table

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Copy returns a copy of the row under another key of its partition, for Insert and Put of a [Plan]. The copy contains the key of its
// entity, so that [Table.Entity] returns the copied entity. projectionID is any text, by which a maintainer tells kinds of copies apart.
func (r *Row) Copy(k keys.Key, projectionID string) *Row {
	c := r.At(k)
	c.columns = engine.CopyOf(c.columns, r.Key.RowKey(), projectionID)
	return c
}

// Tag adds a tag to a row that contains something of a maintainer, or removes the tag if off is set. The tag stays when the row's own
// writers change it, unless they write the row without having read it.
func (r *Row) Tag(maintainer string, off bool) {
	r.columns = engine.Tag(r.columns, maintainer, off)
}

// Tagged reports whether a row has a tag: the tag itself or, for a name alone, the name with : and a scope behind.
func (r *Row) Tagged(maintainer string) bool {
	return slices.ContainsFunc(r.Tags(), func(tag string) bool {
		name, _, _ := strings.Cut(tag, ":")
		return tag == maintainer || name == maintainer
	})
}

// Tags returns the tags of a row; see Tag.
func (r *Row) Tags() []string {
	return engine.Tags(r.columns)
}

// ProjectionID returns the projection ID that Copy gave a copy, "" for none.
func (r *Row) ProjectionID() string {
	_, id := engine.Copied(r.columns)
	return id
}

// Primary returns the key of the entity that the row is a copy of.
func (r *Row) Primary() (k keys.Key, isCopy bool) {
	return r.row().Primary()
}

// Project returns the row with some of its properties, and with its type and version. It has no operation ID, because it is not all that
// the write has written.
func (r *Row) Project(properties ...string) *Row {
	properties = append(slices.Clone(properties), reserved.Type, reserved.Version, reserved.Owner)
	c := r.At(r.Key)
	c.columns = engine.Only(r.columns, properties...)
	return c
}

// WithoutSystemProperties returns the row without the system properties of an entity (_life, _ix, tags), as a full copy of it has them.
func (r *Row) WithoutSystemProperties() *Row {
	c := *r
	c.columns = engine.Without(r.columns, reserved.Incarnation, reserved.MaintainerState, reserved.Owner)
	return &c
}

// Same reports whether two rows have the same properties, apart from their operation IDs (_op).
func (r *Row) Same(other *Row) bool {
	return engine.SameColumns(r.columns, other.columns)
}

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
	return rowOf(r), nil
}

// Entity returns the row as an entity of T: the one that Get would have read. A copy ([Row.Copy]) gives the entity that was copied,
// with its key and without its ETag; see [Entity]. Errors are those of Get about the row.
func (t *Table[T]) Entity(row *Row) (*Entity[T], error) { return typed[T](t.h.entity(row)) }

func (h handle) entity(row *Row) (entity, error) {
	if row == nil {
		return nil, h.opError("Entity", keys.Key{}, errNil)
	}
	e, err := h.shape.entityOf(row)
	if err != nil {
		return nil, h.opError("Entity", row.Key, err)
	}
	return e, nil
}

// entityOf is the entity of a row, which may be a copy of all or some of the entity's properties.
func (s *shape) entityOf(row *Row) (entity, error) {
	k, isCopy := row.Primary()
	if !isCopy {
		k = row.Key
	}
	w := edm.NewWriter(k.PartitionKey(), k.RowKey(), len(row.columns))
	if isCopy {
		row.write(w, reserved.Owner)
	} else {
		row.write(w)
	}
	body, err := w.Finish()
	if err != nil {
		return nil, err
	}
	stored := edm.Stored{Columns: body.Columns}
	r, in, err := stored.Open(k.PartitionKey(), k.RowKey())
	if err != nil {
		return nil, err
	}
	if in.Timestamp = row.Timestamp; !isCopy {
		in.ETag = string(row.ETag)
		e, _, err := s.decode(r, in, stored)
		if err == nil {
			e.parts().edited = row.edited
		}
		return e, err
	}
	if _, whole := row.Get(reserved.OperationID); whole {
		e, _, err := s.decode(r, in, stored)
		if err == nil {
			e.parts().copied = &engine.Row{Key: k, Columns: body.Columns}
		}
		return e, err
	}
	return s.partial(r, in)
}

// partial decodes a row of which only part is known.
func (s *shape) partial(r *edm.Reader, in edm.Entity) (entity, error) {
	if _, err := s.current(r); err != nil {
		return nil, err
	}
	made := s.newEntity()
	e := made.parts()
	*e.key, *e.etag, *e.timestamp, e.part = keys.Stored(in.PartitionKey, in.RowKey), azcore.ETag(in.ETag), in.Timestamp, true
	if err := errors.Join(s.row.decode(e.value, in.RowKey), s.partition.decode(e.value, in.PartitionKey)); err != nil {
		return nil, err
	}
	return made, s.properties(r, e)
}

// Range returns the range of the RowKeys of the table's entities, by its schema; every key that is not the library's, if the schema binds
// none.
func (t *Table[T]) Range() keys.Range { return t.h.shape.rows() }

// PartitionRange returns the range of the PartitionKeys of the table's entities, by its schema; unset, if the schema binds none.
func (t *Table[T]) PartitionRange() keys.Range { return t.h.shape.partition.all }

// Ranged reports whether the table was seen through a signature for a range of keys ([Grant]): lists, counts and Partitions then
// leave out what lies outside it, without an error. It is known from the first list on, on all handles that were made of one.
func (t *Table[T]) Ranged() bool { return t.h.engine.Ranged() }

// AnyField is a [Field] of T, whatever its type.
type AnyField[T any] interface {
	properties(*edm.Plan) ([]string, error)
}

func (f Field[T, V]) properties(p *edm.Plan) ([]string, error) { return f.f.properties(p) }

func (f field) properties(p *edm.Plan) ([]string, error) {
	if f.err != nil || f.name != "" {
		return []string{f.name}, f.err
	}
	names, ok := p.NamesAt(f.path)
	if !ok {
		return nil, &TypeError{Type: p.Type, Field: p.Type.FieldByIndex(f.path).Name, Reason: "is stored in no property of its own"}
	}
	return names, nil
}

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
	e, err := t.h.projected(&v, properties)
	if err != nil {
		return p, t.h.opError("Projected", keys.Key{}, err)
	}
	return e.(*Entity[T]).Value, nil
}

func (h handle) projected(value any, properties []string) (entity, error) {
	s := h.shape
	w := edm.NewWriter("p", "r", s.plan.Fields())
	made := s.newEntity()
	e := made.parts()
	if row, ok := value.(*Row); ok {
		row.write(w, reserved.OperationID)
		*e.key = row.Key
	} else {
		s.plan.Encode(w, reflect.ValueOf(value).Elem(), edm.Stored{})
	}
	body, err := w.Finish()
	if err != nil {
		return nil, err
	}
	row := (&Row{columns: body.Columns}).Project(properties...)
	r, _, err := row.stored().Open("p", "r")
	if err != nil {
		return nil, err
	}
	if err := s.properties(r, e); err != nil {
		return nil, err
	}
	for _, b := range []*binding{&s.partition, &s.row} {
		to := b.fields(e.value)
		for i, from := range b.fields(value) {
			reflect.ValueOf(to[i]).Elem().Set(reflect.ValueOf(from).Elem())
		}
	}
	return made, nil
}
