package bloblog

import "time"

// block is a part of a blob: whole lines of one hour, which are stored with one request.
type block struct {
	data        []byte
	records     int
	first, last time.Time // of its records
	frozen      bool      // it was sent, so that it takes no more lines
}

// takes reports whether n more bytes fit.
func (x *block) takes(n int) bool { return !x.frozen && len(x.data)+n <= maxBlock }

// include notes that records with times from first to last are in the block.
func (x *block) include(records int, first, last time.Time) {
	x.records += records
	if first.Before(x.first) {
		x.first = first
	}
	if last.After(x.last) {
		x.last = last
	}
}

// enqueue appends a block to blocks that are still to be stored. If it fits into the last of them, it becomes a part of that one.
func enqueue(blocks []*block, b *block) []*block {
	if n := len(blocks); n > 0 && blocks[n-1].takes(len(b.data)) {
		last := blocks[n-1]
		last.data = append(last.data, b.data...)
		last.include(b.records, b.first, b.last)
		return blocks
	}
	return append(blocks, b)
}

// buffer contains the blocks of a writer that still take lines, by hour. After a full block, another one follows.
type buffer struct {
	hours   map[time.Time][]*block
	records int
	bytes   int
	since   time.Time // when the first record came; zero if there is none
}

// put appends a line, without its line break, to the block of its hour. at is the time of the record, and now when it came.
func (b *buffer) put(line []byte, at, now time.Time) {
	hour := hourOf(at)
	blocks := b.hours[hour]
	size := len(line) + 1
	if len(blocks) == 0 || !blocks[len(blocks)-1].takes(size) {
		blocks = append(blocks, &block{first: at, last: at})
		if b.hours == nil {
			b.hours = map[time.Time][]*block{}
		}
		b.hours[hour] = blocks
	}
	x := blocks[len(blocks)-1]
	x.data = append(append(x.data, line...), '\n')
	x.include(1, at, at)
	if b.records == 0 {
		b.since = now
	}
	b.records++
	b.bytes += size
}
