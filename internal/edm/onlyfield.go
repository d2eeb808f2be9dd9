package edm

import (
	"fmt"
	"reflect"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// OnlyField marks a type by a field of it: a value of the type must be a field of an entity,
// because its text in JSON lacks what reads it again.
type OnlyField struct{}

var onlyField = reflect.TypeFor[OnlyField]()

// CheckStoredJSON returns a *TypeError for a type of which a value cannot be stored as JSON and
// read again.
func CheckStoredJSON(t reflect.Type) error {
	if of := marked(t, map[reflect.Type]bool{}); of != nil {
		reason := fmt.Sprintf("contains a %v, whose JSON cannot be read again; give it a field of an entity of its own", of)
		return &errs.TypeError{Type: t, Reason: reason}
	}
	return nil
}

// marked returns the type with the mark OnlyField that values of a type contain, nil if there is
// none.
func marked(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if seen[t] {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return marked(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Type == onlyField {
				return t
			}
			if f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous {
				continue // JSON leaves it out
			}
			if of := marked(f.Type, seen); of != nil {
				return of
			}
		}
	}
	return nil
}
