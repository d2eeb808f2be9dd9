package table

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// typed tells whether rows say of themselves what they are.
func (s *Schema[T]) typed() bool { return s.Type != "" || s.Version != 0 }

// sound is the error of a schema whose versions make no sense.
func (s *Schema[T]) sound() error {
	if s.Version < 0 || s.Version > 1<<30 {
		return &ValueError{Field: "Schema.Version", Reason: fmt.Sprintf("is %d; it must be 0 to 2^30", s.Version)}
	}
	for v, f := range s.Upgrade {
		if v < 0 || v >= s.Version || f == nil {
			return &ValueError{Field: "Schema.Upgrade", Reason: fmt.Sprintf("there is no version %d below %d to upgrade, or no function to do it", v, s.Version)}
		}
	}
	return nil
}

// put writes what rows of the schema say of themselves, and returns the properties in which they do.
func (s *Schema[T]) put(w *edm.Writer) []string {
	if !s.typed() {
		return nil
	}
	if s.Type != "" {
		w.Put(reserved.Type, edm.Value{Kind: edm.String, S: s.Type})
	}
	if s.Version > 0 {
		w.Put(reserved.Version, edm.Value{Kind: edm.Int32, I: int64(s.Version)})
	}
	return []string{reserved.Type, reserved.Version}
}

// version returns the version of the row that the reader has just read. mine is false where the row is of another type.
func (s *Schema[T]) version(r *edm.Reader) (v int, mine bool, err error) {
	typ, err := r.Property(reserved.Type)
	if err != nil {
		return 0, true, err
	}
	if s.Type != "" && typ.Kind != edm.Absent && (typ.Kind != edm.String || typ.S != s.Type) {
		return 0, false, ErrOtherType
	}
	n, err := r.Property(reserved.Version)
	switch {
	case err != nil:
		return 0, true, err
	case n.Kind != edm.Absent && n.Kind != edm.Int32 && n.Kind != edm.Int64:
		return 0, true, &DecodeError{Field: reserved.Version, Reason: "is no number"}
	case n.I > int64(s.Version) || n.I < 0:
		return 0, true, &VersionError{s.Type, int(n.I), s.Version}
	}
	return int(n.I), true, nil
}

// conform decodes the row that the reader has just read, upgraded where it is of an older version.
func (t *Table[T]) conform(r *edm.Reader, e *Entity[T]) (mine bool, err error) {
	_, isRow := any(&e.Value).(*Row)
	if !isRow || t.schema.typed() {
		v, mine, err := t.schema.version(r)
		if err != nil {
			return mine, err
		}
		if t.schema.stale(v) {
			if r, err = t.upgrade(r, e, v); err != nil {
				return true, err
			}
		}
	}
	return true, t.properties(r, e)
}

// properties decodes the properties of the row that the reader has just read.
func (t *Table[T]) properties(r *edm.Reader, e *Entity[T]) (err error) {
	if row, isRow := any(&e.Value).(*Row); isRow {
		row.Key, row.ETag, row.Timestamp = e.Key, e.ETag, e.Timestamp
		row.columns, err = r.Columns()
		return err
	}
	return t.plan.Decode(r, reflect.ValueOf(&e.Value).Elem())
}

// stale tells whether rows of a version must be changed.
func (s *Schema[T]) stale(v int) bool {
	for at := range s.Upgrade {
		if at >= v {
			return true
		}
	}
	return false
}

// upgrade makes of the row that the reader has just read, of version v, one of the schema's version.
func (t *Table[T]) upgrade(r *edm.Reader, e *Entity[T], v int) (*edm.Reader, error) {
	columns, err := r.Columns()
	if err != nil {
		return nil, err
	}
	row := &Row{Key: e.Key, ETag: e.ETag, Timestamp: e.Timestamp, columns: columns}
	for ; v < t.schema.Version; v++ {
		f, ok := t.schema.Upgrade[v]
		if !ok {
			continue
		}
		if err := f(row); err != nil {
			return nil, fmt.Errorf("upgrade from version %d: %w", v, err)
		}
	}
	w := edm.NewWriter(nil, e.Key.PartitionKey(), e.Key.RowKey())
	own := t.schema.put(w)
	row.write(w, own...)
	if e.raw, err = w.Finish(); err != nil {
		return nil, err
	}
	e.upgraded = true
	r = edm.NewReader(e.raw)
	_, err = r.One()
	return r, err
}

// current tells, for a row of which only some properties were read, whether it is T's, and refuses one that would have to be
// upgraded. Where the schema knows no types and versions, they are not read.
func (t *Table[T]) current(r *edm.Reader) (mine bool, err error) {
	if !t.schema.typed() {
		return true, nil
	}
	v, mine, err := t.schema.version(r)
	if err == nil && t.schema.stale(v) {
		err = &VersionError{t.schema.Type, v, t.schema.Version}
	}
	return mine, err
}

// choose adds to a projection what tells a row's type and version.
func (t *Table[T]) choose(properties ...string) string {
	choice := edm.PartitionKey + "," + edm.RowKey
	if t.schema.typed() {
		properties = slices.Concat([]string{reserved.Type, reserved.Version}, properties)
	}
	for _, name := range properties {
		choice += "," + name
	}
	return choice
}
