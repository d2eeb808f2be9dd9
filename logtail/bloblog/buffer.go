package bloblog

import "time"

// block is a part of a blob: whole lines of one hour, which are stored with one request.
type block struct {
	data        []byte
	records     int
	first, last time.Time // of its records
	bound       time.Time // no record of this and of the later blocks of the hour is earlier
	since       time.Time // when its first record came
}

// buffer are the blocks of a writer that are still filled, by hour. If a block is full, another one follows.
type buffer struct {
	hours   map[time.Time][]*block
	records int
	bytes   int
	since   time.Time // when the first record came; zero if there is none
}

// put appends a line, without its line break, to the block of its hour. at is the time of the record, and now when it came.
// ascending reports whether later records have later times.
func (b *buffer) put(line []byte, at, now time.Time, ascending bool) {
	hour := hourOf(at)
	blocks := b.hours[hour]
	size := len(line) + 1
	if len(blocks) == 0 || len(blocks[len(blocks)-1].data)+size > maxBlock {
		x := &block{first: at, last: at, bound: hour, since: now}
		if ascending {
			x.bound = at
		}
		blocks = append(blocks, x)
		if b.hours == nil {
			b.hours = map[time.Time][]*block{}
		}
		b.hours[hour] = blocks
	}
	x := blocks[len(blocks)-1]
	x.data = append(append(x.data, line...), '\n')
	x.records++
	if at.Before(x.first) {
		x.first = at
	}
	if at.After(x.last) {
		x.last = at
	}
	if b.records == 0 {
		b.since = now
	}
	b.records++
	b.bytes += size
}
