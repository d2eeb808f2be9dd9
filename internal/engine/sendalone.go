package engine

import (
	"context"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// sendAlone sends a step as a request of its own.
func (s *step) sendAlone(ctx context.Context) (azcore.ETag, wire.Outcome, error) {
	var call wire.Call
	err := s.request(ctx, &call)
	s.Table.responded(ctx, &call)
	etag := azcore.ETag(call.Header("ETag"))
	if s.deletes() {
		err = call.Check(err)
	} else {
		err = call.CheckWrite(string(etag), err)
	}
	if err == nil {
		return etag, wire.Done, nil
	}
	return "", call.Outcome(err), s.Table.missing(withCondition(&call, wire.Redact(err)))
}

// request sends the operation.
func (s *step) request(ctx context.Context, call *wire.Call) error {
	t := s.Table
	if !t.tapped() {
		return s.requestBySDK(ctx, call)
	}
	q := wire.Request{Target: wire.Row, PartitionKey: s.Key.PartitionKey(), RowKey: s.Key.RowKey(), Match: string(s.Match)}
	switch s.Kind {
	case aztables.TransactionTypeAdd:
		q.Method, q.Target, q.NoEcho = http.MethodPost, wire.Table, true
	case aztables.TransactionTypeDelete:
		q.Method = http.MethodDelete
		return t.exchange(ctx, call, &q)
	case aztables.TransactionTypeInsertMerge, aztables.TransactionTypeUpdateMerge:
		q.Method = http.MethodPatch
	default:
		q.Method = http.MethodPut
	}
	q.Entity = s.encoded()
	return t.exchange(ctx, call, &q)
}

// requestBySDK sends the operation by a call of the SDK. The SDK writes into its options, so each call gets new ones.
func (s *step) requestBySDK(ctx context.Context, call *wire.Call) (err error) {
	c, mode := s.Table.client, aztables.UpdateModeReplace
	var body []byte
	switch s.Kind {
	case aztables.TransactionTypeDelete:
		_, err = c.DeleteEntity(call.Write(ctx, s.Table.attemptTimeout()), s.Key.PartitionKey(), s.Key.RowKey(), &aztables.DeleteEntityOptions{IfMatch: &s.Match})
		return err
	case aztables.TransactionTypeAdd:
		// The response would repeat what was sent.
		ctx = policy.WithHTTPHeader(ctx, http.Header{"Prefer": {"return-no-content"}})
	case aztables.TransactionTypeInsertMerge, aztables.TransactionTypeUpdateMerge:
		mode = aztables.UpdateModeMerge
	}
	ctx, body = call.Write(ctx, s.Table.attemptTimeout()), s.encoded()
	switch s.Kind {
	case aztables.TransactionTypeAdd:
		_, err = c.AddEntity(ctx, body, nil)
	case aztables.TransactionTypeInsertMerge, aztables.TransactionTypeInsertReplace:
		_, err = c.UpsertEntity(ctx, body, &aztables.UpsertEntityOptions{UpdateMode: mode})
	default:
		_, err = c.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{IfMatch: &s.Match, UpdateMode: mode})
	}
	return err
}
