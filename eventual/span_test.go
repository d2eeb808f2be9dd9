package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

// spanRecorder records spans with their parents.
type spanRecorder struct {
	mu    sync.Mutex
	roots []*recordedSpan
}

type recordedSpan struct {
	name       string
	attributes map[string]any
	failed     string // the description of the status error
	ended      bool
	children   []*recordedSpan
}

type recordedSpanKey struct{}

// span returns a span that records into s.
func (r *spanRecorder) span(s *recordedSpan) tracing.Span {
	locked := func(f func()) {
		r.mu.Lock()
		defer r.mu.Unlock()
		f()
	}
	return tracing.NewSpan(tracing.SpanImpl{
		End: func() { locked(func() { s.ended = true }) },
		SetAttributes: func(all ...tracing.Attribute) {
			locked(func() {
				for _, a := range all {
					s.attributes[a.Key] = a.Value
				}
			})
		},
		SetStatus: func(status tracing.SpanStatus, text string) {
			if status == tracing.SpanStatusError {
				locked(func() { s.failed = text })
			}
		},
	})
}

func (r *spanRecorder) provider() tracing.Provider {
	return tracing.NewProvider(func(string, string) tracing.Tracer {
		return tracing.NewTracer(func(ctx context.Context, name string, o *tracing.SpanOptions) (context.Context, tracing.Span) {
			s := &recordedSpan{name: name, attributes: map[string]any{}}
			r.mu.Lock()
			if parent, is := ctx.Value(recordedSpanKey{}).(*recordedSpan); is {
				parent.children = append(parent.children, s)
			} else {
				r.roots = append(r.roots, s)
			}
			r.mu.Unlock()
			r.span(s).SetAttributes(o.Attributes...)
			return context.WithValue(ctx, recordedSpanKey{}, s), r.span(s)
		}, &tracing.TracerOptions{SpanFromContext: func(ctx context.Context) tracing.Span {
			if s, is := ctx.Value(recordedSpanKey{}).(*recordedSpan); is {
				return r.span(s)
			}
			return tracing.Span{}
		}})
	}, nil)
}

// take returns the trees of the worker's spans since the last call, without the attributes that the service and chance determine.
func (r *spanRecorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	var print func(s *recordedSpan, depth int)
	print = func(s *recordedSpan, depth int) {
		fmt.Fprintf(&text, "%s%s", strings.Repeat("  ", depth), s.name)
		for _, name := range slices.Sorted(maps.Keys(s.attributes)) {
			if strings.HasPrefix(name, "aztablekit.") && name != "aztablekit.operation_id" || name == "db.collection.name" {
				fmt.Fprintf(&text, " %s=%v", name, s.attributes[name])
			}
		}
		if s.failed != "" {
			first, _, _ := strings.Cut(s.failed, "\n")
			fmt.Fprintf(&text, " failed (%s)", first)
		}
		if !s.ended {
			text.WriteString(" NOT ENDED")
		}
		text.WriteString("\n")
		for _, c := range s.children {
			print(c, depth+1)
		}
	}
	for _, s := range r.roots {
		if strings.HasPrefix(s.name, "aztablekit.Worker.") {
			print(s, 0)
		}
	}
	r.roots = nil
	return text.String()
}

