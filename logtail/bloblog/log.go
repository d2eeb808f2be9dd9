package bloblog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// Log stores records of type T in the append blobs of a container, and reads them by source and
// time. It is safe for concurrent use.
type Log[T any] struct {
	core   core
	time   func(*T) time.Time
	encode func(*T) ([]byte, error)
	decode func([]byte, *T) error
}

// core is a log without its type.
type core struct {
	client     client
	err        error // of the declaration
	limits     limits
	skip       func(*LineError) bool                // nil for none
	timeOfText func(text []byte) (time.Time, error) // of a line without its line break; nil without Options.Time
}

// New declares a log in a container of a store. It sends nothing: the store's Ensure creates the
// container. Zero fields of Options.Common are those of the store.
//
//	events := bloblog.New[Event](company, "logs", nil)
//
// Errors, returned by the methods of the store and of the log:
//   - *table.ValueError and *table.LimitError for a nil store, an account without blobs, a name
//     that no container can have, and an option out of range
//   - *table.ValueError for a declaration after a method of the store was called
func New[T any](s extend.Store, name string, o *Options[T]) *Log[T] {
	l := &Log[T]{}
	var common table.Common
	if o != nil {
		common = o.Common
		l.core.limits = limits{o.FlushRecords, o.FlushBytes, o.FlushInterval, o.Buffer, o.OpenHours, o.BlobBlocks}
		l.time, l.encode, l.decode, l.core.skip = o.Time, o.Encode, o.Decode, o.Skip
	}
	if l.encode == nil {
		l.core.err = edm.CheckStoredJSON(reflect.TypeFor[T]())
		l.encode = func(v *T) ([]byte, error) { return json.Marshal(v) }
	}
	if l.decode == nil {
		l.decode = func(line []byte, v *T) error { return json.Unmarshal(line, v) }
	}
	if l.time != nil {
		l.core.timeOfText = l.timeOfText
	}
	l.core.declare(host.Of(s), name, common)
	return l
}

// declare declares the log in a store.
func (c *core) declare(h *host.Host, name string, common table.Common) {
	c.client.opt = engine.WithDefaults(h.Options(common))
	c.err = cmp.Or(c.limits.setDefaults(c.timeOfText != nil), c.err)
	var wrong error
	c.client.container, wrong = h.Container(name)
	if err := cmp.Or(wrong, c.err); err != nil {
		c.err = fmt.Errorf("bloblog: New %s: %w", name, err)
	}
	c.err = h.Declare("blob log "+name, host.Parts{Ensure: []host.Task{{Name: "container " + name, Do: c.ensure}}}, c.err)
}

// check returns the mistake in the declaration of the log, nil if there is none.
func (l *Log[T]) check() error {
	if l == nil {
		return errNoLog
	}
	return l.core.check()
}

func (c *core) check() error {
	if c.client.container == nil && c.err == nil {
		return errNoLog
	}
	return c.err
}

var errNoLog = &table.ValueError{Field: "log", Reason: "is nil or a zero Log; use one of New"}

// ensure creates the container unless it exists. Errors: table.ErrUnreachable. 1 request;
// idempotent.
func (c *core) ensure(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := blobs.Ensure(ctx, c.client.container, &c.client.opt, refusal); err != nil {
		return fmt.Errorf("bloblog: Ensure: %w", err)
	}
	return nil
}

// timeOf returns the time of a record by Options.Time, and a zero time without it.
func (l *Log[T]) timeOf(v *T) (time.Time, error) {
	if l.time == nil {
		return time.Time{}, nil
	}
	t := l.time(v)
	if t.IsZero() {
		return t, &table.ValueError{Field: "Options.Time", Reason: "is zero for a record"}
	}
	return t, checkTime("Options.Time", t)
}

