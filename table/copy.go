package table

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Copy returns a copy of the row under another key of its partition, for Insert and Put of a [Plan]. The copy contains the key of its
// entity, so that [Table.Entity] returns the copied entity. form is any text, by which a maintainer tells kinds of copies apart.
func (r *Row) Copy(k keys.Key, form string) *Row {
	c := r.At(k)
	text := r.Key.RowKey()
	if form != "" {
		text += "/" + form // which is in no RowKey
	}
	c.put(reserved.Owner, edm.Value{Kind: edm.String, S: text})
	return c
}

// Mark adds a tag to a row that contains something of a maintainer, or removes the tag if off is set. The tag stays when the row's own
// writers change it, unless they write the row anew without having read it.
func (r *Row) Tag(maintainer string, off bool) {
	names := slices.DeleteFunc(r.Tags(), func(s string) bool { return s == maintainer })
	if !off {
		names = append(names, maintainer)
	}
	if len(names) == 0 {
		r.columns = without(slices.Clone(r.columns), reserved.Owner)
		return
	}
	r.put(reserved.Owner, edm.Value{Kind: edm.String, S: "/" + strings.Join(names, "/")})
}

// Marked reports whether a row has a tag: the tag itself or, for a name alone, the name with : and a scope behind.
func (r *Row) Tagged(maintainer string) bool {
	return slices.ContainsFunc(r.Tags(), func(mark string) bool {
		name, _, _ := strings.Cut(mark, ":")
		return mark == maintainer || name == maintainer
	})
}

// Marks returns the tags of a row; see Mark.
func (r *Row) Tags() []string {
	v, _ := r.Get(reserved.Owner)
	if s, _ := v.(string); strings.HasPrefix(s, "/") && !strings.HasPrefix(s, ownMark) { // of no copy
		return strings.Split(s[1:], "/")
	}
	return nil
}

// Form returns the form that Copy gave a copy, "" for none.
func (r *Row) ProjectionID() string {
	v, _ := r.Get(reserved.Owner)
	s, _ := v.(string)
	rk, form, _ := strings.Cut(s, "/")
	if rk == "" {
		return "" // of no copy, but marked
	}
	return form
}

// Primary returns the key of the entity that the row is a copy of.
func (r *Row) Primary() (k keys.Key, isCopy bool) {
	v, _ := r.Get(reserved.Owner)
	s, _ := v.(string)
	rk, _, _ := strings.Cut(s, "/")
	if rk == "" {
		return keys.Key{}, false
	}
	return keys.Stored(r.Key.PartitionKey(), rk), true
}

func (r *Row) isCopy() bool { _, is := r.Primary(); return is }

// sameOwner tells whether two rows are copies of one.
func sameOwner(a, b *Row) bool {
	if b == nil {
		return false
	}
	is, isCopy := a.Primary()
	want, wanted := b.Primary()
	return isCopy && wanted && is == want
}

// Keep returns the row with some of its properties, and with its type and version. It has no operation ID, because it is not all that
// the write has written.
func (r *Row) Project(properties ...string) *Row {
	properties = append(slices.Clone(properties), reserved.Type, reserved.Version, reserved.Owner)
	c := r.At(r.Key)
	c.columns = slices.DeleteFunc(slices.Clone(r.columns), func(c edm.Column) bool { return !slices.Contains(properties, c.Name) })
	return c
}

// Bare returns the row without the system properties of an entity (_life, _ix, tags), as a full copy of it has them.
func (r *Row) WithoutSystemProperties() *Row {
	c := *r
	c.columns = without(slices.Clone(r.columns), reserved.Incarnation, reserved.MaintainerState, reserved.Owner)
	return &c
}

// Same reports whether two rows have the same properties, apart from their operation IDs (_op).
func (r *Row) Same(other *Row) bool {
	a, b := without(slices.Clone(r.columns), reserved.OperationID), without(slices.Clone(other.columns), reserved.OperationID)
	if len(a) != len(b) {
		return false
	}
	for _, c := range a {
		if !slices.ContainsFunc(b, c.Same) {
			return false
		}
	}
	return true
}

// GetRow reads a row by its key, as it is stored and whatever its type. 1 request. Errors: ErrNotFound, ErrTableNotFound,
// *keys.KeyError.
func (t *Table[T]) GetRow(ctx context.Context, k keys.Key) (_ *Row, err error) {
	ctx, end := t.span(ctx, "GetRow")
	defer func() { end(err) }()
	if err := errors.Join(k.Err(), ctx.Err()); err != nil {
		return nil, t.opError("GetRow", k, err)
	}
	f, err := t.find(ctx, k)
	if err == nil && f.row == nil {
		err = ErrNotFound
	}
	if err != nil {
		return nil, t.opError("GetRow", k, err)
	}
	return f.row, nil
}

// Entity is the row as an entity of T: the one that Get would have read. A copy ([Row.Copy]) gives the entity that was copied,
// with its key and without its ETag; see [Entity]. Errors are those of Get about the row.
func (t *Table[T]) Entity(row *Row) (*Entity[T], error) {
	if row == nil {
		return nil, t.opError("Entity", keys.Key{}, errNil)
	}
	e, err := t.entity(row)
	if err != nil {
		return nil, t.opError("Entity", row.Key, err)
	}
	return e, nil
}

