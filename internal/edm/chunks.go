package edm

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// chunkUnits is the greatest length of a chunk of a text, in UTF-16 units.
const chunkUnits = 32000

// chunksOf returns a long text or []byte in chunks. All chunks but the last are full, and the last is not, so that a missing chunk
// shows. A text is not cut inside a character: a full chunk may be a unit shorter. An absent value has no chunks.
func chunksOf(x Value) (all []Value) {
	switch x.Kind {
	case Binary:
		for len(x.B) >= maxBinary {
			all = append(all, Value{Kind: Binary, B: x.B[:maxBinary:maxBinary]})
			x.B = x.B[maxBinary:]
		}
		all = append(all, x)
	case String:
		for full := true; full; {
			var end int
			end, full = cut(x.S)
			all = append(all, Value{Kind: String, S: x.S[:end]})
			x.S = x.S[end:]
		}
	}
	return all
}

// cut returns where the first chunk of a text ends, and whether the chunk is full.
func cut(s string) (end int, full bool) {
	units := 0
	for i, r := range s {
		n := utf16.RuneLen(r)
		if units+n > chunkUnits {
			return i, true
		}
		units += n
	}
	return len(s), units >= chunkUnits-1
}

// join returns the value of chunks of a kind, the last of which is there. names are their properties.
func join(kind Kind, names []string, pieces []Value) (Value, error) {
	size := 0
	for i, x := range pieces {
		if x.Kind != kind {
			if x.Kind == Absent {
				return Value{}, &DecodeError{Field: names[i], Reason: "is missing, but a later chunk of the value is there"}
			}
			return Value{}, &DecodeError{Field: names[i], Reason: fmt.Sprintf("is %v; the field has chunks of %v", x.Kind, kind)}
		}
		full := len(x.B) == maxBinary
		if x.Kind == String {
			full = len(x.S) >= chunkUnits-1 && utf16Units(x.S) >= chunkUnits-1
		}
		switch isLast := i == len(pieces)-1; {
		case full && isLast:
			return Value{}, &DecodeError{Field: names[i], Reason: "is a full chunk, but the chunk behind it is missing"}
		case !full && !isLast:
			return Value{}, &DecodeError{Field: names[i], Reason: "is not full, but is not the last chunk of the value"}
		}
		size += len(x.B) + len(x.S)
	}
	if len(pieces) == 1 {
		return pieces[0], nil
	}
	if kind == String {
		var text strings.Builder
		text.Grow(size)
		for _, x := range pieces {
			text.WriteString(x.S)
		}
		return Value{Kind: String, S: text.String()}, nil
	}
	joined := make([]byte, 0, size)
	for _, x := range pieces {
		joined = append(joined, x.B...)
	}
	return Value{Kind: Binary, B: joined}, nil
}