// Options are the options of a log. The zero value of each field is its default.
type Options[T any] struct {
	// Common bounds the requests of the log: WriteTimeout bounds the storing of one block with all
	// its attempts, ReadTimeout the wait for a response or for more of a body, and Retry the
	// attempts. AttemptTimeout must be long enough to send a block. Logger receives a line for each
	// flush that fails in the background. Logger must not write to a writer of the log, also not by
	// slog.SetDefault: a slog.Handler would wait for itself for ever. OmitOperationID and Tracing
	// have no effect.
	table.Common

	// Time returns the time of a record, which selects the hour of its blob. Readers then filter by
	// it exactly. Defaults to the time of Append by the writer's clock, which is not stored:
	// readers then know only the first and last time of each blob. For a record that was encoded
	// and decoded, Time must return the same time, or Between may leave the record out.
	Time func(*T) time.Time

	// Encode returns the line of a record, without a line break. Defaults to json.Marshal.
	Encode func(*T) ([]byte, error)

	// Decode reads a line, without its line break, into a zero T. It must not keep the line.
	// Defaults to json.Unmarshal.
	Decode func(line []byte, v *T) error

	// FlushRecords, FlushBytes and FlushInterval are how many records, how many bytes, and for how
	// long the buffer holds before Append stores them. They bound what a crash loses, and the
	// number of requests: see the package documentation. Default to 1,000 records, 1 MiB and 1 s. A
	// negative value is no bound.
	FlushRecords  int
	FlushBytes    int
	FlushInterval time.Duration

	// Buffer is the most bytes of records that a writer holds, including records on their way. If
	// the buffer is full, Append waits. Defaults to 8 MiB. The memory of a writer is at most about
	// twice as much.
	Buffer int

	// OpenHours is the number of hours whose blobs a writer keeps open at the same time, for
	// records that come late. If a record of another hour comes, the writer leaves the blob that it
	// has not used for the longest time. Defaults to 3, or to 1 without Time.
	OpenHours int

	// BlobBlocks is the number of blocks after which a writer begins another blob. The service
	// allows 50,000. Defaults to 45,000.
	BlobBlocks int

	// Skip decides about each line that cannot be read as T: the read continues after it if Skip
	// returns true. Defaults to an end of the read at the first such line.
	Skip func(*LineError) bool
}

// maxBlobBlocks is the most blocks of a blob that the service allows.
const maxBlobBlocks = 50_000

// setDefaults fills the defaults in. timed reports that records have times.
func (l *limits) setDefaults(timed bool) error {
	hours := 3
	if !timed {
		hours = 1
	}
	l.hours = cmp.Or(l.hours, hours)
	l.records = cmp.Or(l.records, 1000)
	l.bytes = cmp.Or(l.bytes, 1<<20)
	l.interval = cmp.Or(l.interval, time.Second)
	l.buffer = cmp.Or(l.buffer, 8<<20)
	l.blocks = cmp.Or(l.blocks, 45_000)
	switch {
	case l.buffer < 0:
		return &table.ValueError{Field: "Options.Buffer", Reason: "is negative"}
	case l.hours < 0:
		return &table.ValueError{Field: "Options.OpenHours", Reason: "is negative"}
	case l.blocks < 0:
		return &table.ValueError{Field: "Options.BlobBlocks", Reason: "is negative"}
	case l.blocks > maxBlobBlocks:
		return &table.LimitError{Field: "Options.BlobBlocks", Limit: "blocks of a blob", Got: l.blocks, Max: maxBlobBlocks}
	}
	return nil
}

// checkTime returns an error for a time that no name can contain. field is where the time comes
// from.
func checkTime(field string, t time.Time) error {
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return &table.ValueError{Field: field, Reason: fmt.Sprintf("is in the year %d; the names of blobs contain the years 1 to 9999", y)}
	}
	return nil
}

// name is the name of a blob: its source, the hour of its records, and a number that is unique in
// the hour, as in source/2014/07/31/1800/000001.log.
type name struct {
	source string
	hour   time.Time // in UTC
	number int
}

const (
	hourLayout = "2006/01/02/1504"
	maxNumber  = 999_999
)

func (n name) String() string { return fmt.Sprintf("%s%06d.log", n.prefix(), n.number) }

// prefix returns what the names of all blobs of the hour begin with.
func (n name) prefix() string { return n.source + "/" + n.hour.Format(hourLayout) + "/" }

