package wire

import (
	"io"
	"slices"
	"strings"
)

// batchBody is the body of a transaction: text, and entities between. It implements io.ReaderAt.
type batchBody struct {
	text     strings.Builder
	entities []batchEntity
	json     int64 // bytes of all entities
}

// batchEntity is the JSON of an entity.
type batchEntity struct {
	json []byte
	at   int64 // its position in the body
	text int   // bytes of text before it
}

// put adds the JSON of an entity.
func (b *batchBody) put(json []byte) {
	b.entities = append(b.entities, batchEntity{json, b.length(), b.text.Len()})
	b.json += int64(len(json))
}

func (b *batchBody) length() int64 { return int64(b.text.Len()) + b.json }

// ReadAt implements io.ReaderAt.
func (b *batchBody) ReadAt(p []byte, at int64) (n int, err error) {
	if at >= b.length() {
		return 0, io.EOF
	}
	next, _ := slices.BinarySearchFunc(b.entities, at, func(e batchEntity, at int64) int { return int(e.at - at) })
	for n < len(p) {
		copied := b.piece(p[n:], next, at+int64(n))
		if n += copied; copied == 0 {
			if next == len(b.entities) {
				return n, io.EOF
			}
			next++
		}
	}
	return n, nil
}

// piece copies the body from a position up to entity next, as far as it is in one piece, and returns how many bytes these are.
func (b *batchBody) piece(p []byte, next int, at int64) int {
	from, to := int(at), b.text.Len()
	if next > 0 {
		e := &b.entities[next-1]
		behind := int(at-e.at) - len(e.json)
		if behind < 0 {
			return copy(p, e.json[len(e.json)+behind:])
		}
		from = e.text + behind
	}
	if next < len(b.entities) {
		to = b.entities[next].text
	}
	return copy(p, b.text.String()[from:to])
}
