package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"

	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Log logs what an operation does besides its requests: repeated attempts, conflicts and repairs. The zero Log logs nothing. It
// logs keys, codes and texts of errors, but neither properties nor signatures.
type Log struct {
	Logger        *slog.Logger
	Table, Method string
	Key           keys.Key // zero for an operation on several rows
	Partition     string   // if the key is zero
	Conflicts     bool     // each attempt that is over was a conflict
}

// Conflict logs that an attempt failed because of a concurrent writer, and that another attempt follows. attempt and wait are 0
// if they are not known.
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

// The attributes of spans, by OpenTelemetry's conventions for databases, and by the SDK's for the ID of a request.
const (
	attrSystem     = "db.system.name"
	attrCollection = "db.collection.name"
	attrOperation  = "db.operation.name"
	attrBatchSize  = "db.operation.batch.size"
	attrErrorCode  = "db.response.status_code"
	attrRequestID  = "az.service_request_id"
)

// Span begins the span of a method, which fails if the method does. A method that another one calls has no span of its own: a method
// for which a refusal is no failure begins its span before the request. A nil table has no spans.
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

// responded notes after a call whether the client is tapped, and the service's ID of the request in the span of the method. Of several
// requests, the last one stays.
func (t *Table) responded(ctx context.Context, call *wire.Call) {
	t.findTap(call)
	if !t.tracer.Enabled() {
		return
	}
	if id := call.RequestID(); id != "" {
		t.tracer.SpanFromContext(ctx).SetAttributes(tracing.Attribute{Key: attrRequestID, Value: id})
	}
}

// sending notes in the span of the method that a transaction of several operations is sent, and counts its rows.
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
