package table_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/table"
)

// TestCounter: a Counter counts each attempt by kind.
func TestCounter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	busy := 0
	w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		if busy++; busy <= 2 {
			return errorResponse(503, "ServerBusy"), nil
		}
		if r.Method == http.MethodGet {
			return jsonResponse(200, employeeJSON, "ETag", etag), nil
		}
		return noContent(), nil
	}}
	var c requests.Counter
	o := azcore.ClientOptions{Transport: w}
	o.Retry.RetryDelay = 1
	s, err := aztables.NewServiceClientWithNoCredential("http://127.0.0.1:1/account", &aztables.ClientOptions{ClientOptions: table.ClientOptions(o, &c)})
	noError(t, err)
	staff := newStaff(t, s)
	e, err := staff.Get(ctx, employeeKey("Sales", 223))
	noError(t, err)
	if got := c.Take(); got[requests.Get] != 3 || got.Total() != 3 || got.String() != "3 get" {
		t.Errorf(`got %v; want got[requests.Get] == 3 and got.Total() == 3 and got.String() == "3 get"`, got)
	}
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { _, err := staff.Insert(ctx, &e.Value); return err }, "1 insert"},
		{func() error { return staff.Replace(ctx, e) }, "1 replace"},
		{func() error { return staff.Merge(ctx, e, age.Set(1)) }, "1 merge"},
		{func() error { _, err := staff.Upsert(ctx, &e.Value, table.ReplaceExisting); return err }, "1 insert-or-replace"},
		{func() error { _, err := staff.Upsert(ctx, &e.Value, table.MergeExisting); return err }, "1 insert-or-merge"},
		{func() error { return staff.Delete(ctx, e) }, "1 delete"},
		{func() error { _, err := s.DeleteTable(ctx, "staff", nil); return err }, "1 table-delete"},
	} {
		if err := step.do(); err != nil {
			t.Errorf("%s: got %v; want no error", step.want, err)
		}
		if got := c.Take().String(); got != step.want {
			t.Errorf("got %s; want %s", got, step.want)
		}
	}
	if got := c.Take().String(); got != "none" {
		t.Errorf("got %q; want %q", got, "none")
	}
}

// TestSpans: a method makes one span, with its requests as children. The SDK's method spans are left out.
func TestSpans(t *testing.T) {
	t.Parallel()
	var names []string
	provider := tracing.NewProvider(func(string, string) tracing.Tracer {
		return tracing.NewTracer(func(ctx context.Context, name string, _ *tracing.SpanOptions) (context.Context, tracing.Span) {
			names = append(names, name)
			return ctx, tracing.NewSpan(tracing.SpanImpl{})
		}, nil)
	}, nil)
	w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return jsonResponse(200, employeeJSON, "ETag", etag), nil
		}
		return noContent(), nil
	}}
	o := singleAttempt()
	o.Tracing = provider
	staff, err := bare.NewTable(sdkClient(t, w, func(c *azcore.ClientOptions) { c.TracingProvider = provider }), "staff", staffSchema, o)
	noError(t, err)
	if _, err := staff.Update(context.Background(), employeeKey("Sales", 223), func(*employee) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names, ", "); got != "aztablekit.Table.Update, HTTP GET, HTTP PUT" {
		t.Errorf("got %q; want %q", got, "aztablekit.Table.Update, HTTP GET, HTTP PUT")
	}
}
