package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"

	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Repeat calls f until f succeeds or returns again = false, until the attempts are used up, or
// until ctx ends. It pauses between the calls, and returns the last error. A throttled request uses
// up no attempt if ctx has a deadline.
func (r Retry) Repeat(ctx context.Context, log Log, f func() (again bool, err error)) error {
	tries := attempts{retry: r, log: log}
	for {
		again, err := f()
		if err == nil || !again || !tries.wait(ctx, err) {
			return err
		}
	}
}

// ForConflicts returns the policy of the attempts after conflicts, for Repeat.
func (r Retry) ForConflicts() Retry {
	return Retry{Attempts: r.ConflictAttempts, Wait: r.ConflictWait, MaxWait: r.MaxConflictWait}
}

// RepeatRead calls f, which reads a row, until it succeeds, fails with an error that is no outage,
// the attempts are used up, or ctx ends. AttemptTimeout bounds each call.
func (r Retry) RepeatRead(ctx context.Context, log Log, f func(context.Context) error) error {
	return r.Repeat(ctx, log, func() (again bool, err error) {
		ctx, cancel := Bound(ctx, r.AttemptTimeout)
		defer cancel()
		err = f(ctx)
		return Outage(err), err
	})
}

// Outage reports whether err is that of a read, or of work that begins with one, which fails
// because of an outage. A read ends what another program has prepared, so that it may have an
// unknown outcome.
func Outage(err error) bool {
	if err == nil { // before the variable, which escapes: every plan of a write comes here
		return false
	}
	if errs.IsUserCode(err) { // which has repeated its own requests
		return errors.Is(err, errs.ErrUnreachable)
	}
	return mayPass(err) && (errors.As(err, new(*azcore.ResponseError)) || errors.Is(err, errs.ErrUnreachable) || isUnknown(err))
}

// Ended returns the error of work that waited for the response of a request until ctx ended.
func Ended(ctx context.Context) error { return conditioned(ctx, ctx.Err()) }

// mayPass reports whether the failure of a request, which was not refused, may pass: there is no
// response, or the response of a service that is busy or down. The response of another program,
// such as a proxy, does not pass, nor does the refusal of a service that does not know the request.
func mayPass(err error) bool {
	var foreign *wire.NotServiceError
	var re *azcore.ResponseError
	switch {
	case errors.As(err, &foreign):
		return false
	case errors.As(err, &re):
		s := re.StatusCode
		return s == http.StatusRequestTimeout || s == http.StatusTooManyRequests || s >= 500 && s != http.StatusNotImplemented
	}
	return true
}

// attempts counts the attempts of one request, and waits between them. If the context has a
// deadline, the deadline ends the attempts. Retry.Attempts bounds those that were not throttled, or
// all if it is 1. Without it, few attempts follow a failure that does not pass, and a number ends
// only attempts without a deadline or without pauses.
type attempts struct {
	retry   Retry
	log     Log
	failed  int // attempts that were not throttled
	lasting int // of these, attempts whose failure does not pass
	busy    int // attempts that were throttled
}

// The most attempts without Retry.Attempts: of a request without a deadline, or whose failures do
// not pass, and of one without pauses.
const (
	fewAttempts  = 4
	mostAttempts = 100
)

// few returns the number of attempts that no deadline ends.
func (r Retry) few() int {
	if r.Attempts > 0 {
		return r.Attempts
	}
	return fewAttempts
}

// usedUp reports whether there is no further attempt. bounded reports that the context has a
// deadline.
func (a *attempts) usedUp(bounded bool) bool {
	switch {
	case a.retry.Attempts > 0 || !bounded:
		return a.failed >= a.retry.few()
	case min(a.retry.Wait, a.retry.MaxWait) <= 0:
		return a.lasting >= fewAttempts || a.failed >= mostAttempts
	}
	return a.lasting >= fewAttempts
}

