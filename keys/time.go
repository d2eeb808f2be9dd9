package keys

import (
	"fmt"
	"time"
)

// MaxTicks is 9999-12-31T23:59:59.9999999Z in .NET ticks.
const MaxTicks int64 = 3155378975999999999

// unixTicks is 1970-01-01 in .NET ticks.
const unixTicks int64 = 621355968000000000

// Ticks returns t in .NET ticks: units of 100 ns since 0001-01-01T00:00:00Z, rounded down. A time outside the years 1 to 9999 is a
// *KeyError.
func Ticks(t time.Time) (int64, error) {
	if u := t.UTC(); u.Year() < 1 || u.Year() > 9999 {
		return 0, &KeyError{Value: u.Format(time.RFC3339), Reason: "is outside the years 1 to 9999"}
	}
	return t.Unix()*1e7 + unixTicks + int64(t.Nanosecond())/100, nil
}

// InvertedTicks returns the ticks from t to the end of the year 9999: a later time has a smaller number. A time outside the years 1
// to 9999 is a *KeyError.
func InvertedTicks(t time.Time) (int64, error) {
	n, err := Ticks(t)
	return MaxTicks - n, err
}

// FromTicks is the inverse of Ticks, in UTC. A number outside 0 to MaxTicks is a *KeyError.
func FromTicks(n int64) (time.Time, error) {
	if n < 0 || n > MaxTicks {
		return time.Time{}, &KeyError{Value: fmt.Sprint(n), Reason: "is outside the ticks of the years 1 to 9999"}
	}
	n -= unixTicks
	return time.Unix(n/1e7, n%1e7*100).UTC(), nil
}

// FromInvertedTicks is the inverse of InvertedTicks, in UTC. A number outside 0 to MaxTicks is a *KeyError.
func FromInvertedTicks(n int64) (time.Time, error) { return FromTicks(MaxTicks - n) }

// Time encodes a time as 19 digits of .NET ticks, oldest first. It truncates to 100 ns and decodes times in UTC. For newest
// first, as in the design guide's log tail pattern, use Desc(Time()): the digits are then DateTime.MaxValue.Ticks - t.Ticks.
func Time() Part[time.Time] {
	p := ticksPart("time", Ticks, FromTicks)
	p.inverse = func() Part[time.Time] {
		d := ticksPart("desc(time)", InvertedTicks, FromInvertedTicks)
		d.desc, d.inverse = true, Time
		return d
	}
	return p
}

func ticksPart(name string, to func(time.Time) (int64, error), from func(int64) (time.Time, error)) Part[time.Time] {
	const width = 19
	return Part[time.Time]{
		name: name, width: width, alphabet: sameAlphabet(decimal),
		append: func(dst []byte, t time.Time) ([]byte, error) {
			n, err := to(t)
			if err != nil {
				return dst, err
			}
			return appendPadded(dst, uint64(n), width)
		},
		parse: func(s string) (time.Time, error) {
			n, err := parseDigits(s)
			if err != nil || n > uint64(MaxTicks) {
				return time.Time{}, &KeyError{Value: s, Reason: "is not a number of ticks of the years 1 to 9999"}
			}
			return from(int64(n))
		},
	}
}

// Date encodes a day: 2014-07-31. A time other than midnight in UTC is an error, since its time of day would be lost;
// t.UTC().Truncate(24*time.Hour) is midnight.
func Date() Part[time.Time] {
	return Part[time.Time]{
		name: "date", width: len(time.DateOnly),
		alphabet: func(i int) string {
			if i == 4 || i == 7 {
				return "-"
			}
			return decimal
		},
		append: func(dst []byte, t time.Time) ([]byte, error) {
			u := t.UTC()
			if _, err := Ticks(u); err != nil {
				return dst, err
			}
			if !u.Equal(time.Date(u.Year(), u.Month(), u.Day(), 0, 0, 0, 0, time.UTC)) {
				return dst, &KeyError{Value: u.Format(time.RFC3339Nano), Reason: "is not midnight in UTC, and Date would lose its time of day"}
			}
			return u.AppendFormat(dst, time.DateOnly), nil
		},
		parse: func(s string) (time.Time, error) {
			t, err := time.Parse(time.DateOnly, s)
			if err != nil || t.Year() < 1 {
				return time.Time{}, &KeyError{Value: s, Reason: "is not a date such as 2014-07-31"}
			}
			return t, nil
		},
	}
}
