package edm

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// How many properties of a field with several are stored in one part. They are never changed: they determine where values are
// stored.
const (
	elementsPerPart = 200
	chunksPerPart   = 15 // of at most 64 KiB
)

// defaultChunks is the most chunks of a field: more than an entity can have.
const defaultChunks = 60

// mostElements is the greatest n of the option each=n.
func mostElements(placed bool) int {
	if placed {
		return (MaxPart + 1) * elementsPerPart
	}
	return 1000
}

// takePart takes the option part=n from the options of a field.
func (f *field) takePart(words []string) (left []string, placed bool, err error) {
	for _, word := range words {
		number, is := strings.CutPrefix(word, "part=")
		if !is {
			left = append(left, word)
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > MaxPart || placed {
			return nil, false, fmt.Errorf("part=%s: the option part occurs once, with the number of a part, 0 to %d", number, MaxPart)
		}
		f.first, placed = uint8(n), true
	}
	return left, placed, nil
}

// element returns an element of a list, counted from 1, as a field of its own.
func (f *field) element(i int) (*field, error) {
	switch {
	case f.form != elements:
		return nil, &ValueError{Field: f.name, Reason: "has no elements in properties of their own; the option each is for that"}
	case i > len(f.names):
		return nil, &LimitError{Field: f.name, Limit: "elements", Got: i, Max: len(f.names)}
	}
	return &field{
		path: f.path, goName: f.goName, name: f.names[i-1], names: f.names[i-1 : i], form: single, narrow: f.narrow, scalar: f.scalar, first: f.partOf(i - 1),
	}, nil
}

// SetElement sets an element of a list, which it extends if necessary.
func SetElement(list reflect.Value, i int, v reflect.Value) { elementAt(list, i).Set(v) }

// Parts returns the greatest number of a part in which a field is stored, 0 if all of them are in the head.
func (p *Plan) Parts() int { return int(p.parts) }

// PartsOf returns the parts in which properties are stored, in ascending order.
func (p *Plan) PartsOf(names ...string) []uint8 {
	var parts []uint8
	for _, name := range names {
		if t, known := p.byName[name]; known {
			parts = append(parts, p.fields[t.field].partOf(t.sub))
		} else {
			parts = append(parts, p.extraPart)
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}