// wait waits before the next attempt, after an attempt that failed with err. It reports whether
// there is a next attempt.
func (a *attempts) wait(ctx context.Context, err error) bool {
	if errors.Is(err, errs.ErrNoEndpoint) { // the client is made so: the next attempt cannot differ
		a.log.givesUp(ctx, a.failed+a.busy+1, err)
		return false
	}
	wait, busy := throttled(err)
	_, bounded := ctx.Deadline()
	if !busy || !bounded || a.retry.Attempts == 1 {
		a.failed++
		if !mayPass(err) {
			a.lasting++
		}
		if a.usedUp(bounded) {
			a.log.givesUp(ctx, a.failed+a.busy, err)
			return false
		}
		wait = backOff(a.failed, a.retry.Wait, a.retry.MaxWait)
		a.log.repeats(ctx, a.failed+a.busy, wait, err)
		return a.pause(ctx, wait, err)
	}
	a.busy++
	if m := meterOf(ctx); m != nil {
		m.busy.Store(true)
	}
	least, most := a.retry.Wait, a.retry.MaxWait
	if least < 0 { // a negative Wait removes the pauses after lost responses; a busy service still gets one
		least, most = defaultConflictWait, max(most, defaultConflictWait)
	}
	wait = max(wait, backOff(a.busy, least, most))
	a.log.attempt(ctx, slog.LevelWarn, "throttled by the service; another attempt follows", a.failed+a.busy, wait, err)
	return a.pause(ctx, wait, err)
}

// pause waits before the next attempt. It reports whether there is time for one.
func (a *attempts) pause(ctx context.Context, wait time.Duration, err error) bool {
	if sleep(ctx, wait) != nil {
		a.log.givesUp(ctx, a.failed+a.busy, err)
		return false
	}
	return true
}

// throttled reports whether the service refused a request because it is busy, and for how long it
// asks not to be called.
func throttled(err error) (wait time.Duration, busy bool) {
	if err == nil {
		return 0, false
	}
	var re *azcore.ResponseError
	switch {
	case !errors.As(err, &re):
		return 0, false
	case re.StatusCode != http.StatusServiceUnavailable && re.StatusCode != http.StatusTooManyRequests && re.ErrorCode != "OperationTimedOut":
		return 0, false
	case re.RawResponse == nil:
		return 0, true
	}
	h := re.RawResponse.Header
	for _, name := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if ms, err := strconv.Atoi(h.Get(name)); err == nil {
			return time.Duration(ms) * time.Millisecond, true
		}
	}
	text := h.Get("Retry-After")
	if s, err := strconv.Atoi(text); err == nil {
		return time.Duration(s) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return time.Until(at), true
	}
	return 0, true
}

// Conflicts bounds how often, and for how long, work starts again because concurrent writers
// changed what it read.
type Conflicts struct {
	retry    Retry
	end      time.Time // zero if there is none
	usual    time.Duration
	late     bool // the time counts from the first conflict on: an outage may have been before
	attempts int  // that are over
}

// NewConflicts begins to count, and to measure the time, now.
func (o *Options) NewConflicts() Conflicts {
	c := Conflicts{retry: Retry(o.Retry), usual: o.WriteTimeout}
	c.begin()
	return c
}

// begin begins to measure the time.
func (c *Conflicts) begin() {
	if c.usual > 0 {
		c.end = time.Now().Add(c.usual)
	}
}

// Wait waits before the next attempt, and reports whether there is one, after a conflict that lost
// tells. err is the context's, if the context has ended.
func (c *Conflicts) Wait(ctx context.Context, log Log, lost error) (_ bool, err error) {
	return c.wait(ctx, log, lost, c.retry.ConflictWait)
}

// First reports whether no conflict was counted so far.
func (c *Conflicts) First() bool { return c.attempts == 0 }

// Skip is Wait without a pause, for an attempt that begins with a row that was read after the
// conflict.
func (c *Conflicts) Skip(ctx context.Context, log Log, lost error) (_ bool, err error) {
	return c.wait(ctx, log, lost, 0)
}

// RepeatLost calls f, which reads rows of a partition and writes what follows from them in one
// transaction, again as long as a concurrent writer has changed what it read.
func (t *Table) RepeatLost(ctx context.Context, method string, in keys.PartitionKey, f func(context.Context) error) error {
	log, conflicts := t.Log(method, keys.Key{}), t.Options.NewConflicts()
	log.Partition = in.String()
	for {
		err := f(ctx)
		if !isLost(err) {
			return err
		}
		again, ended := conflicts.Wait(ctx, log, err)
		if !again {
			return cmp.Or(t.OpError(method, keys.Key{}, ended), err)
		}
	}
}

