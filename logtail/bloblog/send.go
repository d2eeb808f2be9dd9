package bloblog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// limits are the options of a sender.
type limits struct {
	records, bytes int // in the buffer, before they are sent; negative means no bound
	interval       time.Duration
	buffer         int // bytes
	hours          int // with open blobs
	blocks         int // of a blob
}

// sender buffers the lines of a writer, and stores them. Lines are put into the buffer while a
// flush is under way.
type sender struct {
	client client
	source string
	id     string
	limits limits

	flushing  chan struct{} // holds a value while a goroutine uses the fields of the second group
	appenders map[time.Time]*appender
	recent    []*appender // appenders with an open blob, the last used at the end
	blobs     int         // names that were chosen

	mu      sync.Mutex // guards the fields of the third group
	waiting buffer
	sent    buffer    // the number, the bytes and the age of what the appenders have; no blocks
	retry   time.Time // when Append and Run flush again, after a flush that failed
	closed  bool
	done    chan struct{} // closed when closed is set
}

var errNewID = &table.ValueError{Field: "Options.NewID", Reason: "must make 16 of the characters 0-9 and A-Z"}

func newSender(c client, source string, l limits) (*sender, error) {
	id := c.opt.NewID()
	if !commit.IsID(id) {
		return nil, errNewID
	}
	return &sender{client: c, source: source, id: id, limits: l, flushing: make(chan struct{}, 1), done: make(chan struct{}), appenders: map[time.Time]*appender{}}, nil
}

// add puts a line into the buffer. at is the time of the record; if at is zero, the record has the
// time of the clock. add waits while the buffer is full. It flushes if a limit is reached and no
// flush is under way. An error means that the line is not in the buffer.
func (s *sender) add(ctx context.Context, line []byte, at time.Time) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		added, err := s.put(line, at)
		switch {
		case err != nil:
			return err
		case added:
			s.flushDue(ctx)
			return nil
		}
		if err := s.makeRoom(ctx, len(line)+1); err != nil {
			return err
		}
	}
}

// put puts a line into the buffer if the buffer has room.
func (s *sender) put(line []byte, at time.Time) (added bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, ErrClosed
	}
	if !s.room(len(line) + 1) {
		return false, nil
	}
	now := s.now()
	if at.IsZero() {
		at = now
		if err := checkTime("Options.Now", at); err != nil {
			return false, err
		}
	}
	s.waiting.put(line, at.UTC(), now)
	return true, nil
}

// room reports whether n more bytes fit. The caller holds the lock.
func (s *sender) room(n int) bool {
	held := s.waiting.bytes + s.sent.bytes
	return held == 0 || held+n <= s.limits.buffer
}

// now returns the time with its monotonic clock, so that a flush is not delayed if the clock steps
// back.
func (s *sender) now() time.Time { return s.client.opt.Now() }

// acquire waits until no other goroutine flushes. It fails if ctx has ended, so that close leaves
// no blob without its last time.
func (s *sender) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.flushing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *sender) release() { <-s.flushing }

// makeRoom flushes unless n bytes fit.
func (s *sender) makeRoom(ctx context.Context, n int) error {
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	room := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.room(n)
	}
	if room() {
		return nil
	}
	err := s.flush(ctx)
	if err != nil && room() { // the records of other hours were stored
		s.failed(ctx, err)
		return nil
	}
	return err
}

// flushDue flushes if a limit is reached and no other goroutine flushes. It logs an error: the
// lines stay in the buffer.
func (s *sender) flushDue(ctx context.Context) {
	if s.untilDue() > 0 {
		return
	}
	select {
	case s.flushing <- struct{}{}:
		s.flushIfDue(ctx)
		s.release()
	default:
	}
}

// flushIfDue is flushDue for a caller that has acquired the sender.
func (s *sender) flushIfDue(ctx context.Context) {
	if s.untilDue() > 0 {
		return
	}
	if err := s.flush(ctx); err != nil {
		s.failed(ctx, err)
	}
}

// failed notes that a flush failed whose error no caller gets.
func (s *sender) failed(ctx context.Context, err error) {
	s.mu.Lock()
	s.retry = s.now().Add(max(s.limits.interval, time.Second))
	s.mu.Unlock()
	if l := s.client.opt.Logger; l != nil {
		l.LogAttrs(ctx, slog.LevelWarn, "bloblog: a flush failed; its records stay in the buffer", slog.String("source", s.source), slog.String("error", err.Error()))
	}
}

// idle is the result of untilDue if the buffer is empty.
const idle = time.Duration(1<<63 - 1)

// untilDue returns how long it takes until a limit is reached if no more lines come: 0 or less if
// one is reached.
func (s *sender) untilDue() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	reached := func(n, limit int) bool { return limit >= 0 && n >= limit }
	now, due := s.now(), idle
	switch {
	case s.waiting.records+s.sent.records == 0:
		return idle
	case reached(s.waiting.records+s.sent.records, s.limits.records), reached(s.waiting.bytes+s.sent.bytes, s.limits.bytes):
		due = 0
	case s.limits.interval >= 0:
		since := s.waiting.since
		if s.sent.records > 0 {
			since = s.sent.since
		}
		due = since.Add(s.limits.interval).Sub(now)
	}
	return max(due, s.retry.Sub(now))
}

