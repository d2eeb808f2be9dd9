package largeentity

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// Attach returns a handle of a table whose writes keep track of the blobs in the fields of type [Blob]: a write that stores a Blob
// also stores a row for its blob, in the same transaction, and a write that replaces a Blob or deletes its entity marks the row, and
// then deletes the blob. All writers of the table must use such handles; see [maintain.With]. Readers need not.
//
// Writes fail with a *table.DerivedError that wraps ErrUploadAgain for a Blob that another entity has or had, that was replaced or
// deleted before, or that was uploaded more than half of Options.Grace ago; and ErrForeignBlob for one of another table or
// partition. An entity can be rekeyed, and a Blob can pass from one entity to another in one transaction, in which the first gives
// it up before the second takes it. A restored entity of package archive has its Blobs again.
//
// Requests: a write still takes 1; 1 or 2 more for each blob that it replaces: to delete the blob and, if it was uploaded longer ago
// than Options.Grace, its row. A restore reads the row of each blob.
//
// Errors: *table.ValueError for a store of another table, and for a T without fields of type Blob; *table.TypeError for a T with a
// Blob in a field of another type, such as a slice; those of maintain.With.
func Attach[T any](t *table.Table[T], s *Store) (*table.Table[T], error) {
	fail := func(err error) (*table.Table[T], error) { return nil, fmt.Errorf("largeentity: Attach: %w", err) }
	switch {
	case t.Engine() == nil:
		return fail(table.ErrorOf(engine.CheckHandle("t", nil)))
	case s == nil:
		return fail(&table.ValueError{Field: "s", Reason: "is nil"})
	case !strings.EqualFold(t.Name(), s.table):
		return fail(&table.ValueError{Field: "s", Reason: fmt.Sprintf("is the store of the table %s, and not of %s", s.table, t.Name())})
	}
	fields, err := fieldsOf(reflect.TypeFor[T]())
	if err != nil {
		return fail(err)
	}
	attached, err := maintain.With(t, &links[T]{store: s, rows: table.RowsOf(t.Engine(), false), fields: fields})
	if err != nil {
		return fail(err)
	}
	return attached, nil
}

var blobType = reflect.TypeFor[Blob]()

// fieldsOf returns the paths of the fields of type Blob.
func fieldsOf(t reflect.Type) (fields [][]int, err error) {
	if t.Kind() != reflect.Struct {
		return nil, &table.TypeError{Type: t, Reason: "is not a struct"}
	}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("table"), ",")
		switch {
		case tag == "-" || !f.IsExported():
		case f.Type == blobType:
			fields = append(fields, f.Index)
		case f.Anonymous && f.Type.Kind() == reflect.Struct: // its fields are visible
		case contains(f.Type, map[reflect.Type]bool{}):
			return nil, &table.TypeError{Type: t, Field: f.Name, Reason: fmt.Sprintf("contains a largeentity.Blob in a %v; give it a field of its own", f.Type)}
		}
	}
	if len(fields) == 0 {
		return nil, &table.ValueError{Field: "t", Reason: fmt.Sprintf("has entities of type %v, which has no field of type largeentity.Blob", t)}
	}
	return fields, nil
}

// contains reports whether values of a type contain Blobs.
func contains(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == blobType {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return contains(t.Elem(), seen)
	case reflect.Map:
		return contains(t.Key(), seen) || contains(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if contains(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}
