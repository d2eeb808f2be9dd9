package bloblog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// Writer appends records to the log of one source. It has blobs of its own, so that any number of
// writers can write to a source at the same time. A Writer is safe for concurrent use, and starts
// no goroutine: see [Writer.Run].
type Writer[T any] struct {
	log *Log[T]
	writer
}

// writer is a Writer without its type.
type writer struct {
	core   *core
	sender *sender
}

// Writer returns a new writer for a source. It sends nothing. Use one writer of a source for the
// life of the program, and Close it.
//
// A source is a name such as orders/europe: segments of any characters but \ and control
// characters, between slashes. Errors: *table.ValueError for a source that is empty, or has a
// segment that is empty or ends with a dot; *table.LimitError for a source with more than 997
// characters or 249 segments.
//
// A shared access signature for a writer must allow to read, add, create, write and list.
func (l *Log[T]) Writer(source string) (*Writer[T], error) {
	if err := cmp.Or(l.check(), checkSource(source)); err != nil {
		return nil, fmt.Errorf("bloblog: Writer: %w", err)
	}
	s, err := newSender(l.core.client, source, l.core.limits)
	if err != nil {
		return nil, fmt.Errorf("bloblog: Writer: %w", err)
	}
	return &Writer[T]{l, writer{&l.core, s}}, nil
}

// Append puts a record into the buffer. It stores the buffer if Options.FlushRecords, FlushBytes or
// FlushInterval is reached, unless another goroutine does. If the buffer is full, it waits for
// room.
//
//	err := w.Append(ctx, &Event{Order: 17, State: "paid"})
//
// An error means that the record is not in the buffer. Append does not report a failed flush if the
// buffer has room: the records stay in the buffer, and Options.Logger gets the error.
// [Writer.Flush] reports it.
//
// Errors:
//   - *table.ValueError for nil, for a record that is encoded with a line break or as an empty
//     line, and for a time that no name of a blob can contain
//   - *table.LimitError for a line of more than 4 MiB
//   - the error of Options.Encode
//   - ErrClosed
//   - if the buffer is full, also table.ErrUnknownOutcome, table.ErrNotCreated,
//     table.ErrUnreachable, *azcore.ResponseError and the error of ctx, as from Flush
//
// Requests: those of Flush, if Append flushes.
func (w *Writer[T]) Append(ctx context.Context, v *T) error {
	line, at, err := w.log.lineOf(v)
	if err == nil {
		err = w.sender.add(ctx, line, at)
	}
	return w.wrap("Append", err)
}

// lineOf returns the line and the time of a record. The time is zero without Options.Time.
func (l *Log[T]) lineOf(v *T) (line []byte, at time.Time, err error) {
	if v == nil {
		return nil, at, &table.ValueError{Field: "value", Reason: "is nil"}
	}
	if at, err = l.timeOf(v); err != nil {
		return nil, at, err
	}
	if line, err = l.encode(v); err != nil {
		return nil, at, fmt.Errorf("the record cannot be encoded: %w", err)
	}
	return line, at, checkEncoded(line)
}

// Write puts lines into the buffer, as [Writer.Append] does: Writer is an io.Writer, such as the
// destination of a slog.Handler. p is one or more whole lines. A line break is added if the last
// line has none, and empty lines are left out. With Options.Time, Write decodes each line to learn
// its time.
//
//	logger := slog.New(slog.NewJSONHandler(w, nil))
//
// Write has no context: Common.WriteTimeout bounds it. A slog.Handler lets all other goroutines
// wait while its Write flushes.
//
// Errors:
//   - *table.ValueError for a line that cannot be decoded, and for a time that no name of a blob
//     can contain
//   - *table.LimitError for a line of more than 4 MiB
//   - ErrClosed
//   - if the buffer is full, also table.ErrUnknownOutcome, table.ErrNotCreated,
//     table.ErrUnreachable and *azcore.ResponseError, as from Flush
//
// If a line is invalid, no line of p is in the buffer; else n is the number of bytes of the lines
// that are in the buffer.
func (w *Writer[T]) Write(p []byte) (n int, err error) { return w.write(p) }

