package index

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// probe calls the key function for sample entities. It fails if the function is not pure, or uses a field that a projection does
// not copy. Mistakes that the samples do not show make writes fail later.
func (ix *Index[T, K]) probe(t *table.Table[T], only ...string) error {
	at := keys.Stored("p", "r")
	for seed := range 4 {
		var v T
		fillSample(reflect.ValueOf(&v).Elem(), &seed, 0)
		whole, err := callUser(ix.name, "key", ix.key, &v)
		if err != nil {
			continue // the function may panic for values that no program stores
		}
		again, err := callUser(ix.name, "key", ix.key, &v)
		if err != nil || !reflect.DeepEqual(whole, again) {
			return &DefinitionError{Definition: ix.name, Field: "key", Reason: fmt.Sprintf("is not pure: for one entity it returned %v, and then %v", whole, again)}
		}
		var de *DefinitionError
		_, err = ix.rows(&v, at)
		partitionPanics := errors.As(err, &de) && de.Field == fieldPartition && strings.HasPrefix(de.Reason, "panics")
		if (len(ix.opt.Only) == 0 || ix.opt.Elsewhere != nil) && de != nil && !partitionPanics {
			return err // the layout's own functions panic, or Elsewhere.Partition is wrong
		}
		if len(ix.opt.Only) == 0 {
			continue
		}
		part, err := t.Engine().Mode.Schema.Projected(&v, only...)
		if err != nil {
			continue // these values cannot be stored
		}
		want, err1 := ix.rowsOnce(&v, at)
		got, err2 := ix.rowsOnce(part.(*T), at)
		if err1 == nil && (err2 != nil || !slices.Equal(want, got)) {
			return &DefinitionError{Definition: ix.name, Field: "Only", Reason: "lacks a field that the key function uses; add the field"}
		}
	}
	return nil
}

// probeFunction calls a function of a definition for sample entities, and returns the DefinitionErrors that it finds. All other
// errors are about the values, which no program may store, and so are panics.
func probeFunction[T any](f func(*T) error) error {
	for seed := range 4 {
		var v T
		fillSample(reflect.ValueOf(&v).Elem(), &seed, 0)
		var de *DefinitionError
		if errors.As(f(&v), &de) && !strings.HasPrefix(de.Reason, "panics") {
			return de
		}
	}
	return nil
}

// fillSample gives each exported field of a value another content.
func fillSample(v reflect.Value, n *int, depth int) {
	if *n++; depth > 4 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(*n%2 == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n % 100))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n % 100))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(*n % 100))
	case reflect.String:
		v.SetString(fmt.Sprintf("a%d", *n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillSample(v.Elem(), n, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillSample(v.Index(0), n, depth+1)
	case reflect.Array:
		for i := range v.Len() {
			fillSample(v.Index(i), n, depth+1)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 1+*n%28, 0, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fillSample(v.Field(i), n, depth+1)
		}
	}
}
