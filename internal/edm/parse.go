package edm

import (
	"math"
	"strconv"
	"time"
)

func parseInteger(text []byte) (n int64, ok bool) {
	if len(text) > 18 { // it may overflow
		n, err := strconv.ParseInt(string(text), 10, 64)
		return n, err == nil && text[0] != '+'
	}
	for i, c := range text {
		switch {
		case c >= '0' && c <= '9':
			n = n*10 + int64(c-'0')
		case c != '-' || i > 0 || len(text) == 1:
			return 0, false
		}
	}
	if len(text) > 0 && text[0] == '-' {
		n = -n
	}
	return n, len(text) > 0
}

func parseDouble(text []byte) (float64, bool) {
	switch string(text) {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false // ParseFloat accepts forms that the service does not
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

// ParseTime parses the service's form of a time and all other forms of RFC 3339.
func ParseTime(text []byte) (time.Time, bool) {
	if n := len(text); n >= len("2006-01-02T15:04:05Z") && text[n-1] == 'Z' {
		if t, ok := parsePlainTime(text); ok {
			return t, true
		}
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return time.Time{}, false
	}
	return t.UTC(), true
}

// parsePlainTime parses 2006-01-02T15:04:05Z with up to nine fractional digits.
func parsePlainTime(b []byte) (t time.Time, ok bool) {
	if b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		return t, false
	}
	year, month, day := digits(b[:4]), digits(b[5:7]), digits(b[8:10])
	hour, minute, second := digits(b[11:13]), digits(b[14:16]), digits(b[17:19])
	nano := 0
	if n := len(b) - len("2006-01-02T15:04:05.Z"); n >= 0 {
		if b[19] != '.' || n < 1 || n > 9 {
			return t, false
		}
		nano = digits(b[20 : 20+n])
		for range 9 - n {
			nano *= 10
		}
	}
	if year|month|day|hour|minute|second|nano < 0 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	t = time.Date(year, time.Month(month), day, hour, minute, second, nano, time.UTC)
	return t, day <= 28 || t.Day() == day // time.Date turns 31 April into 1 May
}

// digits returns the number of at most nine digits, and a negative one if there are other characters.
func digits(b []byte) (n int) {
	for _, c := range b {
		if c -= '0'; c > 9 {
			return math.MinInt
		}
		n = n*10 + int(c)
	}
	return n
}