func (w *writer) write(p []byte) (n int, err error) {
	ctx, cancel := engine.Bound(context.Background(), w.core.client.opt.WriteTimeout)
	defer cancel()
	var times []time.Time
	for line := range bytes.Lines(p) {
		at, err := w.core.timeOfLine(line, len(times)+1)
		if err != nil {
			return 0, w.wrap("Write", err)
		}
		times = append(times, at)
	}
	for line := range bytes.Lines(p) {
		if text := bytes.TrimSuffix(line, []byte{'\n'}); len(bytes.TrimSuffix(text, []byte{'\r'})) > 0 {
			if err := w.sender.add(ctx, text, times[0]); err != nil {
				return n, w.wrap("Write", err)
			}
		}
		n, times = n+len(line), times[1:]
	}
	return n, nil
}

// timeOfLine returns the time of a line of Write, zero without Options.Time.
func (c *core) timeOfLine(line []byte, number int) (at time.Time, err error) {
	text := bytes.TrimSuffix(line, []byte{'\n'})
	decoded := bytes.TrimSuffix(text, []byte{'\r'})
	field := fmt.Sprintf("line %d", number)
	switch {
	case len(text) >= maxBlock:
		return at, tooLong(field, len(text)+1)
	case c.timeOfText == nil || len(decoded) == 0:
		return at, nil
	}
	at, err = c.timeOfText(decoded)
	var undecoded *undecodedError
	if errors.As(err, &undecoded) {
		return at, &table.ValueError{Field: field, Reason: "cannot be decoded, so that its time is not known", Err: undecoded.err}
	}
	return at, err
}

// timeOfText returns the time of a line without its line break. Errors: *undecodedError.
func (l *Log[T]) timeOfText(text []byte) (at time.Time, err error) {
	var v T
	if err := l.decode(text, &v); err != nil {
		return at, &undecodedError{err}
	}
	return l.timeOf(&v)
}

// undecodedError is the error of Options.Decode.
type undecodedError struct{ err error }

func (e *undecodedError) Error() string { return e.err.Error() }

// Flush stores all records that were appended before: if it returns nil, each of them is stored
// once.
//
// After a lost response, the writer reads back what is stored, so that it stores nothing twice.
// After an error, the records stay in the buffer, and the next flush continues.
//
// Errors: table.ErrUnknownOutcome if the response to a block was lost and the time ended: the block
// may be stored, and the next flush finds out; table.ErrNotCreated; table.ErrUnreachable;
// *azcore.ResponseError; context.Canceled or context.DeadlineExceeded if ctx has ended.
//
// Requests:
//   - 1 for each hour with new records, and for each 4 MiB of them
//   - for a new blob 1 more, and 2 more if another writer has its number
//   - 1 when a blob is left, to store its last time
//
// After a lost response, up to 2 to read back.
func (w *Writer[T]) Flush(ctx context.Context) error { return w.flush(ctx) }

func (w *writer) flush(ctx context.Context) error {
	err := w.sender.acquire(ctx)
	if err == nil {
		defer w.sender.release()
		err = w.sender.flush(ctx)
	}
	return w.wrap("Flush", err)
}

// Close flushes, and stores the time of the last record with each open blob. Afterwards, Append
// fails with ErrClosed. Close may be called again, after an error or not. The times are not
// essential: Close does not report an error that concerns them alone.
//
// Errors: table.ErrUnknownOutcome; table.ErrNotCreated; table.ErrUnreachable;
// *azcore.ResponseError; the error of ctx, as from Flush. Requests: those of Flush, and 1 for each
// open blob.
func (w *Writer[T]) Close(ctx context.Context) error { return w.wrap("Close", w.sender.close(ctx)) }

// Run flushes when Options.FlushInterval has passed since the first record in the buffer was
// appended, also if no other record is appended, until ctx ends or the writer is closed. Without
// Run, only Append looks at the time. If a flush fails, Options.Logger gets the error, and the next
// flush follows after the interval. Run does not flush at its end: see [Writer.Close].
//
//	go w.Run(ctx)
//
// Requests: those of Flush.
func (w *Writer[T]) Run(ctx context.Context) { w.sender.run(ctx) }

func (w *writer) wrap(method string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("bloblog: %s %q: %w", method, w.sender.source, err)
}

// appender stores the blocks of one hour, one after another, each exactly once, in blobs that no
// other writer uses.
//
// A block is sent to the end of the blob as the appender knows it, again and again under the same
// condition, until the appender knows that it is stored, or that it is not stored and never will
// be. Only then does the block go to another blob.
type appender struct {
	client  client
	hour    time.Time
	source  string
	newID   func() string // the writer's ID with the next number
	maximum int           // blocks of a blob

	pending []*block // in their order; the first has been sent if state is doubtful

	state     state
	number    int // of the last blob of the hour that is known
	blob      blobState
	failed    result // of the last request for the first block that failed
	late      bool   // a request for the first block may still arrive and store it
	abandoned int    // blobs that did not take the first block
}

