package table

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/edm"
)

// String returns the key and the value, for programs that print an entity. It uses the String method of T or of *T if there is one.
// Of an entity that is partial, it returns only the properties that were read.
func (e Entity[T]) String() string { return e.parts().text() }

// LogValue returns the key, the value and the ETag, for slog. It uses the LogValue method of T or of *T if there is one, which can
// leave out secrets. Of an entity that is partial, it returns only the properties that were read. It is on the pointer, which
// methods return and which may be nil after an error.
func (e *Entity[T]) LogValue() slog.Value { return e.parts().logValue() }

func (e parts) text() string {
	s := e.key.String() + " "
	if e.part != nil {
		s += "(partial) "
	}
	if row, ok := e.value.(*Row); ok {
		return s + printed(row.columns)
	}
	if v, ok := e.value.(fmt.Stringer); ok {
		return s + v.String()
	}
	if e.part != nil {
		return s + printed(e.read())
	}
	return s + fmt.Sprintf("%+v", e.plain())
}

// plain returns the value itself, which is printed without the & of a pointer.
func (e parts) plain() any { return reflect.ValueOf(e.value).Elem().Interface() }

func (e parts) logValue() slog.Value {
	if e.value == nil {
		return slog.Value{}
	}
	attrs := []slog.Attr{slog.Any("key", *e.key)}
	if e.part != nil {
		attrs = append(attrs, slog.Bool("partial", true))
	}
	v, logs := e.value.(slog.LogValuer)
	switch {
	case logs:
		attrs = append(attrs, slog.Any("value", v))
	case e.part != nil:
		attrs = append(attrs, slog.Attr{Key: "value", Value: slog.GroupValue(logged(e.read())...)})
	default:
		attrs = append(attrs, slog.Any("value", e.plain()))
	}
	return slog.GroupValue(append(attrs, slog.String("etag", string(*e.etag)))...)
}

// read returns the properties of a partial entity.
func (e parts) read() []edm.Column {
	return slices.DeleteFunc(slices.Clone(e.part.columns), func(c edm.Column) bool { return edm.IsSystem(c.Name) })
}

// printed returns properties with their names.
func printed(columns []edm.Column) string {
	var all []string
	for _, c := range columns {
		all = append(all, fmt.Sprintf("%s:%v", c.Name, shown(c.Value)))
	}
	return "{" + strings.Join(all, " ") + "}"
}

// logged returns properties as attributes.
func logged(columns []edm.Column) (attrs []slog.Attr) {
	for _, c := range columns {
		attrs = append(attrs, slog.Any(c.Name, shown(c.Value)))
	}
	return attrs
}

// shown returns a value of a property as it is printed: bytes as hexadecimal text, and a GUID in its usual form.
func shown(x edm.Value) any {
	switch v := x.Any().(type) {
	case []byte:
		return "0x" + hex.EncodeToString(v)
	case [16]byte:
		return fmt.Sprintf("%x-%x-%x-%x-%x", v[:4], v[4:6], v[6:8], v[8:10], v[10:])
	default:
		return v
	}
}

// String returns the key and the properties, for programs that print a row.
func (r Row) String() string { return r.Key.String() + " " + printed(r.columns) }

// LogValue is the key and the properties, for slog, also for a nil *Row.
func (r *Row) LogValue() slog.Value {
	if r == nil {
		return slog.Value{}
	}
	return slog.GroupValue(append([]slog.Attr{slog.Any("key", r.Key)}, logged(r.columns)...)...)
}
