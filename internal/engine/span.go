package engine

import (
	"context"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// The attributes of spans: those of OpenTelemetry's conventions for databases, and the SDK's for the ID of a request.
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
	meterOf(ctx).sent(operations)
	if t.tracer.Enabled() && operations > 1 {
		t.tracer.SpanFromContext(ctx).SetAttributes(tracing.Attribute{Key: attrBatchSize, Value: operations})
	}
}
