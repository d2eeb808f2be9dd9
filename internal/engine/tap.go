package engine

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// tapState is what is known of the library's policies in the pipeline of the client. Until a call through the SDK has shown that they put
// the library's requests in the place of the SDK's, all calls are the SDK's.
type tapState = int32

const (
	tapUnknown tapState = iota
	tapFound
	tapLost // they were there, and a request did not get to them
)

func (t *Table) tapped() bool { return t.shared.tap.Load() == tapFound }

// findTap looks for the tap in a call through the SDK that was answered.
func (t *Table) findTap(call *wire.Call) {
	if t.shared.tap.Load() == tapUnknown && call.Status() != 0 && call.TakesRequests(t.tracer.Enabled()) {
		t.shared.tap.CompareAndSwap(tapUnknown, tapFound)
	}
}

// exchange sends a request of the library.
func (t *Table) exchange(ctx context.Context, call *wire.Call, q *wire.Request) error {
	err := call.Exchange(ctx, t.client, q, t.attemptTimeout())
	if err == wire.ErrTap {
		t.shared.tap.Store(tapLost)
	}
	return err
}

// exchangeTransaction sends a transaction that the library writes.
func (t *Table) exchangeTransaction(ctx context.Context, call *wire.Call, steps []step) error {
	return t.exchange(ctx, call, &wire.Request{Method: http.MethodPost, Target: wire.Batch, Transaction: func(u *url.URL) (io.ReadSeeker, string) {
		w := wire.NewBatchWriter(u, t.Name, len(steps))
		for i := range steps {
			steps[i].write(w)
		}
		return w.Finish()
	}})
}

// write writes the step's part of a transaction.
func (s *step) write(w *wire.BatchWriter) {
	method := http.MethodPut
	switch s.Kind {
	case aztables.TransactionTypeAdd:
		w.Insert(s.sent().Parts(s.id))
		return
	case aztables.TransactionTypeDelete:
		match := s.Match
		if match == "" {
			match = azcore.ETagAny
		}
		w.Delete(s.Key.PartitionKey(), s.Key.RowKey(), string(match))
		return
	case aztables.TransactionTypeInsertMerge, aztables.TransactionTypeUpdateMerge:
		method = http.MethodPatch
	}
	row := s.sent()
	json, end := row.Parts(s.id)
	w.Update(method, row.PartitionKey, row.RowKey, string(s.Match), json, end)
}
