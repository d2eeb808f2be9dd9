package table

import (
	"bytes"
	"crypto/rand"
	"strings"

	"github.com/aztablekit/aztablekit/internal/edm"
)

// opProperty holds the name of the write that a row is from.
const opProperty = "_op"

// The name of a write: 10 digits of time in milliseconds, so that names sort by time, and 16 of chance, both in the digits
// of Crockford's base 32.
const (
	opDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	opTime   = 10
	opLength = opTime + 16
)

// newOp names a write.
func (o *Common) newOp() string {
	b := make([]byte, opTime, opLength)
	ms := uint64(o.Now().UnixMilli())
	for i := opTime - 1; i >= 0; i-- {
		b[i] = opDigits[ms&31]
		ms >>= 5
	}
	return string(b) + o.NewID()
}

// newID is 80 bits of chance.
func newID() string {
	b := make([]byte, opLength-opTime)
	rand.Read(b) // it never fails
	for i := range b {
		b[i] = opDigits[b[i]&31]
	}
	return string(b)
}

// unnamed stands in a body for the name that the write gets when it is sent.
var unnamed = strings.Repeat("?", opLength)

// reserve leaves room for the name of the write, as the last property of a body.
func reserve(w *edm.Writer) { w.Put(opProperty, edm.Value{Kind: edm.String, S: unnamed}) }

// marked tells whether a body has room for a name, which nothing follows.
func marked(body []byte) bool { return bytes.HasSuffix(body, []byte(`"`+unnamed+`"}`)) }

// mark names the write in a body.
func mark(body []byte, op string) []byte {
	named := bytes.Clone(body)
	copy(named[len(named)-len(unnamed)-2:], op)
	return named
}
