package table

import (
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// Entity is a value with what the service and the library know of its row. Verbs take it and renew it: after a write it
// carries the new ETag. On any error it stays as it was, but after ErrUnknownOutcome it cannot be used until it is read
// again. It is not for concurrent use.
//
// One that was read from a copy of its row ([Row.Copy]) has no ETag. A full copy names the write that it is from, and so serves
// Replace, Merge and Delete of a handle that keeps the copies: they read the row first, and it is ErrChanged where the row is not
// as the copy, or from another write. What was read from part of a row cannot be written by.
//
// Entities come from verbs. One that a program makes itself, of a key and an ETag that it has kept, serves Merge and
// Delete; Replace refuses it with ErrPartial, for the columns that T does not know would be lost.
type Entity[T any] struct {
	Value     T
	Key       keys.Key
	ETag      azcore.ETag
	Timestamp time.Time // the service's time of the last write; zero if the service did not tell

	// raw is the row as it was read or written last: what Replace keeps of it goes back from here, and a change is the
	// difference to it, whatever the caller has done to Value.
	raw []byte

	doubtful bool // the outcome of a write is unknown
	upgraded bool // the stored row is of an older version than raw and Value
	copied   *Row // the copy that it was read from
	part     bool // it was read from a copy of some of its properties
	edited   bool // it was made of a row that was changed since it was read, so raw is not what is stored
}

// String returns the key and the value, for programs that print an entity.
func (e Entity[T]) String() string { return fmt.Sprintf("%v %s", e.Key, printed(e.Value)) }

// LogValue is the key, the value and the ETag, for slog. It is on the pointer, which methods return and which may be nil after an error.
func (e *Entity[T]) LogValue() slog.Value {
	if e == nil {
		return slog.Value{}
	}
	return slog.GroupValue(slog.Any("key", e.Key), slog.Any("value", e.Value), slog.String("etag", string(e.ETag)))
}

// printed is a value with the names of its fields; a Row is its properties.
func printed(v any) string {
	row, ok := v.(Row)
	if !ok {
		return fmt.Sprintf("%+v", v)
	}
	var all []string
	for name, v := range row.All() {
		all = append(all, fmt.Sprintf("%s:%v", name, v))
	}
	return "{" + strings.Join(all, " ") + "}"
}

// Row returns the row as it was read or written last, with the columns that T does not know and those of the library. It
// is nil where the whole row is not known, as after an Upsert that merged.
func (e *Entity[T]) Row() (*Row, error) {
	if e.raw == nil {
		return nil, nil
	}
	columns, err := columnsOf(e.raw)
	if err != nil {
		return nil, public(err)
	}
	return &Row{Key: e.Key, ETag: e.ETag, Timestamp: e.Timestamp, columns: columns}, nil
}

// Composite is a field that is stored in several properties. The pointer to the field's type implements it.
//
// PropertySuffixes is called on a zero value and always returns the same list; a property's name is the field's followed
// by a suffix. PropertyValues returns a value for each suffix, or nil for none at all; SetPropertyValues takes them back,
// and is not called where all are absent. Values are string, int32, int64, float64, bool, time.Time, [16]byte, []byte, or
// nil for an absent property.
type Composite interface {
	PropertySuffixes() []string
	PropertyValues() ([]any, error)
	SetPropertyValues([]any) error
}

// asked is the error of a response to a request for one row that brings another: of a proxy, for instance.
func asked(k keys.Key, in edm.Entity) error {
	if in.PartitionKey == k.PartitionKey() && in.RowKey == k.RowKey() {
		return nil
	}
	return &DecodeError{Reason: "it holds the row " + keys.Stored(in.PartitionKey, in.RowKey).String() + ", which was not asked for"}
}

// decode turns the entity that the reader has just read into a typed one. mine is false for a row that belongs to another
// type, and err says why: a *keys.KeyError where another layout has made its key, ErrOtherType where it says so itself.
func (t *Table[T]) decode(r *edm.Reader, in edm.Entity) (e *Entity[T], mine bool, err error) {
	e = &Entity[T]{Key: keys.Stored(in.PartitionKey, in.RowKey), ETag: azcore.ETag(in.ETag), Timestamp: in.Timestamp, raw: in.Raw}
	if err := t.schema.Row.Decode(&e.Value, in.RowKey); err != nil {
		return nil, false, err
	}
	if err := t.schema.Partition.Decode(&e.Value, in.PartitionKey); err != nil {
		return nil, false, err
	}
	if mine, err := t.conform(r, e); err != nil {
		return nil, mine, err
	}
	if t.verify {
		if err := t.agrees(&e.Value, e.Key); err != nil {
			return nil, !t.schema.Row.OneWay(), err // only its key tells whose row it is
		}
	}
	return e, true, nil
}

// agrees compares a key with what the schema makes of a value. A half that is not bound agrees with everything.
func (t *Table[T]) agrees(v *T, k keys.Key) error {
	if row, ok := any(v).(*Row); ok && row.Key != (keys.Key{}) && row.Key != k {
		return &keys.KeyError{Key: edm.RowKey, Value: row.Key.String(), Reason: "is the row's own key, but is not the one under which it is written, " + k.String()}
	}
	for _, half := range []struct {
		name  string
		bind  keys.Bind[T]
		given string
	}{{edm.PartitionKey, t.schema.Partition, k.PartitionKey()}, {edm.RowKey, t.schema.Row, k.RowKey()}} {
		if !half.bind.IsSet() {
			continue
		}
		s, err := half.bind.Encode(v).Result()
		if err != nil && t.unchanged(half.bind, v, half.given) {
			continue
		}
		if err != nil {
			return err
		}
		if s != half.given {
			return &keys.KeyError{Key: half.name, Value: half.given, Reason: "does not agree with the entity's fields, which make " + s}
		}
	}
	return nil
}

// unchanged tells whether a key that could not be made again says the same as v: the key of a row that others have written
// need not be one that this library would write.
func (t *Table[T]) unchanged(b keys.Bind[T], v *T, given string) bool {
	var read T
	if b.OneWay() || b.Decode(&read, given) != nil {
		return false
	}
	is, was := b.Fields(v), b.Fields(&read)
	return len(is) > 0 && reflect.DeepEqual(is, was)
}

// stamp reads the time out of an ETag: the two determine each other.
func stamp(etag azcore.ETag) time.Time {
	_, s, _ := strings.Cut(string(etag), "datetime'")
	s, _, _ = strings.Cut(s, "'")
	if s, err := url.PathUnescape(s); err == nil {
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
