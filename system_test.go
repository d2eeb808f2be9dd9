package aztablekit_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// analytics sends requests for a table of the service to another one, before they are signed.
type analytics struct{}

const metricsTable = "$MetricsHourPrimaryTransactionsBlob"

func (analytics) Do(r *policy.Request) (*http.Response, error) {
	u := r.Raw().URL
	u.Path, u.RawPath = strings.Replace(u.Path, "/"+metricsTable, "/metrics", 1), ""
	return r.Next()
}

// metric is a row of the service's metrics.
type metric struct {
	Hour          string // 20260102T0300
	Of            string
	TotalRequests int64
}

var (
	metricHour = keys.RawPartitionOf(func(m *metric) *string { return &m.Hour })
	metricOf   = keys.RawRowOf(func(m *metric) *string { return &m.Of })
)

// TestSystemTable: a table of the service is read under its own name, and never written, created or given definitions.
func TestSystemTable(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storagetest.New(nil)
	acc, err := account.FromTransport(s, &account.Options{Client: policy.ClientOptions{PerCallPolicies: []policy.Policy{analytics{}}}})
	if err != nil {
		t.Fatal(err)
	}
	raw := s.Tables().NewClient("metrics")
	if _, err := raw.CreateTable(ctx, nil); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"user;All", "user;GetBlob"} {
		if _, err := raw.AddEntity(ctx, []byte(`{"PartitionKey":"20260102T0300","RowKey":"`+row+`","TotalRequests@odata.type":"Edm.Int64","TotalRequests":"7"}`), nil); err != nil {
			t.Fatal(err)
		}
	}
	store := aztablekit.Open(acc, "reports", &aztablekit.Options{Prefix: "Test"})
	metrics := aztablekit.Table(store, metricsTable, metricHour, metricOf)
	s.Count()
	if err := store.Ensure(ctx); err != nil {
		t.Errorf("Ensure: got error %v; want none", err)
	}
	if n := s.Count(); n.Total() != 0 {
		t.Errorf("Ensure: got requests %v; want none", n)
	}
	got, err := table.Collect(metrics.List(ctx, table.Query[metric]{Partition: keys.RawPartition("20260102T0300")}))
	if err != nil || len(got) != 2 || got[0].Value.TotalRequests != 7 || got[1].Value.Of != "user;GetBlob" {
		t.Errorf("List: got %v, error %v; want 2 metrics", got, err)
	}
	s.Count()
	v := metric{Hour: "20260102T0300", Of: "user;All"}
	_, inserted := metrics.Insert(ctx, &v)
	_, bulk := table.BulkDelete(ctx, metrics, table.Query[metric]{TableScan: true}, nil)
	for what, err := range map[string]error{
		"Insert": inserted, "Delete": metrics.Delete(ctx, got[0]), "Replace": metrics.Replace(ctx, got[0]), "Ensure": tabledoor.Ensure(ctx, metrics),
		"DeleteAny": metrics.DeleteAny(ctx, got[0].Key), "BulkDelete": bulk,
	} {
		var ve *table.ValueError
		if !errors.As(err, &ve) || !strings.Contains(err.Error(), "belongs to the service") {
			t.Errorf("%s: got error %v; want a *table.ValueError that says that the table belongs to the service", what, err)
		}
	}
	if n := s.Count(); n.Total() != 1 { // the rows that BulkDelete reads
		t.Errorf("writes: got requests %v; want 1 query", n)
	}

	for what, declare := range map[string]func(*aztablekit.Store) *table.Table[metric]{
		"an index": func(s *aztablekit.Store) *table.Table[metric] {
			return aztablekit.Table(s, metricsTable, metricHour, metricOf, index.New("total", keys.Text(), func(m *metric) (string, bool) { return m.Of, true }, nil))
		},
		"no definition": func(s *aztablekit.Store) *table.Table[metric] {
			return aztablekit.Table(s, metricsTable, metricHour, metricOf, nil)
		},
		"a wrong name": func(s *aztablekit.Store) *table.Table[metric] {
			return aztablekit.Table(s, "$Metrics-Hour", metricHour, metricOf)
		},
	} {
		store := aztablekit.Open(acc, "reports", nil)
		_, err := declare(store).Get(ctx, got[0].Key)
		var ve *table.ValueError
		if !errors.As(err, &ve) || !errors.As(store.Ensure(ctx), &ve) {
			t.Errorf("%s: got errors %v, %v; want *table.ValueErrors", what, err, store.Ensure(ctx))
		}
	}
}
