package table

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// Entity is a value, and what is known of its row. Methods take it and renew it: after a write it
// contains the new ETag. It stays unchanged on any error, but after ErrUnknownOutcome it cannot be
// used until it is read again. It is not for concurrent use.
//
// An entity that was read from a copy of its row ([Row.Copy]) has no ETag. A full copy contains the
// operation ID of its write, so the entity serves Replace, Merge and Delete of a handle that keeps
// the copies: they read the row first, and fail with ErrChanged if the row is not as the copy, or
// from another write. An entity that was read from a copy of some properties is [Entity.Partial],
// and cannot be written.
//
// Entities come from methods. A program can make one itself, of a key and an ETag that it has
// stored, for Merge and Delete; Replace refuses it with ErrNotRead, because the columns that T does
// not know would be lost.
type Entity[T any] struct {
	Value     T
	Key       keys.Key
	ETag      azcore.ETag
	Timestamp time.Time // the service's time of the last write; zero if the service did not send it

	known known
}

// known is what is known of an entity's row besides.
type known struct {
	// row is the row as it was read or written last. Replace keeps the columns of it that T does
	// not know, and a change is the difference to it, whatever the caller has done to Value.
	row edm.Stored

	copied  *stored.Row // the copy that the entity was read from
	partial *partialRow // what was read of a partial entity, nil for any other

	older []edm.Column // the row as it is stored, if upgraded is set

	doubtful  bool // the outcome of a write is unknown
	upgraded  bool // the stored row is of an older version than row and Value
	merged    bool // a program without versions has merged into the stored row; see Schema.Merged
	edited    bool // it was made of a row that was changed since it was read, so row is not what is stored
	rowIsCopy bool // row is the JSON of the copy that the entity was read from; see decodeCopy
}

// partialRow is what is known of the row of a partial entity, from a copy or from GetFields.
type partialRow struct {
	codec   *edm.Codec
	columns []edm.Column
	parts   []uint8     // the parts that GetFields has read, nil for a copy
	head    *stored.Row // as it was stored, if GetFields has read it
}

// entity is an *Entity of any type.
type entity interface {
	fields() entityFields
}

// entityFields are the fields of an entity.
type entityFields struct {
	value     any // a pointer to Entity.Value, nil for a nil entity
	key       *keys.Key
	etag      *azcore.ETag
	timestamp *time.Time
	*known
}

func (e *Entity[T]) fields() entityFields {
	if e == nil {
		return entityFields{}
	}
	return entityFields{&e.Value, &e.Key, &e.ETag, &e.Timestamp, &e.known}
}

// typed is an entity with its type again.
func typed[T any](e entity, err error) (*Entity[T], error) {
	if err != nil {
		return nil, err
	}
	return e.(*Entity[T]), nil
}

// setKey gives an entity a key, if there is an entity.
func (e entityFields) setKey(k keys.Key) entityFields {
	if e.key != nil {
		*e.key = k
	}
	return e
}

// Partial reports whether only some of the entity's properties were read: from a copy, such as an
// index row of Index.Only, or by [Table.GetFields]. [Entity.Has] reports which. All other fields of
// Value are zero, whatever is stored. Replace of such an entity fails with ErrNotRead: Get it by
// its Key first. Merge and Delete accept an entity that GetFields has read.
func (e *Entity[T]) Partial() bool { return e != nil && e.known.partial != nil }

// Row returns the row as it was read or written last, with the columns that T does not know and the
// library's. It is nil if the whole row is not known, as after an Upsert that merged.
func (e *Entity[T]) Row() (*Row, error) { return e.fields().asRow() }

func (e entityFields) asRow() (*Row, error) {
	if !e.row.Known() {
		return nil, nil
	}
	columns, err := e.columns()
	if err != nil {
		return nil, err
	}
	return e.rowWith(columns), nil
}

// rowWith returns a row of the entity's key and version.
func (e entityFields) rowWith(columns []edm.Column) *Row {
	return (*Row)((&stored.Row{Key: *e.key, ETag: *e.etag, Timestamp: *e.timestamp}).With(columns))
}

// columns returns the columns of the row.
func (e entityFields) columns() ([]edm.Column, error) {
	columns, err := e.row.Decoded()
	if err == nil && e.rowIsCopy {
		columns = stored.Without(columns, reserved.Owner)
	}
	return columns, err
}

// Composite is a field that is stored in several properties. The pointer to the field's type
// implements it.
//
// PropertySuffixes is called on a zero value and always returns the same list; a property's name is
// the field's followed by a suffix. PropertyValues returns a value for each suffix, or nil for none
// at all; SetPropertyValues takes them back, and is not called if all are absent. Values are
// string, int32, int64, float64, bool, time.Time, [16]byte, []byte, or nil for an absent property.
type Composite interface {
	PropertySuffixes() []string
	PropertyValues() ([]any, error)
	SetPropertyValues([]any) error
}

