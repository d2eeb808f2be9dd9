package table

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// keyOf makes an entity's key of its fields.
func (t *Table[T]) keyOf(v *T) keys.Key {
	if v == nil {
		return keys.Key{} // encode says so
	}
	if row, ok := any(v).(*Row); ok && !t.schema.Partition.IsSet() && !t.schema.Row.IsSet() {
		return row.Key
	}
	return keys.At(t.schema.Partition.Encode(v), t.schema.Row.Encode(v))
}

// create is encode for a row that may not exist yet: its key must be one that lists show, which that of a row that was
// read ([keys.Stored]) need not be.
func (t *Table[T]) create(k keys.Key, v *T, stored []byte, except ...string) ([]byte, error) {
	if k.Err() == nil && !t.derivedRows {
		if err := keys.At(keys.Raw(k.PartitionKey()), keys.Raw(k.RowKey())).Err(); err != nil {
			return nil, err
		}
	}
	return t.encode(k, v, stored, except...)
}

// keptProperties belong to one existence of a row: its incarnation and its maintainer state. Only a write that knows the stored row
// writes them, by its ETag.
var incarnationProperties = []string{reserved.Incarnation, reserved.MaintainerState}

// encode writes the whole of a value under a key, and what the stored row holds besides, except for some properties.
func (t *Table[T]) encode(k keys.Key, v *T, stored []byte, except ...string) ([]byte, error) {
	if v == nil {
		return nil, errNil
	}
	if err := k.Err(); err != nil {
		return nil, err
	}
	if err := t.agrees(v, k); err != nil {
		return nil, err
	}
	w := edm.NewWriter(nil, k.PartitionKey(), k.RowKey())
	own := append(t.schema.put(w), reserved.OperationID)
	own = append(own, except...)
	if stored == nil {
		own = append(own, incarnationProperties...) // a new row has none of another's
		if !t.derivedRows {
			own = append(own, reserved.Owner)
		}
	}
	if row, ok := any(v).(*Row); ok && stored != nil {
		if err := row.over(w, stored, t.derivedRows, own...); err != nil {
			return nil, err
		}
	} else if ok {
		row.write(w, own...)
	} else {
		t.plan.Encode(w, reflect.ValueOf(v).Elem(), stored)
		t.plan.PutUnknown(w, stored, own...)
	}
	if !t.opt.OmitOperationID {
		reserve(w)
	}
	return w.Finish()
}

var errNil = &ValueError{Field: "value", Reason: "is nil"}

// encodeSets writes the properties that a merge sets. stored is the row as it was read, or nil.
func (t *Table[T]) encodeSets(k keys.Key, sets []Set[T], stored []byte) ([]byte, error) {
	if err := k.Err(); err != nil {
		return nil, err
	}
	if len(sets) == 0 {
		return nil, &ValueError{Field: "sets", Reason: "a merge needs at least one property to set"}
	}
	w := edm.NewWriter(nil, k.PartitionKey(), k.RowKey())
	for i, s := range sets {
		if s.err != nil {
			return nil, s.err
		}
		for _, other := range sets[:i] {
			if other.name == s.name && slices.Equal(other.path, s.path) {
				return nil, &ValueError{Field: t.fieldName(s), Reason: "is set twice"}
			}
		}
		if s.name == "" {
			t.plan.EncodeField(w, s.path, s.value, stored)
		} else if err := putNamed(w, s.name, s.value); err != nil {
			return nil, err
		}
	}
	if !t.opt.OmitOperationID {
		reserve(w)
	}
	return w.Finish()
}

func (t *Table[T]) fieldName(s Set[T]) string {
	if s.name != "" || len(s.path) == 0 {
		return s.name
	}
	return t.plan.Type.FieldByIndex(s.path).Name
}

// putNamed writes a property that a merge of a Row sets.
func putNamed(w *edm.Writer, name string, v reflect.Value) error {
	x, err := edm.Named(name, v)
	switch {
	case err != nil:
		return err
	case edm.System(name):
		return &ValueError{Field: name, Reason: "belongs to the library"}
	case x.Kind == edm.Absent:
		return &ValueError{Field: name, Reason: "a merge cannot make a property absent; use Replace"}
	}
	w.Put(name, x)
	return nil
}

// merged writes what a merge of e sends. If the row is known, it must be one that can be stored afterwards.
func (t *Table[T]) merged(e *Entity[T], sets []Set[T]) (body []byte, err error) {
	switch {
	case e.upgraded:
		return nil, ErrOldVersion
	case e.raw == nil && t.schema.Version > 0:
		return nil, fmt.Errorf("%w, and its version is not known", ErrPartial)
	}
	if body, err = t.encodeSets(e.Key, sets, e.raw); err != nil {
		return nil, err
	}
	if t.oneWay() {
		v := e.Value
		apply(&v, sets)
		if t.agrees(&v, e.Key) != nil {
			return nil, ErrKeyChanged
		}
	}
	if e.raw != nil {
		_, err = edm.Overlay(e.raw, body)
	}
	return body, err
}

// apply makes the changes of a merge to a value.
func apply[T any](v *T, sets []Set[T]) {
	to := reflect.ValueOf(v).Elem()
	for _, s := range sets {
		if row, ok := any(v).(*Row); ok {
			x, _ := edm.Named(s.name, s.value) // it has been written
			row.put(s.name, x)
			continue
		}
		to.FieldByIndex(s.path).Set(s.value)
	}
}

// oneWay tells whether a key is computed from fields that are stored as properties.
func (t *Table[T]) oneWay() bool { return t.schema.Partition.OneWay() || t.schema.Row.OneWay() }

// keysAlone is the body of a merge that changes nothing.
func keysAlone(k keys.Key) []byte {
	body, _ := edm.NewWriter(nil, k.PartitionKey(), k.RowKey()).Finish() // no properties, no limit to exceed
	return body
}

var errPart = errors.New("it was read from a copy that holds some of its properties, and the others are zero: Get it by its Key")

var errDoubt = &condition{ErrUnknownOutcome, errors.New("of an earlier write to this entity; Get it again")}

// usable tells whether an entity may be written by its ETag; entire asks that the whole row is known.
func (e *Entity[T]) usable(entire bool) error {
	switch {
	case e == nil:
		return errNil
	case e.Key.Err() != nil:
		return e.Key.Err()
	case e.doubtful:
		return errDoubt
	case !versioned(e.ETag) && e.part:
		return &condition{ErrNoETag, errPart}
	case !versioned(e.ETag) && e.copied == nil:
		return ErrNoETag
	case entire && e.raw == nil:
		return ErrPartial
	}
	return nil
}

// versioned tells whether an ETag names one version of a row: a quoted text, perhaps marked as weak. In particular it holds
// no line end, which would end the header that it is sent in.
func versioned(etag azcore.ETag) bool {
	s := strings.TrimPrefix(string(etag), "W/")
	plain := func(r rune) bool { return r < 0x21 || r > 0x7E || r == '"' }
	return len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' && !strings.ContainsFunc(s[1:len(s)-1], plain)
}

// renew makes e what the service has stored.
func (e *Entity[T]) renew(etag azcore.ETag, raw []byte) {
	e.ETag, e.Timestamp, e.raw, e.upgraded, e.doubtful, e.copied, e.edited = etag, stamp(etag), raw, false, false, nil, false
	if row, ok := any(&e.Value).(*Row); ok && raw != nil {
		row.named(raw)
	}
}