// parseName returns what the name of a blob says, and whether it is the name of a log's blob. The
// text after the source has a fixed length, so that a name belongs to one source:
// a/2014/07/31/1800/000001.log is of source a, and no blob of source a/2014.
func parseName(text string) (n name, is bool) {
	at := len(text) - nameLength
	if at < 1 {
		return n, false
	}
	n.source = text[:at]
	hour, rest := text[at+1:at+1+len(hourLayout)], text[at+1+len(hourLayout):]
	t, err := time.Parse(hourLayout, hour)
	if err != nil || t.Minute() != 0 || t.Year() < 1 {
		return n, false
	}
	number, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSuffix(rest, ".log"), "/"))
	if err != nil || number < 0 { // writers begin with 1, other programs with 0
		return n, false
	}
	n.hour, n.number = t, number
	return n, n.String() == text && checkSource(n.source) == nil
}

// hourOf returns the hour of a time, in UTC.
func hourOf(t time.Time) time.Time { return t.UTC().Truncate(time.Hour) }

// metadata is what a writer stores with a blob. The service's own logs use the same names for the
// times.
type metadata struct {
	writer      string    // the writer's ID and the number of the blob among the blobs of the writer
	first, last time.Time // no record has an earlier or a later time; zero if that is not known
}

const (
	metaWriter = "Writer"
	metaFirst  = "StartTime"
	metaLast   = "EndTime"
)

func (m metadata) format() map[string]*string {
	all := map[string]*string{metaWriter: &m.writer, metaFirst: to.Ptr(m.first.Format(time.RFC3339Nano))}
	if !m.last.IsZero() {
		all[metaLast] = to.Ptr(m.last.Format(time.RFC3339Nano))
	}
	return all
}

// parseMetadata decodes metadata. HTTP does not keep the case of names. An invalid time is ignored.
func parseMetadata(all map[string]*string) (m metadata) {
	for key, value := range all {
		switch {
		case value == nil:
		case strings.EqualFold(key, metaWriter):
			m.writer = *value
		case strings.EqualFold(key, metaFirst):
			m.first, _ = time.Parse(time.RFC3339Nano, *value)
		case strings.EqualFold(key, metaLast):
			m.last, _ = time.Parse(time.RFC3339Nano, *value)
		}
	}
	return m
}

// overlaps reports whether a blob can have a record with from ≤ time < to. Other programs store
// times in whole seconds.
func (m metadata) overlaps(from, to time.Time) bool {
	return m.first.Before(to) && (m.last.IsZero() || m.last.Add(time.Second).After(from))
}

// ErrClosed: the writer is closed. The record is not stored.
var ErrClosed = errors.New("the writer is closed")

// LineError is a stored line that cannot be read. Its text contains no data of the line.
type LineError struct {
	Blob   string // the name of the blob
	Line   int    // the number of the line; starts with 1
	Offset int64  // the position of the line in the blob, in bytes
	Err    error  // the error of Options.Decode, or a *table.LimitError
}

func (e *LineError) Error() string {
	reason := "cannot be decoded"
	var limit *table.LimitError
	if errors.As(e.Err, &limit) {
		reason = "is too long: " + limit.Error()
	}
	return fmt.Sprintf("bloblog: line %d of blob %q, at byte %d, %s", e.Line, e.Blob, e.Offset, reason)
}

// Unwrap returns Err.
func (e *LineError) Unwrap() error { return e.Err }

// refusal returns the error for a request that the service refused, or that did not reach the
// service. Nothing was changed.
func refusal(call *wire.Call, err error) error {
	return blobs.Refusal(call, err, errs.ErrContainerNotFound, "Store.Ensure")
}

// ended returns the error for a context that has ended: the error of the caller's context, or
// table.ErrUnreachable if a bound of Options has passed.
func ended(ctx context.Context) error {
	if wire.Unreached(ctx, ctx.Err()) {
		return errs.With(table.ErrUnreachable, context.Cause(ctx))
	}
	return ctx.Err()
}

// isConflict reports whether a request was refused because of the state of the blob: it has another
// length, is full, sealed, leased, or of another type.
func isConflict(err error) bool {
	var re *azcore.ResponseError
	return errors.As(err, &re) && (re.StatusCode == http.StatusConflict || re.StatusCode == http.StatusPreconditionFailed) &&
		!strings.HasPrefix(re.ErrorCode, "Container") && !strings.HasPrefix(re.ErrorCode, "Account")
}
