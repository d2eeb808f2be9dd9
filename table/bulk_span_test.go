package table_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type spanNameKey struct{}

// methodTracing returns a provider that stores the names of the spans of methods in the context.
func methodTracing() tracing.Provider {
	return tracing.NewProvider(func(string, string) tracing.Tracer {
		return tracing.NewTracer(func(ctx context.Context, name string, o *tracing.SpanOptions) (context.Context, tracing.Span) {
			if o.Kind != tracing.SpanKindClient { // that of an HTTP request
				ctx = context.WithValue(ctx, spanNameKey{}, name)
			}
			return ctx, tracing.Span{}
		}, nil)
	}, nil)
}

// countByMethod is a policy that counts the requests by their kind and the method whose span they have.
type countByMethod struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *countByMethod) Do(r *policy.Request) (*http.Response, error) {
	c.mu.Lock()
	c.counts[fmt.Sprintf("%v: %v", requests.KindOf(r.Raw()), r.Raw().Context().Value(spanNameKey{}))]++
	c.mu.Unlock()
	return r.Next()
}

// TestBulkSpans: each request of bulk work has the span of a method as its parent, also those that read rows ahead of a transaction and
// those that find out which rows exist.
func TestBulkSpans(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &countByMethod{counts: map[string]int{}}
	s := storagetest.New(&storagetest.Options{Client: azcore.ClientOptions{PerCallPolicies: []policy.Policy{c}, TracingProvider: methodTracing()}})
	o := &table.Options{Common: table.Common{Tracing: methodTracing()}}
	base, err := bare.NewTable(s.Tables(), "staff", staffSchema, o)
	noError(t, err)
	noError(t, tabledoor.Ensure(ctx, base))
	// Each employee has an index row, so that a transaction takes half of 100 employees, and the rows of the others are read ahead.
	staff, err := baretest.Attach(base, index.New("last", keys.Text(), func(e *employee) (string, bool) { return e.Last, true }, nil))
	noError(t, err)
	clear(c.counts)

	upserts := func(yield func(table.Op, error) bool) {
		for i := range 200 {
			if !yield(staff.UpsertOp(&employee{"Sales", i, "Jones", 44}, table.ReplaceExisting), nil) {
				return
			}
		}
	}
	_, err = door.Bulk(ctx, upserts, nil)
	noError(t, err)
	if c.counts["query: aztablekit.Table.BulkReadAhead"] == 0 {
		t.Errorf("requests of upserts: got %v, want some of BulkReadAhead", c.counts)
	}
	c.expectMethods(t, "upserts")

	clear(c.counts)
	inserts := func(yield func(table.Op, error) bool) {
		for i := range 10 {
			if !yield(staff.InsertOp(&employee{"Sales", i, "Jones", 44}), nil) {
				return
			}
		}
	}
	_, err = door.Bulk(ctx, inserts, &engine.BulkOptions{Skip: func(int, error) bool { return true }})
	noError(t, err)
	c.expectMethods(t, "inserts of rows that exist")
}

// expectMethods reports requests whose parent is not a span of bulk work.
func (c *countByMethod) expectMethods(t *testing.T, what string) {
	t.Helper()
	for request, n := range c.counts {
		if !strings.Contains(request, ": aztablekit.Table.Bulk") {
			t.Errorf("%s: got %d of %q, want a span of bulk work", what, n, request)
		}
	}
}
