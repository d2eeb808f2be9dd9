package engine

import (
	"context"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// request sends the operation with a body by a call of the SDK. The SDK writes into its options, so each call gets new ones.
func (s *step) request(ctx context.Context, body []byte) (etag azcore.ETag, err error) {
	c := s.Table.client
	update := aztables.UpdateModeReplace
	switch s.Kind {
	case aztables.TransactionTypeAdd:
		// A body would repeat what was sent: without it, the response is an ETag.
		ctx = policy.WithHTTPHeader(ctx, http.Header{"Prefer": {"return-no-content"}})
		resp, err := c.AddEntity(ctx, body, nil)
		return resp.ETag, err
	case aztables.TransactionTypeDelete:
		_, err := c.DeleteEntity(ctx, s.Key.PartitionKey(), s.Key.RowKey(), &aztables.DeleteEntityOptions{IfMatch: &s.Match})
		return "", err
	case aztables.TransactionTypeInsertMerge, aztables.TransactionTypeInsertReplace:
		if s.Kind == aztables.TransactionTypeInsertMerge {
			update = aztables.UpdateModeMerge
		}
		resp, err := c.UpsertEntity(ctx, body, &aztables.UpsertEntityOptions{UpdateMode: update})
		return resp.ETag, err
	}
	if s.Kind == aztables.TransactionTypeUpdateMerge {
		update = aztables.UpdateModeMerge
	}
	resp, err := c.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{IfMatch: &s.Match, UpdateMode: update})
	return resp.ETag, err
}

// sendAlone sends a step as a request of its own.
func (s *step) sendAlone(ctx context.Context) (azcore.ETag, wire.Outcome, error) {
	tap, body := s.tapEntity()
	call := wire.Call{Tap: tap}
	etag, err := s.request(call.Write(ctx, s.Table.attemptTimeout()), body)
	s.Table.responded(ctx, &call)
	if tap.Body != nil && call.Status() != 0 {
		s.Table.shared.entities.Store(call.Swapped())
	}
	if call.SentStandIn() {
		return "", wire.Unknown, &Condition{ErrUnknownOutcome, wire.ErrTap}
	}
	if s.deletes() {
		err = call.CheckHeaders(err)
	} else {
		err = call.CheckWrite(string(etag), err)
	}
	return etag, call.Outcome(err), withCondition(&call, wire.Redact(err))
}