// TestSpans: each message that a worker executes has a span. The handler's methods, and the requests of the worker, are its children.
func TestSpans(t *testing.T) {
	t.Parallel()
	recorder := &spanRecorder{}
	c := noPauses()
	c.Tracing = recorder.provider()
	o, s := newOffice(t, c)
	opt := fastPolling()
	opt.Tracing, opt.Attempts, opt.Concurrency = recorder.provider(), 2, 1
	var fail error
	h := bare.NewHandler("letter", o.base, func(ctx context.Context, j eventual.Job, l letter) error {
		if fail != nil {
			return fail
		}
		return o.send(ctx, j, l)
	})
	for _, step := range []struct {
		what, want string
		fail       error
		put        string
	}{
		{what: "executed", want: `
aztablekit.Worker.Execute aztablekit.attempt=1 aztablekit.outcome=message completed db.collection.name=staff
  aztablekit.Table.Resolve db.collection.name=staff
    HTTP GET
  aztablekit.Table.Upsert db.collection.name=sent
    HTTP PUT
  aztablekit.Table.MarkDone db.collection.name=staff
    HTTP PATCH
  HTTP DELETE
`},
		{what: "failed", fail: errors.New("the password is x"), want: `
aztablekit.Worker.Execute aztablekit.attempt=1 aztablekit.class=attempts aztablekit.effect=letter aztablekit.outcome=message returned to the queue db.collection.name=staff failed (message returned to the queue)
  aztablekit.Table.Resolve db.collection.name=staff
    HTTP GET
  HTTP PUT
`},
		{what: "poison", fail: eventual.Poison(errors.New("the password is x")), want: `
aztablekit.Worker.Execute aztablekit.attempt=1 aztablekit.class=handler aztablekit.effect=letter aztablekit.outcome=message moved to the poison queue db.collection.name=staff failed (message moved to the poison queue)
  aztablekit.Table.Resolve db.collection.name=staff
    HTTP GET
  HTTP GET
  aztablekit.Table.StoreWait db.collection.name=staff
    HTTP PATCH
  HTTP POST
  HTTP DELETE
`},
		{what: "undecodable", put: "x", want: `
aztablekit.Worker.Execute aztablekit.attempt=1 aztablekit.class=undecodable aztablekit.outcome=message moved to the poison queue failed (message moved to the poison queue)
  HTTP POST
  HTTP DELETE
`},
		{what: "clean-up of an older release", put: `{"v":1,"table":"staff","partition":"S","hour":"2020-01-01T00:00:00Z"}`, want: `
aztablekit.Worker.Execute aztablekit.attempt=1 aztablekit.outcome=message completed db.collection.name=staff
  HTTP DELETE
`},
	} {
		o.clear(t, "notifications")
		if step.put != "" {
			o.put(t, "notifications", step.put)
		} else {
			o.insert(t, clerk{"S", len(s.Rows("staff")), "Jones"})
		}
		recorder.take()
		fail = step.fail
		drain(t, o.worker(t, opt, h))
		testkit.Expect(t, step.what, "\n"+recorder.take(), step.want)
	}
}

// TestSpanAttributes: the span of a message names the message, and the write whose effects it executes.
func TestSpanAttributes(t *testing.T) {
	t.Parallel()
	recorder := &spanRecorder{}
	o, s := newOffice(t, noPauses())
	o.insert(t, clerk{"S", 1, "Jones"})
	id := s.Messages("notifications")[0].ID
	opt := fastPolling()
	opt.Tracing = recorder.provider()
	drain(t, o.worker(t, opt))
	var messages []*recordedSpan
	for _, r := range recorder.roots {
		if r.name == "aztablekit.Worker.Execute" {
			messages = append(messages, r)
		}
	}
	if len(messages) != 1 {
		t.Fatalf("spans of messages: got %d, want 1", len(messages))
	}
	got := messages[0].attributes
	for name, want := range map[string]any{"messaging.system": "azure.queues", "messaging.operation.type": "process", "messaging.message.id": id} {
		testkit.Expect(t, name, got[name], want)
	}
	if op, is := got["aztablekit.operation_id"].(string); !is || len(op) != 26 {
		t.Errorf("aztablekit.operation_id: got %v, want an operation ID", got["aztablekit.operation_id"])
	}
}

// TestSpansOfRun: the spans of messages are children of the span in the context of Run. A message that is returned to the queue
// without an execution has no span, and changes none.
func TestSpansOfRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recorder := &spanRecorder{}
		root := &recordedSpan{name: "root", attributes: map[string]any{}}
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), recordedSpanKey{}, root))
		o, s := newOffice(t, noPauses())
		opt := fastPolling()
		opt.Tracing = recorder.provider()
		w := o.worker(t, opt)
		o.insert(t, clerk{"S", 1, "Jones"})
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(time.Second)

		s.SetFaults(storagetest.OfKind(kinds.MessageGet, storagetest.Slow(5*time.Second)))
		time.Sleep(time.Second)
		o.insert(t, clerk{"S", 2, "Cao"})
		time.Sleep(6 * time.Second) // the worker requests the message, and the context of Run ends before the response
		cancel()
		noError(t, <-ended)
		testkit.Expect(t, "messages done and deferred", []int{w.Stats().Completed, w.Stats().Deferred}, []int{1, 1})
		testkit.Expect(t, "attributes of the span of Run", root.attributes, map[string]any{})
		names := []string{}
		for _, c := range root.children {
			names = append(names, c.name)
		}
		testkit.Expect(t, "children", names, []string{"aztablekit.Worker.Execute"})
	})
}
