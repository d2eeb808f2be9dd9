package table

import (
	"bytes"
	"crypto/rand"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// An operation ID: 10 digits of time in milliseconds, so that names sort by time, and 16 of chance, both in the digits
// of Crockford's base 32.
const (
	opDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	opTime   = 10
	opLength = opTime + 16
)

// newOp names a write. Errors: *ValueError for a NewID that makes something else than it should.
func (o *Common) newOp() (string, error) {
	id := o.NewID()
	if !isID(id) {
		return "", errNewID
	}
	return opTimeText(o.Now()) + id, nil
}

var errNewID = &ValueError{Field: "Common.NewID", Reason: "must make 16 of the characters 0-9 and A-Z"}

// isID reports whether a text has the form that Common.NewID makes, as every incarnation has.
func isID(s string) bool { return len(s) == opLength-opTime && strings.Trim(s, opDigits+"ILOU") == "" }

// opTimeText is a time as the operation IDs begin with it.
func opTimeText(t time.Time) string {
	b := make([]byte, opTime)
	ms := uint64(max(t.UnixMilli(), 0))
	for i := opTime - 1; i >= 0; i-- {
		b[i] = opDigits[ms&31]
		ms >>= 5
	}
	return string(b)
}

// opTimeOf is when a write was named.
func opTimeOf(name string) (time.Time, error) {
	var ms int64
	bad := len(name) != opLength || strings.Trim(name, opDigits+"ILOU") != ""
	for i := 0; i < opTime && !bad; i++ {
		d := strings.IndexByte(opDigits, name[i])
		bad = d < 0
		ms = ms<<5 | int64(d)
	}
	if bad {
		return time.Time{}, &ValueError{Field: "Op", Reason: "is not the name of a write"}
	}
	return time.UnixMilli(ms).UTC(), nil
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

// reserve leaves room for the operation ID, as the last property of a body.
func reserve(w *edm.Writer) { w.Put(reserved.OperationID, edm.Value{Kind: edm.String, S: unnamed}) }

// mark names the write in a body that has room for it.
func mark(body []byte, op string) []byte {
	named := bytes.Clone(body)
	copy(named[len(named)-len(unnamed)-2:], op)
	return named
}