// usable returns an error if an entity with a valid key may not be written by its ETag. entire asks
// that the whole row is known.
func (e entityFields) usable(entire bool) error {
	switch {
	case e.doubtful:
		return errDoubt
	case e.partial != nil && (entire || !versioned(*e.etag)):
		return errs.With(errs.ErrPartial, partialError{})
	case !versioned(*e.etag) && e.copied == nil && !e.rowIsCopy:
		return errs.ErrNoETag
	case entire && !e.row.Known():
		return errs.ErrPartial
	}
	return nil
}

// versioned reports whether an ETag names one version of a row: a quoted text, perhaps marked as
// weak. In particular it contains no line end, which would end the header that it is sent in.
func versioned(etag azcore.ETag) bool {
	s := strings.TrimPrefix(string(etag), "W/")
	outside := func(r rune) bool { return r < 0x21 || r > 0x7E || r == '"' }
	return len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' && !strings.ContainsFunc(s[1:len(s)-1], outside)
}

// renew updates the entity with the stored ETag and content.
func (e entityFields) renew(etag azcore.ETag, row edm.Stored) {
	now := known{row: row}
	if !row.Known() {
		now.partial = e.partial.withoutHead()
	}
	*e.etag, *e.timestamp, *e.known = etag, stamp(etag), now
	if r, ok := e.value.(*Row); ok && row.Known() {
		r.setOperationID(row)
	}
}

// withoutHead returns what was read of an entity that was written since, so that the stored head is
// not known.
func (p *partialRow) withoutHead() *partialRow {
	if p == nil || p.head == nil {
		return p
	}
	without := *p
	without.head = nil
	return &without
}

// stamp reads the time out of an ETag: the two determine each other.
func stamp(etag azcore.ETag) time.Time {
	s, ok := strings.CutPrefix(string(etag), `W/"datetime'`)
	if !ok {
		_, s, _ = strings.Cut(s, "datetime'")
	}
	s, _, _ = strings.Cut(s, "'")
	var room [40]byte
	text := room[:0]
	for {
		unescaped, rest, escaped := strings.Cut(s, "%")
		text = append(text, unescaped...)
		if !escaped {
			break
		}
		if len(rest) < 2 {
			return time.Time{}
		}
		c := uint64(':')
		if rest[:2] != "3A" {
			var err error
			if c, err = strconv.ParseUint(rest[:2], 16, 8); err != nil {
				return time.Time{}
			}
		}
		text, s = append(text, byte(c)), rest[2:]
	}
	t, _ := edm.ParseTime(text)
	return t
}

// String returns the key and the value, for programs that print an entity. It uses the String
// method of T or of *T if there is one. Of an entity that is partial, it returns only the
// properties that were read.
func (e Entity[T]) String() string { return e.fields().text() }

// LogValue returns the key, the value and the ETag, for slog. It uses the LogValue method of T or
// of *T if there is one, which can leave out secrets. Of an entity that is partial, it returns only
// the properties that were read. It is on the pointer, which methods return and which may be nil
// after an error.
func (e *Entity[T]) LogValue() slog.Value { return e.fields().logValue() }

func (e entityFields) text() string {
	s := e.key.String() + " "
	if e.partial != nil {
		s += "(partial) "
	}
	if row, ok := e.value.(*Row); ok {
		return s + printed(row.columns())
	}
	if v, ok := e.value.(fmt.Stringer); ok {
		return s + v.String()
	}
	if e.partial != nil {
		return s + printed(e.read())
	}
	return s + fmt.Sprintf("%+v", e.printable())
}

// printable returns the value itself, which is printed without the & of a pointer.
func (e entityFields) printable() any { return reflect.ValueOf(e.value).Elem().Interface() }

func (e entityFields) logValue() slog.Value {
	if e.value == nil {
		return slog.Value{}
	}
	attrs := []slog.Attr{slog.Any("key", *e.key)}
	if e.partial != nil {
		attrs = append(attrs, slog.Bool("partial", true))
	}
	v, logs := e.value.(slog.LogValuer)
	switch {
	case logs:
		attrs = append(attrs, slog.Any("value", v))
	case e.partial != nil:
		attrs = append(attrs, slog.Attr{Key: "value", Value: slog.GroupValue(logged(e.read())...)})
	default:
		attrs = append(attrs, slog.Any("value", e.printable()))
	}
	return slog.GroupValue(append(attrs, slog.String("etag", string(*e.etag)))...)
}

// read returns the properties of a partial entity.
func (e entityFields) read() []edm.Column {
	return slices.DeleteFunc(slices.Clone(e.partial.columns), func(c edm.Column) bool { return edm.IsSystem(c.Name) })
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

// shown returns a value of a property as it is printed: bytes as hexadecimal text, and a GUID in
// its usual form.
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
func (r Row) String() string { return r.Key.String() + " " + printed(r.columns()) }

// LogValue is the key and the properties, for slog, also for a nil *Row.
func (r *Row) LogValue() slog.Value {
	if r == nil {
		return slog.Value{}
	}
	return slog.GroupValue(append([]slog.Attr{slog.Any("key", r.Key)}, logged(r.columns())...)...)
}
