package eventual

import (
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"
)

// The attributes of spans: those of OpenTelemetry's conventions for messages and databases, and own names.
const (
	attrSystem     = "messaging.system"
	attrOperation  = "messaging.operation.type"
	attrMessageID  = "messaging.message.id"
	attrCollection = "db.collection.name"

	attrWrite   = "aztablekit.operation_id"
	attrAttempt = "aztablekit.attempt"
	attrOutcome = "aztablekit.outcome"
	attrClass   = "aztablekit.class"
	attrEffect  = "aztablekit.effect"
)

// startSpan begins the span of a message: x.traced contains the span. The kind of the span is consumer, because the SDK suppresses
// the spans of methods below a span of kind internal or client.
func (x *lease) startSpan() (end func()) {
	tracer := x.env.tracer
	if !tracer.Enabled() {
		return func() {}
	}
	name := "aztablekit.Worker.Execute"
	if x.message.Hour != "" {
		name = "aztablekit.Worker.CleanUp"
	}
	attributes := []tracing.Attribute{
		{Key: attrSystem, Value: "azure.queues"}, {Key: attrOperation, Value: "process"}, {Key: attrMessageID, Value: x.id},
		{Key: attrAttempt, Value: x.attempt()},
	}
	if x.err == nil {
		attributes = append(attributes, tracing.Attribute{Key: attrCollection, Value: x.message.Table})
	}
	if x.message.Op != "" {
		attributes = append(attributes, tracing.Attribute{Key: attrWrite, Value: x.message.Op})
	}
	ctx, finish := runtime.StartSpan(x.ctx, name, tracer, &runtime.StartSpanOptions{Kind: tracing.SpanKindConsumer, Attributes: attributes})
	x.traced = ctx
	return func() { finish(nil) }
}

// noteOutcome notes the outcome of a message in its span, in the words of the log. The text of an error, which may be a handler's,
// stays out of the span. A message that was not executed has no span.
func (x *lease) noteOutcome(text string, failed bool, out outcome) {
	if x.traced == x.ctx {
		return
	}
	attributes := []tracing.Attribute{{Key: attrOutcome, Value: text}}
	if out.class != "" {
		attributes = append(attributes, tracing.Attribute{Key: attrClass, Value: out.class})
	}
	if out.effect != "" {
		attributes = append(attributes, tracing.Attribute{Key: attrEffect, Value: out.effect})
	}
	span := x.env.tracer.SpanFromContext(x.traced)
	span.SetAttributes(attributes...)
	if failed {
		span.SetStatus(tracing.SpanStatusError, text)
	}
}
