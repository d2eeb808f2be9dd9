package bloblog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// Record is a record that was read.
type Record[T any] struct {
	Value  T
	Time   time.Time // by Options.Time; zero without it
	Blob   *Blob     // shared by the records of the blob
	Line   int       // the number of its line in the blob; starts with 1
	Offset int64     // the position of its line in the blob, in bytes
}

// Between yields the records of a source with from ≤ time < to, in the order of blobs and lines: by hour, by the number of the
// blob, and by line. A zero from is no bound, and a zero to is an hour from now by the reader's clock. With Options.Time, Between
// yields exactly these records. Without it, the time of a record is not stored, and Between yields all records of each blob that
// may contain one of them: those of a writer and an hour.
//
// The records of one writer are in the order in which they were appended, except that records that come late, or after the
// clock has stepped back to an earlier hour, are in the blobs of their hour.
//
// Between reads blobs that are still written, up to the length that they have when their turn comes. A last line without a line
// break is left out, and so are empty lines. Lines may end with \r\n. A blob that is deleted while Between runs ends there.
//
// Errors: a *LineError for a line that cannot be read as T, unless Options.Skip leaves it out; those of [Log.Blobs]. The records
// before the error are complete.
//
// Requests: those of Blobs, and 1 for each blob, and for each response that breaks off. Memory: 1 page of the list, and 1 line.
func (l *Log[T]) Between(ctx context.Context, source string, from, to time.Time) iter.Seq2[*Record[T], error] {
	return func(yield func(*Record[T], error) bool) {
		to := l.until(to)
		for b, err := range l.blobs(ctx, source, from, to) {
			more := err == nil
			if more {
				more, err = l.read(ctx, b, from, to, yield)
			}
			var line *LineError
			if err != nil && !errors.As(err, &line) {
				err = fmt.Errorf("bloblog: Between %q: %w", source, err)
			}
			if err != nil {
				yield(nil, err)
			}
			if !more || err != nil {
				return
			}
		}
	}
}

// read yields the records of a blob in a range of times, until yield returns false.
func (l *Log[T]) read(ctx context.Context, b listed, from, to time.Time, yield func(*Record[T], error) bool) (more bool, err error) {
	s := newStream(ctx, l.client, b.name)
	defer s.Close()
	shared := b.public()
	for lines := newLines(s); ; {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		r := &Record[T]{Blob: shared, Line: lines.number, Offset: lines.offset}
		if line = withoutReturn(line); err == nil && len(line) == 0 {
			continue
		}
		if err == nil {
			err = l.opt.Decode(line, &r.Value)
		} else if !isTooLong(err) {
			return false, err
		}
		if err != nil {
			if le := (&LineError{shared.Name, r.Line, r.Offset, err}); l.opt.Skip == nil || !l.opt.Skip(le) {
				return false, le
			}
			continue
		}
		if l.opt.Time != nil {
			r.Time = l.opt.Time(&r.Value)
			if r.Time.Before(from) || !r.Time.Before(to) {
				continue
			}
		}
		if !yield(r, nil) {
			return false, nil
		}
	}
}
