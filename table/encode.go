package table

import (
	"errors"
	"reflect"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// keyOf makes an entity's key of its fields.
func (t *Table[T]) keyOf(v *T) keys.Key {
	return keys.At(t.schema.Partition.Encode(v), t.schema.Row.Encode(v))
}

// encode writes the whole of a value under a key, and what the stored row holds besides.
func (t *Table[T]) encode(k keys.Key, v *T, stored []byte) ([]byte, error) {
	if err := k.Err(); err != nil {
		return nil, err
	}
	if err := t.agrees(v, k); err != nil {
		return nil, err
	}
	w := edm.NewWriter(nil, k.PartitionKey(), k.RowKey())
	t.plan.Encode(w, reflect.ValueOf(v).Elem())
	t.plan.PutUnknown(w, stored)
	return w.Finish()
}

// encodeSets writes the properties that a merge sets.
func (t *Table[T]) encodeSets(k keys.Key, sets []Set[T]) ([]byte, error) {
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
			if reflect.DeepEqual(other.path, s.path) {
				return nil, &ValueError{Field: t.plan.Type.FieldByIndex(s.path).Name, Reason: "is set twice"}
			}
		}
		t.plan.EncodeField(w, s.path, s.value)
	}
	return w.Finish()
}

// usable tells whether an entity may be written by its ETag; entire asks that the whole row is known.
func (e *Entity[T]) usable(entire bool) error {
	switch {
	case e.Key.Err() != nil:
		return e.Key.Err()
	case e.state == doubtful:
		return &condition{ErrUnknownOutcome, errors.New("of an earlier write to this entity; Get it again")}
	case e.ETag == "" || e.ETag == azcore.ETagAny:
		return ErrNoETag
	case entire && e.state == partial:
		return ErrPartial
	}
	return nil
}

// doubt marks an entity of which nobody knows whether a write has changed it.
func (e *Entity[T]) doubt(err error) error {
	if errors.Is(err, ErrUnknownOutcome) {
		e.state = doubtful
	}
	return err
}
