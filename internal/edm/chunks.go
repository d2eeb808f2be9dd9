package edm

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// chunkUnits is the greatest length of a chunk of a text, in UTF-16 units.
const chunkUnits = 32000

// encodeChunks writes a long text or []byte in pieces. All pieces but the last are full, and the last is not, so that a missing
// piece shows. A text is not cut inside a character: a full piece may be a unit shorter.
func (f *field) encodeChunks(w *Writer, v reflect.Value) {
	if f.omit && v.IsZero() {
		return
	}
	x, err := f.scalar.get(v)
	if err != nil {
		w.Fail(f.refusal(f.name, err))
		return
	}
	n := 0
	put := func(piece Value) {
		if n < len(f.names) {
			w.putIn(f.partOf(n), f.names[n], piece)
		}
		n++
	}
	switch x.Kind {
	case Binary:
		for len(x.B) >= maxBinary {
			put(Value{Kind: Binary, B: x.B[:maxBinary:maxBinary]})
			x.B = x.B[maxBinary:]
		}
		put(x)
	case String:
		if !utf8.ValidString(x.S) {
			w.Fail(CheckValue(f.name, x))
			return
		}
		for {
			end, full := cut(x.S)
			put(Value{Kind: String, S: x.S[:end]})
			if x.S = x.S[end:]; !full {
				break
			}
		}
	}
	if n > len(f.names) {
		w.Fail(&LimitError{Field: f.name, Limit: "chunks of 64 KiB; store a larger value in a blob (package largeentity)", Got: n, Max: len(f.names)})
	}
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

// decodeChunks sets each field that is stored in pieces.
func (p *Plan) decodeChunks(r *Reader, v reflect.Value) error {
	for i := range p.fields {
		f := &p.fields[i]
		if f.form != chunks {
			continue
		}
		pieces, last := make([]Value, len(f.names)), -1
		for j := range r.members {
			m := &r.members[j]
			t, known := p.byName[string(m.name)]
			if !known || t.field != i {
				continue
			}
			x, err := r.value(*m)
			if err != nil {
				return err
			}
			if x.Kind != Absent {
				pieces[t.sub], last = x, max(last, t.sub)
			}
		}
		if last < 0 {
			continue
		}
		whole, err := f.join(pieces[:last+1])
		if err != nil {
			return err
		}
		fv := v.FieldByIndex(f.path)
		if !f.scalar.set(fv, whole) {
			return f.mismatch(f.name, fv, whole)
		}
	}
	return nil
}

// join returns the value of pieces, the last of which is there.
func (f *field) join(pieces []Value) (Value, error) {
	size := 0
	for i, x := range pieces {
		if x.Kind != f.scalar.kind {
			if x.Kind == Absent {
				return Value{}, &DecodeError{Field: f.names[i], Reason: "is missing, but a later chunk of the value is there"}
			}
			return Value{}, &DecodeError{Field: f.names[i], Reason: fmt.Sprintf("is %v; the field has chunks of %v", x.Kind, f.scalar.kind)}
		}
		full := len(x.B) == maxBinary
		if x.Kind == String {
			full = len(x.S) >= chunkUnits-1 && utf16Units(x.S) >= chunkUnits-1
		}
		switch isLast := i == len(pieces)-1; {
		case full && isLast:
			return Value{}, &DecodeError{Field: f.names[i], Reason: "is a full chunk, but the chunk behind it is missing"}
		case !full && !isLast:
			return Value{}, &DecodeError{Field: f.names[i], Reason: "is not full, but is not the last chunk of the value"}
		}
		size += len(x.B) + len(x.S)
	}
	if len(pieces) == 1 {
		return pieces[0], nil
	}
	if f.scalar.kind == String {
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