// isLost reports whether a transaction has failed because a concurrent writer has changed what it
// goes by.
func isLost(err error) bool {
	var be *errs.BatchError
	switch {
	case isUnknown(err), errors.As(err, new(*errs.DerivedError)), errors.Is(err, errs.ErrOutbox):
		return false
	case errors.Is(err, errs.ErrChanged):
		return true
	}
	return errors.As(err, &be) && be.Index >= 0 && (errors.Is(err, errs.ErrExists) || errors.Is(err, errs.ErrNotFound))
}

func (c *Conflicts) wait(ctx context.Context, log Log, lost error, least time.Duration) (_ bool, err error) {
	c.attempts++
	if c.late && c.attempts == 1 {
		c.begin()
	}
	if c.attempts >= c.retry.ConflictAttempts {
		log.givesUp(ctx, c.attempts, lost)
		return false, nil
	}
	pause := backOff(c.attempts, least, c.retry.MaxConflictWait)
	ends, bounded := ctx.Deadline()
	if own := !c.end.IsZero() && !(bounded && ends.Before(c.end)); own && time.Now().Add(pause).After(c.end) {
		log.givesUp(ctx, c.attempts, lost)
		return false, nil
	}
	log.Conflict(ctx, c.attempts, pause, lost)
	if err = sleep(ctx, pause); err != nil {
		log.givesUp(ctx, c.attempts, lost)
	}
	return err == nil, err
}

// backOff is the n-th pause: d the first, and twice as long each time, up to most, shortened at
// random by up to a half so that concurrent writers diverge. It is 0 for a d below 0.
func backOff(n int, d, most time.Duration) time.Duration {
	d = min(d, most)
	for ; n > 1 && d > 0 && d < most; n-- {
		d = min(2*d, most)
	}
	if d <= 0 {
		return 0
	}
	return d - rand.N(d/2+1)
}

// sleep waits, or until ctx ends. It does not wait for what ctx's deadline does not allow.
func sleep(ctx context.Context, d time.Duration) error {
	if deadline, bounded := ctx.Deadline(); bounded && d > 0 && time.Until(deadline) <= d {
		return context.DeadlineExceeded
	}
	return pace.Sleep(ctx, d)
}

// Log logs what an operation does besides its requests: repeated attempts, conflicts and repairs.
// The zero Log logs nothing. It logs keys, codes and texts of errors, but neither properties nor
// signatures.
type Log struct {
	Logger        *slog.Logger
	Table, Method string
	Key           keys.Key // zero for an operation on several rows
	Partition     string   // if the key is zero
	Conflicts     bool     // each attempt that is over was a conflict
}

// Conflict logs that an attempt failed because of a concurrent writer, and that another attempt
// follows. attempt and wait are 0 if they are not known.
func (l Log) Conflict(ctx context.Context, attempt int, wait time.Duration, err error) {
	l.attempt(ctx, slog.LevelDebug, "conflict with a concurrent writer; another attempt follows", attempt, wait, err)
}

// repeats logs that an attempt has failed, and that another attempt follows.
func (l Log) repeats(ctx context.Context, attempt int, wait time.Duration, err error) {
	if l.Conflicts {
		l.Conflict(ctx, attempt, wait, err)
		return
	}
	l.attempt(ctx, slog.LevelDebug, "request failed; another attempt follows", attempt, wait, err)
}

// givesUp logs that no further attempt follows. A caller that has canceled the context knows that.
func (l Log) givesUp(ctx context.Context, attempt int, err error) {
	if !errors.Is(ctx.Err(), context.Canceled) {
		l.attempt(ctx, slog.LevelWarn, "gave up", attempt, 0, err)
	}
}

// Repaired logs that derived rows were not as they should be, and were repaired.
func (l Log) Repaired(ctx context.Context, rows int) {
	if l.enabled(ctx, slog.LevelWarn) {
		l.log(ctx, slog.LevelWarn, "repaired derived rows", slog.Int("rows", rows))
	}
}

