package commit

import (
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// An operation ID: 10 digits of time in milliseconds, so that IDs sort by time, and 16 random characters, both in the digits of
// Crockford's base 32.
const (
	Digits     = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	timeDigits = 10
	IDLength   = timeDigits + RandomLength

	// RandomLength is the number of random characters, and the length of an incarnation.
	RandomLength = 16
)

// IsID reports whether a text has the form that Options.NewID makes, as every incarnation has.
func IsID(s string) bool {
	return len(s) == RandomLength && strings.Trim(s, Digits+"ILOU") == ""
}

// IDTime returns the beginning of the operation IDs of a time.
func IDTime(t time.Time) string { return string(AppendIDTime(nil, t)) }

// AppendIDTime appends what IDTime returns.
func AppendIDTime(b []byte, t time.Time) []byte {
	ms := uint64(max(t.UnixMilli(), 0))
	for i := timeDigits - 1; i >= 0; i-- {
		b = append(b, Digits[ms>>(5*i)&31])
	}
	return b
}

// TimeOf returns the time of an operation ID. Errors: *errs.ValueError for a text that is none.
func TimeOf(id string) (time.Time, error) {
	var ms int64
	bad := len(id) != IDLength || strings.Trim(id, Digits+"ILOU") != ""
	for i := 0; i < timeDigits && !bad; i++ {
		d := strings.IndexByte(Digits, id[i])
		bad = d < 0
		ms = ms<<5 | int64(d)
	}
	if bad {
		return time.Time{}, &errs.ValueError{Field: "operation ID", Reason: "is no operation ID"}
	}
	return time.UnixMilli(ms).UTC(), nil
}
