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

// after returns the position i records later.
func (p position) after(i int) position {
	return position{p.time.Add(time.Duration(i) * tick), p.writer, p.sequence + int64(i)}
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

// between returns the range of the records with from ≤ time < to. A zero to is no bound. Records have times of whole ticks, so a
// bound inside a tick is the next tick.
func between(from, to time.Time) keys.Range {
	from = nextTick(from)
	first := "0000000000000000000"
	if !to.IsZero() {
		k := plainLayout.Of(nextTick(to).Add(-tick))
		if k.Err() != nil {
			return keys.Point(k) // which has the error
		}
		first = textOf(k)
	}
	k := plainLayout.Of(from)
	if k.Err() != nil {
		return keys.Point(k)
	}
	return keys.RawBetween(first, textOf(k)+"~")
}

// textOf returns the text of a key that has no error.
func textOf(k keys.Enc) string {
	s, _ := k.Result()
	return s
}

const tick = 100 * time.Nanosecond

// nextTick returns a time rounded up to a whole tick.
func nextTick(t time.Time) time.Time { return t.Add(tick - 1).Truncate(tick) }
