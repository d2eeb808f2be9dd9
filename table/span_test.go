package table_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// recordingTracer records the spans of methods.
type recordingTracer struct {
	mu    sync.Mutex
	spans []*recordedSpan
}

type recordedSpan struct {
	name       string
	attributes map[string]any
	failed     bool
}

func (r *recordingTracer) provider() tracing.Provider {
	type key struct{}
	set := func(s *recordedSpan) func(...tracing.Attribute) {
		return func(all ...tracing.Attribute) {
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, a := range all {
				s.attributes[a.Key] = a.Value
			}
		}
	}
	span := func(s *recordedSpan) tracing.Span {
		return tracing.NewSpan(tracing.SpanImpl{SetAttributes: set(s), SetStatus: func(status tracing.SpanStatus, _ string) { s.failed = status == tracing.SpanStatusError }})
	}
	return tracing.NewProvider(func(string, string) tracing.Tracer {
		return tracing.NewTracer(func(ctx context.Context, name string, o *tracing.SpanOptions) (context.Context, tracing.Span) {
			s := &recordedSpan{name: name, attributes: map[string]any{}}
			r.mu.Lock()
			r.spans = append(r.spans, s)
			r.mu.Unlock()
			set(s)(o.Attributes...)
			return context.WithValue(ctx, key{}, s), span(s)
		}, &tracing.TracerOptions{SpanFromContext: func(ctx context.Context) tracing.Span {
			if s, is := ctx.Value(key{}).(*recordedSpan); is {
				return span(s)
			}
			return tracing.Span{}
		}})
	}, nil)
}

// take returns the spans of methods since the last call.
func (r *recordingTracer) take() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if method, is := strings.CutPrefix(s.name, "aztablekit.Table."); is {
			text := method
			if s.failed {
				text += " failed"
			}
			for _, name := range slices.Sorted(maps.Keys(s.attributes)) {
				v := s.attributes[name]
				if name == "az.service_request_id" {
					v = v != "" // of the service's own choice
				}
				text += fmt.Sprintf(" %s=%v", name, v)
			}
			all = append(all, text)
		}
	}
	r.spans = nil
	return all
}

// TestSpanAttributes: the span of a method has its name, the table, the size of its transaction, the ID of its last request, and the
// service's error code if it fails.
func TestSpanAttributes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tracer := &recordingTracer{}
	o := noWaitOptions()
	o.Tracing = tracer.provider()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	base := peopleOf(t, s, o)
	people, err := bare.With(base, byEmail{})
	noError(t, err)
	q := table.Query[resident]{Partition: keys.RawPartition("S")}
	attributes := func(method string) string {
		return "db.collection.name=people db.operation.name=" + method
	}
	for _, c := range []struct {
		do   func() error
		want string
	}{
		{func() error { return tabledoor.Ensure(ctx, people) }, "Ensure az.service_request_id=true " + attributes("Ensure") + " db.system.name=azure.tables"},
		// It exists: that is no failure.
		{func() error { return tabledoor.Ensure(ctx, people) }, "Ensure az.service_request_id=true " + attributes("Ensure") + " db.system.name=azure.tables"},
		{func() error { return second(base.Insert(ctx, &resident{"S", 1, "Jones", ""})) }, "Insert az.service_request_id=true " + attributes("Insert") + " db.system.name=azure.tables"},
		{func() error { return second(people.Insert(ctx, &resident{"S", 2, "Cao", "cao"})) }, "Insert az.service_request_id=true db.collection.name=people db.operation.batch.size=2 db.operation.name=Insert db.system.name=azure.tables"},
		{func() error { return second(base.Get(ctx, base.Key(resident{Dept: "S", ID: 1}))) }, "Get az.service_request_id=true " + attributes("Get") + " db.system.name=azure.tables"},
		{func() error { return second(base.Get(ctx, base.Key(resident{Dept: "S", ID: 9}))) }, "Get failed az.service_request_id=true " + attributes("Get") + " db.response.status_code=ResourceNotFound db.system.name=azure.tables"},
		{func() error { return second(table.Collect(base.List(ctx, q))) }, "List az.service_request_id=true " + attributes("List") + " db.system.name=azure.tables"},
		{func() error {
			return second(table.Transact(ctx, base.InsertOp(&resident{"S", 3, "a", ""}), base.InsertOp(&resident{"S", 4, "b", ""}), base.InsertOp(&resident{"S", 5, "c", ""})))
		}, "Transact az.service_request_id=true db.collection.name=people db.operation.batch.size=3 db.operation.name=Transact db.system.name=azure.tables"},
		{func() error { return second(base.Insert(ctx, &resident{"S", 1, "Jones", ""})) }, "Insert failed az.service_request_id=true " + attributes("Insert") + " db.response.status_code=EntityAlreadyExists db.system.name=azure.tables"},
		{func() error {
			// The conflict ends inside the method, which succeeds.
			s.SetFaults(storagetest.OfKind(requests.Replace, storagetest.Once(storagetest.Refuse(412, "UpdateConditionNotSatisfied"))))
			return second(base.Update(ctx, base.Key(resident{Dept: "S", ID: 1}), func(r *resident) error { r.Last = "Brown"; return nil }))
		}, "Update az.service_request_id=true " + attributes("Update") + " db.system.name=azure.tables"},
	} {
		err := c.do()
		if got := tracer.take(); len(got) != 1 || got[0] != c.want {
			t.Errorf("got %q, error %v; want %q", got, err, c.want)
		}
	}
}