func (t *Table[T]) entity(row *Row) (*Entity[T], error) {
	k, isCopy := row.Primary()
	if !isCopy {
		k = row.Key
	}
	w := edm.NewWriter(nil, k.PartitionKey(), k.RowKey())
	if isCopy {
		row.write(w, reserved.Owner)
	} else {
		row.write(w)
	}
	body, err := w.Finish()
	if err != nil {
		return nil, err
	}
	r := edm.NewReader(body)
	in, err := r.One()
	if err != nil {
		return nil, err
	}
	if in.Timestamp = row.Timestamp; !isCopy {
		in.ETag = string(row.ETag)
		e, _, err := t.decode(r, in)
		if err == nil {
			e.edited = row.edited
		}
		return e, err
	}
	if _, whole := row.Get(reserved.OperationID); whole {
		e, _, err := t.decode(r, in)
		if err == nil {
			e.copied = &Row{Key: k, columns: without(slices.Clone(row.columns), reserved.Owner)}
		}
		return e, err
	}
	return t.partial(r, in)
}

// partial decodes a row of which only part is known.
func (t *Table[T]) partial(r *edm.Reader, in edm.Entity) (*Entity[T], error) {
	if _, err := t.current(r); err != nil {
		return nil, err
	}
	e := &Entity[T]{Key: keys.Stored(in.PartitionKey, in.RowKey), ETag: azcore.ETag(in.ETag), Timestamp: in.Timestamp, part: true}
	if err := errors.Join(t.schema.Row.Decode(&e.Value, in.RowKey), t.schema.Partition.Decode(&e.Value, in.PartitionKey)); err != nil {
		return nil, err
	}
	return e, t.properties(r, e)
}

// Range is where the RowKeys of the table's entities are, by its schema; every key that is not the library's, if that binds none.
func (t *Table[T]) Range() keys.Range {
	if r := t.schema.Row.Range(); r.IsSet() {
		return r
	}
	return everyRow
}

// PartitionRange is where the PartitionKeys of the table's entities are, by its schema; unset, if that binds none.
func (t *Table[T]) PartitionRange() keys.Range { return t.schema.Partition.Range() }

// Common returns the options that the handle shares with the packages on top of it, with their defaults.
func (t *Table[T]) Common() Common { return t.opt }

// Ranged tells whether the table was seen through a signature for a range of keys ([Grant]): lists, counts and Partitions then
// leave out what lies outside it, without a word. It is known from the first list on, on all handles that were made of one.
func (t *Table[T]) Ranged() bool { return t.shared.ranged.Load() }

// AnyField is a [Field] of T, whatever its type.
type AnyField[T any] interface {
	properties(*edm.Plan) ([]string, error)
}

func (f Field[T, V]) properties(p *edm.Plan) ([]string, error) {
	if f.err != nil || f.name != "" {
		return []string{f.name}, f.err
	}
	names, ok := p.NamesAt(f.path)
	if !ok {
		return nil, &TypeError{Type: p.Type, Field: p.Type.FieldByIndex(f.path).Name, Reason: "is stored in no property of its own"}
	}
	return names, nil
}

// Properties are the properties in which fields are stored: none for a field that is part of a key. Errors: *TypeError for a
// mistake in a field's accessor, and for a field that is not stored, or is the one for unknown columns.
func (t *Table[T]) Properties(fields ...AnyField[T]) (names []string, err error) {
	for _, f := range fields {
		more, err := f.properties(t.plan)
		if err != nil {
			return nil, t.opError("Properties", keys.Key{}, err)
		}
		names = append(names, more...)
	}
	return names, nil
}

// Projected is a value as it is read back with these properties and the keys alone.
func (t *Table[T]) Projected(v T, properties ...string) (p T, err error) {
	w := edm.NewWriter(nil, "p", "r")
	if row, ok := any(&v).(*Row); ok {
		row.write(w, reserved.OperationID)
	} else {
		t.plan.Encode(w, reflect.ValueOf(&v).Elem(), nil)
	}
	body, err := w.Finish()
	if err != nil {
		return p, t.opError("Projected", keys.Key{}, err)
	}
	columns, err := columnsOf(body)
	if err != nil {
		return p, t.opError("Projected", keys.Key{}, err)
	}
	w = edm.NewWriter(nil, "p", "r")
	(&Row{columns: columns}).Project(properties...).write(w)
	if body, err = w.Finish(); err != nil {
		return p, t.opError("Projected", keys.Key{}, err)
	}
	r := edm.NewReader(body)
	if _, err = r.One(); err != nil {
		return p, t.opError("Projected", keys.Key{}, err)
	}
	e := &Entity[T]{}
	if row, ok := any(&v).(*Row); ok {
		e.Key = row.Key
	}
	if err := t.properties(r, e); err != nil {
		return p, t.opError("Projected", keys.Key{}, err)
	}
	for _, b := range []keys.Bind[T]{t.schema.Partition, t.schema.Row} {
		to := b.Fields(&e.Value)
		for i, from := range b.Fields(&v) {
			reflect.ValueOf(to[i]).Elem().Set(reflect.ValueOf(from).Elem())
		}
	}
	return e.Value, nil
}
