package bloblog

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// Writer appends records to the log of one source. It has blobs of its own, so that any number of writers can write to a source at
// the same time. A Writer is safe for concurrent use, and starts no goroutine: see [Writer.Run].
type Writer[T any] struct {
	log    *Log[T]
	sender *sender
}

// Writer returns a new writer for a source. It sends nothing. Use one writer of a source for the life of the program, and Close it.
//
// A source is a name such as orders/europe: parts of any characters but \ and control characters, between slashes. Errors:
// *table.ValueError for a source that is empty, or has a part that is empty or ends with a dot; *table.LimitError for one with more
// than 997 characters or 249 parts.
//
// A shared access signature for a writer must allow to read, add, create, write and list.
func (l *Log[T]) Writer(source string) (*Writer[T], error) {
	err := checkSource(source)
	if err == nil {
		var s *sender
		o := &l.opt
		s, err = newSender(l.client, source, limits{o.FlushRecords, o.FlushBytes, o.FlushInterval, o.Buffer, o.OpenHours, o.BlobBlocks})
		if err == nil {
			return &Writer[T]{l, s}, nil
		}
	}
	return nil, fmt.Errorf("bloblog: Writer: %w", err)
}

// Append puts a record into the buffer. It stores the buffer if Options.FlushRecords, FlushBytes or FlushInterval is reached,
// unless another goroutine does. If the buffer is full, it waits for room.
//
//	err := w.Append(ctx, &Event{Order: 17, State: "paid"})
//
// An error means that the record is not in the buffer. Append does not report a failed flush if the buffer has room: the
// records stay in the buffer, and Options.Logger gets the error. [Writer.Flush] reports it.
//
// Errors: *table.ValueError for nil, for a record that is encoded with a line break or as an empty line, and for a time that no
// name of a blob can contain; *table.LimitError for a line of more than 4 MiB; the error of Options.Encode; ErrClosed; if the
// buffer is full, those of Flush. Requests: those of Flush, if Append flushes.
func (w *Writer[T]) Append(ctx context.Context, v *T) error {
	line, at, err := w.log.encode(v)
	if err == nil {
		err = w.sender.add(ctx, line, at)
	}
	return w.wrap("Append", err)
}

// encode returns the line and the time of a record. The time is zero without Options.Time.
func (l *Log[T]) encode(v *T) (line []byte, at time.Time, err error) {
	if v == nil {
		return nil, at, &table.ValueError{Field: "value", Reason: "is nil"}
	}
	if at, err = l.timeOf(v); err != nil {
		return nil, at, err
	}
	if line, err = l.opt.Encode(v); err != nil {
		return nil, at, fmt.Errorf("the record cannot be encoded: %w", err)
	}
	return line, at, checkEncoded(line)
}

// Write puts lines into the buffer, as [Writer.Append] does: Writer is an io.Writer, such as the destination of a slog.Handler. p
// is one or more whole lines. A line break is added if the last line has none, and empty lines are left out. With Options.Time,
// Write decodes each line to learn its time.
//
//	logger := slog.New(slog.NewJSONHandler(w, nil))
//
// Write has no context: Common.WriteTimeout bounds it. A slog.Handler lets all other goroutines wait while its Write flushes.
//
// Errors: those of Append. If a line is invalid, no line of p is in the buffer; else n is the number of bytes whose lines are.
func (w *Writer[T]) Write(p []byte) (n int, err error) {
	ctx, cancel := engine.Bound(context.Background(), w.log.client.opt.WriteTimeout)
	defer cancel()
	var times []time.Time
	for line := range bytes.Lines(p) {
		at, err := w.log.timeOfLine(line, len(times)+1)
		if err != nil {
			return 0, w.wrap("Write", err)
		}
		times = append(times, at)
	}
	for line := range bytes.Lines(p) {
		if text := bytes.TrimSuffix(line, []byte{'\n'}); len(withoutReturn(text)) > 0 {
			if err := w.sender.add(ctx, text, times[0]); err != nil {
				return n, w.wrap("Write", err)
			}
		}
		n, times = n+len(line), times[1:]
	}
	return n, nil
}

// timeOfLine returns the time of a line of Write, zero without Options.Time.
func (l *Log[T]) timeOfLine(line []byte, number int) (at time.Time, err error) {
	text := bytes.TrimSuffix(line, []byte{'\n'})
	decoded := withoutReturn(text)
	field := fmt.Sprintf("line %d", number)
	switch {
	case len(text) >= maxBlock:
		return at, tooLong(field, len(text)+1)
	case l.opt.Time == nil || len(decoded) == 0:
		return at, nil
	}
	var v T
	if err := l.opt.Decode(decoded, &v); err != nil {
		return at, &table.ValueError{Field: field, Reason: "cannot be decoded, so that its time is not known", Err: err}
	}
	return l.timeOf(&v)
}

// Flush stores all records that were appended before: if it returns nil, each of them is stored once.
//
// After a lost response, the writer reads back what is stored, so that it stores nothing twice. After an error, the records stay in
// the buffer, and the next flush continues.
//
// Errors: table.ErrUnknownOutcome if the response to a block was lost and the time ended: the block may be stored, and the next
// flush finds out; ErrContainerNotFound; table.ErrUnreachable; the service's own error. If the context has ended, its error.
//
// Requests: 1 for each hour with new records, and for each 4 MiB of them; for a new blob 1 more, and 2 more if another writer has
// its number; 1 when a blob is left, to store its last time. After a lost response, up to 2 to read back.
func (w *Writer[T]) Flush(ctx context.Context) error {
	err := w.sender.acquire(ctx)
	if err == nil {
		defer w.sender.release()
		err = w.sender.flush(ctx)
	}
	return w.wrap("Flush", err)
}

// Close flushes, and stores the time of the last record with each open blob. Afterwards, Append fails with ErrClosed. Close may be
// called again, after an error or not. The times are not essential: Close does not report an error that concerns them alone.
//
// Errors and requests: those of Flush, and 1 for each open blob.
func (w *Writer[T]) Close(ctx context.Context) error { return w.wrap("Close", w.sender.close(ctx)) }

// Run flushes when Options.FlushInterval has passed since the first record in the buffer was appended, also if no other record is
// appended, until ctx ends or the writer is closed. Without Run, only Append looks at the time. If a flush fails, Options.Logger
// gets the error, and the next flush follows after the interval. Run does not flush at its end: see [Writer.Close].
//
//	go w.Run(ctx)
//
// Requests: those of Flush.
func (w *Writer[T]) Run(ctx context.Context) { w.sender.run(ctx) }

func (w *Writer[T]) wrap(method string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("bloblog: %s %q: %w", method, w.sender.source, err)
}