// maxAbandoned is the most blobs that are created in vain for a block. If no blob of the container
// takes it, the container has a policy that forbids appends.
const maxAbandoned = 3

// state is the state of an appender.
type state int

const (
	stateNone     state = iota // the appender has no blob
	stateCreating              // a blob is to be created, and may have been
	stateOpen                  // the blob ends where the appender knows
	stateDoubtful              // the first pending block may be stored at the end of the blob, or another block
)

// blobState is a blob as the appender knows it.
type blobState struct {
	name        name
	id          string // Writer in its metadata
	etag        azcore.ETag
	length      int64
	blocks      int
	first, last time.Time // of its records
}

// store stores the first pending block. Errors: table.ErrUnknownOutcome if the block may be stored;
// *table.LimitError if the hour has too many blobs; table.ErrUnreachable; table.ErrNotCreated;
// *azcore.ResponseError. After an error, the next store goes on with the same block.
func (a *appender) store(ctx context.Context) error {
	ctx, cancel := engine.Bound(ctx, a.client.opt.WriteTimeout)
	defer cancel()
	conflicts := a.client.opt.NewConflicts()
	b := a.pending[0]
	if a.state != stateOpen { // else the last of the blobs that did not take the block gets it again
		a.abandoned = 0
	}
	err := engine.Retry(a.client.opt.Retry).Repeat(ctx, engine.Log{}, func() (again bool, err error) {
		for len(a.pending) > 0 && a.pending[0] == b {
			if ctx.Err() != nil {
				return false, ended(ctx)
			}
			switch a.state {
			case stateNone:
				err = a.choose()
			case stateCreating:
				again, err = a.create(ctx, &conflicts)
			case stateOpen:
				again, err = a.send(ctx, b)
			case stateDoubtful:
				again, err = a.readBack(ctx, b)
			}
			if err != nil {
				return again, err
			}
		}
		return false, nil
	})
	if err != nil && (a.state == stateDoubtful || a.late) {
		err = errs.With(table.ErrUnknownOutcome, err)
	}
	return err
}

// choose chooses the next name for a blob.
func (a *appender) choose() error {
	switch {
	case a.number == maxNumber:
		return &table.LimitError{Field: "source", Limit: "blobs of one hour", Got: maxNumber + 1, Max: maxNumber}
	case a.abandoned > maxAbandoned:
		return fmt.Errorf("%d new blobs did not take the records: %w", a.abandoned, a.failed.shown)
	}
	a.number++
	a.blob = blobState{name: name{a.source, a.hour, a.number}, id: a.newID()}
	a.state = stateCreating
	return nil
}

// create creates the blob. If its name is taken, a list of the hour reports whether an earlier
// request of this appender took it, and the next free number.
func (a *appender) create(ctx context.Context, conflicts *engine.Conflicts) (again bool, err error) {
	// An earlier record may still come, so that the blob begins with its hour until it is left.
	r := a.client.create(ctx, a.blob.name, metadata{writer: a.blob.id, first: a.hour}.format())
	switch {
	case r.outcome == wire.Done:
		a.blob.etag, a.state = r.etag, stateOpen
		return false, nil
	case r.outcome != wire.Refused: // no block has been sent, so the next attempt creates the blob or finds it
		return true, r.shown
	case !isConflict(r.err) && !bloberror.HasCode(r.err, bloberror.UnauthorizedBlobOverwrite): // not because another blob has the name
		return false, r.shown
	}
	own := false
	for found, err := range a.client.list(ctx, a.blob.name.prefix()) {
		if err != nil {
			return true, err
		}
		if found.name.source != a.source {
			continue
		}
		a.number = max(a.number, found.name.number)
		if found.metadata.writer == a.blob.id {
			own, a.blob.etag = true, found.etag
		}
	}
	if own {
		a.state = stateOpen
		return false, nil
	}
	a.state = stateNone
	if more, err := conflicts.Wait(ctx, engine.Log{}, r.shown); !more {
		return false, errors.Join(err, fmt.Errorf("concurrent writers took each number of the hour: %w", r.shown))
	}
	return false, nil
}