// take gives the blocks of the buffer to the appenders of their hours.
func (s *sender) take() {
	s.mu.Lock()
	taken := s.waiting
	s.waiting = buffer{}
	if s.sent.records == 0 {
		s.sent.since = taken.since
	}
	s.sent.records += taken.records
	s.sent.bytes += taken.bytes
	s.mu.Unlock()
	for hour, blocks := range taken.hours {
		a := s.appenders[hour]
		if a == nil {
			a = &appender{client: s.client, hour: hour, source: s.source, newID: s.blobID, maximum: s.limits.blocks}
			s.appenders[hour] = a
		}
		for _, b := range blocks {
			a.pending = enqueue(a.pending, b)
		}
	}
}

// blobID returns an ID for the next blob of the writer.
func (s *sender) blobID() string {
	s.blobs++
	return fmt.Sprintf("%s-%d", s.id, s.blobs)
}

// flush stores all lines that were in the buffer when it began, hour by hour. If an hour fails, the
// other hours are stored nevertheless, unless no request can succeed now. The caller has acquired
// the sender.
func (s *sender) flush(ctx context.Context) (err error) {
	s.take()
	byHour := func(a, b *appender) int { return a.hour.Compare(b.hour) }
	for _, a := range slices.SortedFunc(maps.Values(s.appenders), byHour) {
		for len(a.pending) > 0 {
			b := a.pending[0]
			if failed := a.store(ctx); failed != nil {
				err = errors.Join(err, failed)
				if ctx.Err() != nil || errors.Is(failed, table.ErrUnreachable) {
					return err
				}
				break
			}
			s.mu.Lock()
			s.sent.records -= b.records
			s.sent.bytes -= len(b.data)
			s.mu.Unlock()
			s.limitOpen(ctx, a)
		}
	}
	return err
}

// limitOpen notes that an appender was used, and leaves the blobs that were not used for the
// longest time, if too many are open.
func (s *sender) limitOpen(ctx context.Context, used *appender) {
	s.recent = append(slices.DeleteFunc(s.recent, func(a *appender) bool { return a == used }), used)
	for open := len(s.recent); open > s.limits.hours; open-- {
		s.leave(ctx, s.recent[0])
	}
}

// leave ends the blob of an appender whose blocks are all stored. Without a blob, nothing is left
// of the appender.
func (s *sender) leave(ctx context.Context, a *appender) {
	s.recent = slices.DeleteFunc(s.recent, func(other *appender) bool { return other == a })
	if len(a.pending) > 0 {
		return
	}
	a.leave(ctx)
	delete(s.appenders, a.hour)
}

// close stores all lines, and leaves all blobs. It can be called again after an error.
func (s *sender) close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	s.mu.Unlock()
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	if err := s.flush(ctx); err != nil {
		return err
	}
	for _, a := range slices.Clone(s.recent) {
		s.leave(ctx, a)
	}
	return nil
}

// run flushes whenever the interval has passed, until ctx ends or the sender is closed.
func (s *sender) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		// A line that comes now is due when the interval has passed.
		pause := s.untilDue()
		if s.limits.interval >= 0 {
			pause = min(pause, s.limits.interval)
		}
		timer.Reset(max(pause, 0))
		select {
		case <-timer.C:
		case <-s.done:
			return
		case <-ctx.Done():
			return
		}
		if s.acquire(ctx) != nil {
			return
		}
		s.flushIfDue(ctx)
		s.release()
	}
}

// stream reads a blob up to the length that it has when it is opened. If a response breaks off, the
// stream continues with another request, without a condition: an append changes the ETag of the
// blob, but not the bytes that it has. A blob that is deleted ends where it was deleted.
type stream struct {
	ctx    context.Context
	client client
	name   name
	offset int64
	length int64 // -1 until the first response

	body   io.ReadCloser // nil if there is no response
	cancel context.CancelCauseFunc
	call   wire.Call
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (n int, err error) {
	err = engine.Retry(s.client.opt.Retry).Repeat(s.ctx, engine.Log{}, func() (again bool, err error) {
		if s.offset == s.length {
			return false, io.EOF
		}
		if s.body == nil {
			if err := s.open(); err != nil {
				return false, err // the SDK has repeated the request
			}
			if s.offset == s.length {
				return false, io.EOF
			}
		}
		stop := blobs.EndIfIdle(s.cancel, s.client.opt.ReadTimeout)
		n, err = s.body.Read(p[:min(int64(len(p)), s.length-s.offset)])
		stop()
		s.offset += int64(n)
		if n > 0 {
			return false, nil // an error comes again
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		err = refusal(&s.call, err)
		s.Close()
		return s.ctx.Err() == nil, err
	})
	return n, err
}

// open sends a request for the rest of the blob.
func (s *stream) open() error {
	ctx, cancel := context.WithCancelCause(s.ctx)
	s.call, s.cancel = wire.Call{}, cancel
	var o blob.DownloadStreamOptions
	if s.length >= 0 {
		o.Range = blob.HTTPRange{Offset: s.offset, Count: s.length - s.offset}
	}
	stop := blobs.EndIfIdle(s.cancel, s.client.opt.ReadTimeout)
	resp, err := s.client.blob(s.name).DownloadStream(s.call.Read(ctx), &o)
	stop()
	err = s.call.Check(err)
	if s.length < 0 {
		err = blobs.CheckLength(&s.call, resp.ContentLength, err)
	}
	switch {
	case blobs.IsGone(err), bloberror.HasCode(err, bloberror.InvalidRange): // the latter after a deletion and another creation
		s.length = s.offset
		cancel(nil)
		return nil
	case err != nil:
		err = refusal(&s.call, err)
		cancel(nil)
		return err
	}
	s.body = resp.Body
	if s.length < 0 {
		s.length = *resp.ContentLength
	}
	return nil
}

// Close ends the response.
func (s *stream) Close() {
	if s.body != nil {
		s.body.Close()
		s.body = nil
		s.cancel(nil)
	}
}
