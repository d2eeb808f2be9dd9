package engine

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// An operation ID: 10 digits of time in milliseconds, so that IDs sort by time, and 16 random characters, both in the digits of
// Crockford's base 32.
const (
	idDigits   = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	timeDigits = 10
	idLength   = timeDigits + 16
)

// IsID reports whether a text has the form that Options.NewID makes, as every incarnation has.
func IsID(s string) bool {
	return len(s) == idLength-timeDigits && strings.Trim(s, idDigits+"ILOU") == ""
}

// IDTime returns the beginning of the operation IDs of a time.
func IDTime(t time.Time) string { return string(appendIDTime(nil, t)) }

func appendIDTime(b []byte, t time.Time) []byte {
	ms := uint64(max(t.UnixMilli(), 0))
	for i := timeDigits - 1; i >= 0; i-- {
		b = append(b, idDigits[ms>>(5*i)&31])
	}
	return b
}

// TimeOf returns the time of an operation ID. Errors: *ValueError for a text that is none.
func TimeOf(id string) (time.Time, error) {
	var ms int64
	bad := len(id) != idLength || strings.Trim(id, idDigits+"ILOU") != ""
	for i := 0; i < timeDigits && !bad; i++ {
		d := strings.IndexByte(idDigits, id[i])
		bad = d < 0
		ms = ms<<5 | int64(d)
	}
	if bad {
		return time.Time{}, &ValueError{Field: "operation ID", Reason: "is no operation ID"}
	}
	return time.UnixMilli(ms).UTC(), nil
}

// newID returns 80 random bits.
func newID() string {
	b := make([]byte, idLength-timeDigits)
	rand.Read(b) // it never fails
	for i := range b {
		b[i] = idDigits[b[i]&31]
	}
	return string(b)
}

// idColumn is the column with an operation ID.
func idColumn(id string) edm.Column {
	return edm.Column{Name: reserved.OperationID, Value: edm.Value{Kind: edm.String, S: id}}
}

// idEnding returns an operation ID as the ending of rows.
func idEnding(id string) *edm.Ending { return idColumn(id).Ending() }

// UnassignedID stands for the operation ID in the columns of a row that has not been written yet.
var UnassignedID = idColumn(strings.Repeat("?", idLength)).Encoded()

var unassignedEnding = UnassignedID.Ending()
