// Package ticks converts times to and from .NET ticks: units of 100 ns since 0001-01-01T00:00:00Z.
package ticks

import "time"

// Max is 9999-12-31T23:59:59.9999999Z in ticks. Inverted ticks are Max minus ticks: a later time
// has a smaller number.
const Max int64 = 3155378975999999999

// unix is 1970-01-01 in ticks.
const unix int64 = 621355968000000000

// Of returns a time in ticks, rounded down. ok is false for a time outside the years 1 to 9999.
func Of(t time.Time) (n int64, ok bool) {
	if u := t.UTC(); u.Year() < 1 || u.Year() > 9999 {
		return 0, false
	}
	return t.Unix()*1e7 + unix + int64(t.Nanosecond())/100, true
}

// IsValid reports whether a number is one of ticks of the years 1 to 9999.
func IsValid(n int64) bool { return n >= 0 && n <= Max }

// Time returns the time of a valid number of ticks, in UTC.
func Time(n int64) time.Time {
	n -= unix
	return time.Unix(n/1e7, n%1e7*100).UTC()
}
