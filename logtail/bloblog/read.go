package bloblog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/aztablekit/aztablekit/table"
)

// Record is a record that was read.
type Record[T any] struct {
	Value  T
	Time   time.Time // by Options.Time; zero without it
	Blob   *Blob     // shared by the records of the blob
	Line   int       // the number of its line in the blob; starts with 1
	Offset int64     // the position of its line in the blob, in bytes
}

// Between yields the records of a source with from ≤ time < to, in the order of blobs and lines: by
// hour, by the number of the blob, and by line. A zero from is no bound, and a zero to is an hour
// from now by the reader's clock. With Options.Time, Between yields exactly these records. Without
// it, the time of a record is not stored, and Between yields all records of each blob that may
// contain such a record, which is of one writer and one hour.
//
// The records of one writer are in the order in which they were appended, except that records that
// come late, or after the clock has stepped back to an earlier hour, are in the blobs of their
// hour.
//
// Between reads blobs that are still written, up to the length that they have when their turn
// comes. A last line without a line break is left out, and so are empty lines. Lines may end with
// \r\n. A blob that is deleted while Between runs ends there.
//
// Errors: *LineError for a line that cannot be read as T, unless Options.Skip leaves it out;
// *table.ValueError and *table.LimitError for an invalid source, or a time outside the years 1 to
// 9999; table.ErrNotCreated; table.ErrUnreachable; *azcore.ResponseError. The records before the
// error are complete.
//
// Requests: those of Blobs, and 1 for each blob, and for each response that breaks off. Memory: 1
// page of the list, and 1 line.
func (l *Log[T]) Between(ctx context.Context, source string, from, to time.Time) iter.Seq2[*Record[T], error] {
	return func(yield func(*Record[T], error) bool) {
		if err := l.check(); err != nil {
			yield(nil, fmt.Errorf("bloblog: Between %q: %w", source, err))
			return
		}
		to := l.core.endBefore(to)
		err := l.core.eachLine(ctx, source, from, to, func(line []byte, at place) (more bool, undecoded error) {
			r := &Record[T]{Blob: at.blob, Line: at.line, Offset: at.offset}
			if err := l.decode(line, &r.Value); err != nil {
				return false, err
			}
			if l.time != nil {
				r.Time = l.time(&r.Value)
				if r.Time.Before(from) || !r.Time.Before(to) {
					return true, nil
				}
			}
			return yield(r, nil), nil
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// place is where a line is.
type place struct {
	blob   *Blob
	line   int
	offset int64
}

// eachLine gives the lines of the blobs that may have records of a range to a function, until that
// returns false.
func (c *core) eachLine(ctx context.Context, source string, from, to time.Time, give func([]byte, place) (more bool, undecoded error)) error {
	for b, err := range c.blobs(ctx, source, from, to) {
		more := err == nil
		if more {
			more, err = c.read(ctx, b, give)
		}
		if err != nil && !errors.As(err, new(*LineError)) {
			err = fmt.Errorf("bloblog: Between %q: %w", source, err)
		}
		if !more || err != nil {
			return err
		}
	}
	return nil
}

// read gives the lines of a blob to a function. A line that cannot be decoded ends the read unless
// Options.Skip leaves it out.
func (c *core) read(ctx context.Context, b listed, give func([]byte, place) (more bool, undecoded error)) (more bool, err error) {
	s := &stream{ctx: ctx, client: c.client, name: b.name, length: -1}
	defer s.Close()
	shared := b.public()
	for lines := (&lines{from: bufio.NewReaderSize(s, 64<<10)}); ; {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		line = bytes.TrimSuffix(line, []byte{'\r'})
		switch {
		case err == nil && len(line) == 0:
			continue
		case err == nil:
			more, err = give(line, place{shared, lines.number, lines.offset})
		case !errors.As(err, new(*table.LimitError)):
			return false, err
		}
		if err != nil {
			if le := (&LineError{shared.Name, lines.number, lines.offset, err}); c.skip == nil || !c.skip(le) {
				return false, le
			}
			continue
		}
		if !more {
			return false, nil
		}
	}
}

// maxBlock is the most bytes of a block, and so of a line. The service allows more only in newer
// versions of its interface.
const maxBlock = 4 << 20

func tooLong(field string, n int) *table.LimitError { // n counts the line break
	return &table.LimitError{Field: field, Limit: "bytes, with its line break", Got: n, Max: maxBlock}
}

// checkEncoded returns an error for a line that a reader would not read as one record.
func checkEncoded(line []byte) error {
	switch {
	case len(line) == 0:
		return &table.ValueError{Field: "value", Reason: "is encoded as an empty line, which readers ignore"}
	case bytes.IndexByte(line, '\n') >= 0:
		return &table.ValueError{Field: "value", Reason: "is encoded with a line break; a record is one line"}
	case line[len(line)-1] == '\r':
		return &table.ValueError{Field: "value", Reason: "is encoded with a carriage return at its end, which readers remove"}
	case len(line) >= maxBlock:
		return tooLong("value", len(line)+1)
	}
	return nil
}

// lines reads lines with bounded memory.
type lines struct {
	from   *bufio.Reader
	long   []byte // a line that does not fit the reader's own buffer
	number int    // of the line that next has returned; the first is 1
	offset int64  // of the line that next has returned
	end    int64  // of that line
}

// next returns the next line without its line break. It is valid until the next call. A last line
// without a line break is left out, since a writer may still write it: then next returns io.EOF. A
// line that is longer than a block is left out, with a *table.LimitError.
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

const (
	maxName     = 1024 // characters of the name of a blob, counted in UTF-16
	maxSegments = 254  // segments of the name of a blob between slashes

	// What follows the source in the name of a blob.
	nameLength   = len("/2014/07/31/1800/000001.log")
	nameSegments = 5
)

// checkSource returns an error for a source with which a blob cannot have a name, or a name that
// clients and tools change: several of them remove . and .. and turn \ into /.
func checkSource(source string) error {
	invalid := func(format string, args ...any) error {
		return &table.ValueError{Field: "source", Reason: fmt.Sprintf(format, args...)}
	}
	if source == "" {
		return invalid("is empty; use a name of 1 or more characters")
	}
	if !utf8.ValidString(source) {
		return invalid("is not valid UTF-8")
	}
	for i, r := range source {
		if r == '\\' || unicode.IsControl(r) || r == '\ufffe' || r == '\uffff' {
			return invalid("contains %+q at byte %d, which the name of a blob cannot contain", r, i)
		}
	}
	segments := strings.Split(source, "/")
	for _, s := range segments {
		switch {
		case s == "":
			return invalid("has an empty part: it must not begin or end with a slash, or contain two in a row")
		case strings.HasSuffix(s, "."):
			return invalid("has the part %q, which ends with a dot", s)
		}
	}
	if n := len(segments) + nameSegments; n > maxSegments {
		return &table.LimitError{Field: "source", Limit: fmt.Sprintf("parts between slashes, with the %d of the hour and the number", nameSegments), Got: n, Max: maxSegments}
	}
	if n := len(utf16.Encode([]rune(source))) + nameLength; n > maxName {
		return &table.LimitError{Field: "source", Limit: fmt.Sprintf("characters, with the %d of the hour and the number", nameLength), Got: n, Max: maxName}
	}
	return nil
}
