package logtail

import (
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

// The RowKey of a record is its time in inverted ticks, its writer and its sequence number. Other programs store the ticks alone.
var (
	recordLayout = keys.Tuple3(keys.Desc(keys.Time()), keys.Text(), keys.Digits[int64](12))
	plainLayout  = keys.Tuple1(keys.Desc(keys.Time()))
)

// position is what the RowKey of a record says.
type position struct {
	time     time.Time
	writer   string // "" for a record of a program without this library
	sequence int64
}

// positionOf returns what a RowKey says, and whether it is that of a record.
func positionOf(rowKey string) (p position, is bool) {
	var err error
	if p.time, p.writer, p.sequence, err = recordLayout.Decode(rowKey); err == nil {
		return p, p.writer != ""
	}
	p = position{}
	p.time, err = plainLayout.Decode(rowKey)
	return p, err == nil
}

// between returns the range of the records with from ≤ time < to, all records from the first time or up to the last one if to is
// zero.
func between(from, to time.Time) keys.Range {
	first := ""
	if !to.IsZero() {
		// The first key that is not newer: to itself does not belong to the range, the tick before it does.
		k, err := plainLayout.Of(to.Add(-tick)).Result()
		if err != nil {
			return plainLayout.AtLeast(to) // which has the error
		}
		first = k
	} else {
		first = "0"
	}
	last, err := plainLayout.Of(from).Result()
	if err != nil {
		return plainLayout.AtLeast(from)
	}
	return keys.RawBetween(first, last+"~")
}

const tick = 100 * time.Nanosecond
