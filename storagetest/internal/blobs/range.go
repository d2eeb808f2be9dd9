package blobs

import (
	"math"
	"regexp"
	"strconv"
)

var validRange = regexp.MustCompile(`^bytes=(\d+)-(\d*)$`)

// requestedSpan returns the span that the request asks for, or false without a range. A malformed range counts as none.
func (c *call) requestedSpan() (span, bool) {
	value := c.Header.Get("x-ms-range")
	if value == "" {
		value = c.Header.Get("Range")
	}
	m := validRange.FindStringSubmatch(value)
	if m == nil {
		return span{}, false
	}
	from, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		from = math.MaxInt64 - 1
	}
	last := int64(math.MaxInt64 - 1)
	if n, err := strconv.ParseInt(m[2], 10, 64); err == nil {
		last = min(n, last)
	}
	if last < from {
		return span{}, false
	}
	return span{from, last + 1}, true
}
