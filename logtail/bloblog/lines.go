package bloblog

import (
	"bufio"
	"errors"
	"io"
)

// lines reads lines with bounded memory.
type lines struct {
	from   *bufio.Reader
	long   []byte // a line that does not fit the reader's own buffer
	number int    // of the line that next has returned; the first is 1
	offset int64  // of the line that next has returned
	end    int64  // of that line
}

func newLines(r io.Reader) *lines { return &lines{from: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line without its line break. It is valid until the next call. A last line without a line break is left out,
// since a writer may still write it: then next returns io.EOF. A line that is longer than a block is left out, with a
// *table.LimitError.
func (l *lines) next() (line []byte, err error) {
	l.number++
	l.offset = l.end
	l.long = l.long[:0]
	size := 0
	for {
		part, err := l.from.ReadSlice('\n')
		size += len(part)
		l.end += int64(len(part))
		switch {
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case err == nil && size == len(part):
			return part[:len(part)-1], nil
		}
		if size <= maxBlock {
			l.long = append(l.long, part...)
		}
		switch {
		case err != nil:
		case size > maxBlock:
			return nil, tooLong("", size)
		default:
			return l.long[:size-1], nil
		}
	}
}
