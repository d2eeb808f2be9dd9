package series

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// entity is the values that are written to one entity.
type entity[V Number] struct {
	key    keys.Key
	values map[string]V // by slot
}

// group groups values by their entities, in the order of the keys. join joins two values of one slot.
func group[V Number](s *Series[V], values iter.Seq2[time.Time, V], join func(slot Slot, a, b V) (V, error)) ([]entity[V], error) {
	if values == nil {
		return nil, &table.ValueError{Field: "values", Reason: "is nil; give a sequence"}
	}
	byKey := map[string]entity[V]{}
	for at, v := range values {
		c, err := s.slots.cellAt(at)
		if err != nil {
			return nil, err
		}
		k := s.keyOf(c)
		if err := k.Err(); err != nil {
			return nil, err
		}
		e, known := byKey[k.RowKey()]
		if !known {
			e = entity[V]{k, map[string]V{}}
			byKey[k.RowKey()] = e
		}
		if before, twice := e.values[c.Name]; twice {
			if v, err = join(c.Slot, before, v); err != nil {
				return nil, err
			}
		}
		if _, err := property(c.Name, v); err != nil {
			return nil, err
		}
		e.values[c.Name] = v
	}
	return slices.SortedFunc(maps.Values(byKey), func(a, b entity[V]) int { return strings.Compare(a.key.RowKey(), b.key.RowKey()) }), nil
}

// names returns the slots, in order.
func (e entity[V]) names() []string { return slices.Sorted(maps.Keys(e.values)) }

// row returns the row that has the values alone.
func (e entity[V]) row() (*table.Row, error) {
	row := &table.Row{Key: e.key}
	for _, name := range e.names() {
		x, err := property(name, e.values[name])
		if err == nil {
			err = row.Set(name, x)
		}
		if err != nil {
			return nil, err
		}
	}
	return row, nil
}