// send appends the block to the blob.
func (a *appender) send(ctx context.Context, b *block) (again bool, err error) {
	if a.blob.blocks >= a.maximum {
		a.leave(ctx)
		return false, nil
	}
	b.frozen = true
	r := a.client.append(ctx, a.blob.name, b.data, a.blob.length, a.blob.etag)
	switch r.outcome {
	case wire.Done:
		a.stored(b, r.etag)
	case wire.NotSent:
		return true, r.shown
	default:
		a.failed, a.state = r, stateDoubtful
		a.late = a.late || r.outcome == wire.Unknown
	}
	return false, nil
}

// stored notes that the first pending block is stored.
func (a *appender) stored(b *block, etag azcore.ETag) {
	x := &a.blob
	if x.blocks == 0 || b.first.Before(x.first) {
		x.first = b.first
	}
	if b.last.After(x.last) {
		x.last = b.last
	}
	x.etag, x.length, x.blocks = etag, x.length+int64(len(b.data)), x.blocks+1
	a.pending[0] = nil // frees its memory
	a.pending, a.state, a.late, a.abandoned = a.pending[1:], stateOpen, false, 0
}

// readBack finds out whether the block is stored. If it is not, it is sent again, unless the blob
// takes no more blocks.
func (a *appender) readBack(ctx context.Context, b *block) (again bool, err error) {
	p, shown, err := a.client.properties(ctx, a.blob.name)
	switch {
	case blobs.IsGone(err):
		a.abandon()
		return false, nil
	case err != nil:
		return true, shown
	case p.writer != "" && p.writer != a.blob.id, p.length < a.blob.length: // the blob was deleted and created again
		a.abandon()
		return false, nil
	case p.length > a.blob.length:
		return a.compare(ctx, b, p)
	}
	// The block is not stored. An earlier request can store it only if the blob is unchanged since,
	// as its ETag shows.
	if p.etag != a.blob.etag {
		a.blob.etag, a.late = p.etag, false
	}
	a.state = stateOpen
	switch failed := a.failed; {
	case bloberror.HasCode(failed.err, bloberror.BlockCountExceedsLimit, "BlobIsSealed"): // it can never take another block
		a.leave(ctx)
		return false, nil
	case isConflict(failed.err) && !bloberror.HasCode(failed.err, bloberror.AppendPositionConditionNotMet, bloberror.ConditionNotMet) && !a.late:
		if a.abandoned >= maxAbandoned {
			return false, failed.shown
		}
		a.abandon()
		return false, nil
	default:
		return failed.outcome == wire.Unknown || isConflict(failed.err), failed.shown
	}
}

// compare finds out whether the bytes at the end of the blob, as the appender knows it, are the
// block.
func (a *appender) compare(ctx context.Context, b *block, p properties) (again bool, err error) {
	same := false
	if p.length >= a.blob.length+int64(len(b.data)) {
		var shown error
		if same, shown, err = a.client.contains(ctx, a.blob.name, b.data, a.blob.length); err != nil {
			return true, shown
		}
	}
	if same {
		a.stored(b, p.etag)
	} else {
		a.abandon() // the position is taken by a block of another program
	}
	return false, nil
}

// abandon leaves a blob as it is. The next block goes to another one.
func (a *appender) abandon() {
	a.state, a.late, a.blob = stateNone, false, blobState{}
	a.abandoned++
}

// leave stores the times of the first and the last record in the metadata of the blob, which takes
// no more blocks. This is done with 1 request, and an error is ignored: without the times, readers
// assume the whole hour.
func (a *appender) leave(ctx context.Context) {
	if a.state != stateNone && a.blob.blocks > 0 {
		ctx, cancel := engine.Bound(ctx, a.client.opt.WriteTimeout)
		defer cancel()
		a.client.setMetadata(ctx, a.blob.name, metadata{a.blob.id, a.blob.first, a.blob.last}.format(), a.blob.etag)
	}
	a.abandon()
}

// block is a block of a blob: whole lines of one hour, which are stored with one request.
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

// enqueue appends a block to blocks that are still to be stored. If it fits into the last of them,
// it is joined to it.
func enqueue(blocks []*block, b *block) []*block {
	if n := len(blocks); n > 0 && blocks[n-1].takes(len(b.data)) {
		last := blocks[n-1]
		last.data = append(last.data, b.data...)
		last.include(b.records, b.first, b.last)
		return blocks
	}
	return append(blocks, b)
}

// buffer contains the blocks of a writer that still take lines, by hour. After a full block,
// another one follows.
type buffer struct {
	hours   map[time.Time][]*block
	records int
	bytes   int
	since   time.Time // when the first record came; zero if there is none
}

// put appends a line, without its line break, to the block of its hour. at is the time of the
// record, and now when it came.
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