func (l Log) enabled(ctx context.Context, level slog.Level) bool {
	return l.Logger != nil && l.Logger.Enabled(ctx, level)
}

func (l Log) attempt(ctx context.Context, level slog.Level, text string, attempt int, wait time.Duration, err error) {
	if !l.enabled(ctx, level) {
		return
	}
	var attrs []slog.Attr
	if attempt > 0 {
		attrs = append(attrs, slog.Int("attempt", attempt))
	}
	if wait > 0 {
		attrs = append(attrs, slog.Duration("wait", wait))
	}
	var re *azcore.ResponseError
	if errors.As(err, &re) && re.ErrorCode != "" {
		attrs = append(attrs, slog.String("code", re.ErrorCode))
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", errs.Brief(wire.Redact(errs.Cause(err)))))
	}
	l.log(ctx, level, text, attrs...)
}

func (l Log) log(ctx context.Context, level slog.Level, text string, attrs ...slog.Attr) {
	all := []slog.Attr{slog.String("table", l.Table), slog.String("operation", l.Method)}
	switch {
	case l.Key != keys.Key{}:
		all = append(all, slog.Any("key", l.Key))
	case l.Partition != "":
		all = append(all, slog.String("partition", l.Partition))
	}
	l.Logger.LogAttrs(ctx, level, text, append(all, attrs...)...)
}

// The attributes of spans, by OpenTelemetry's conventions for databases, and by the SDK's for the
// ID of a request.
const (
	attrSystem     = "db.system.name"
	attrCollection = "db.collection.name"
	attrOperation  = "db.operation.name"
	attrBatchSize  = "db.operation.batch.size"
	attrErrorCode  = "db.response.status_code"
	attrRequestID  = "az.service_request_id"
)

// Span begins the span of a method, which fails if the method does. A method that another one calls
// has no span of its own: a method for which a refusal is no failure begins its span before the
// request. A nil table has no spans.
func (t *Table) Span(ctx context.Context, method string) (context.Context, func(error)) {
	if t == nil || !t.tracer.Enabled() || ctx.Value(spanKey{}) != nil {
		return ctx, func(error) {}
	}
	ctx, end := runtime.StartSpan(context.WithValue(ctx, spanKey{}, true), "aztablekit.Table."+method, t.tracer, &runtime.StartSpanOptions{Attributes: []tracing.Attribute{
		{Key: attrSystem, Value: "azure.tables"}, {Key: attrCollection, Value: t.Name}, {Key: attrOperation, Value: method},
	}})
	return ctx, func(err error) {
		var re *azcore.ResponseError
		if errors.As(err, &re) && re.ErrorCode != "" {
			t.tracer.SpanFromContext(ctx).SetAttributes(tracing.Attribute{Key: attrErrorCode, Value: re.ErrorCode})
		}
		end(err)
	}
}

// spanKey marks a context that has a span of this package.
type spanKey struct{}

// responded notes after a call whether the client is tapped, and the service's ID of the request in
// the span of the method. Of several requests, the last one stays.
func (t *Table) responded(ctx context.Context, call *wire.Call) {
	t.findTap(call)
	if !t.tracer.Enabled() {
		return
	}
	if id := call.RequestID(); id != "" {
		t.tracer.SpanFromContext(ctx).SetAttributes(tracing.Attribute{Key: attrRequestID, Value: id})
	}
}

// sending notes in the span of the method that a transaction of several operations is sent, and
// counts its rows.
func (t *Table) sending(ctx context.Context, operations int) {
	if m := meterOf(ctx); m != nil {
		m.rows.Add(int64(operations))
	}
	if t.tracer.Enabled() && operations > 1 {
		t.tracer.SpanFromContext(ctx).SetAttributes(tracing.Attribute{Key: attrBatchSize, Value: operations})
	}
}

// meter counts what a write has sent. It is a value of its context.
type meter struct {
	rows atomic.Int64
	busy atomic.Bool // the service was busy
}

type meterKey struct{}

// meterOf returns the meter of a context, nil if there is none.
func meterOf(ctx context.Context) *meter {
	m, _ := ctx.Value(meterKey{}).(*meter)
	return m
}
