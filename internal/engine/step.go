package engine

import (
	"context"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// step is an operation of a transaction.
type step struct {
	Op
	opIndex     int         // the caller's operation that the step is, or follows from; -1 for none
	derived     *derivedRow // nil for an operation of the caller's
	replannable bool        // the row was read for the operation, so that it may be planned again after a conflict
	head        *edm.Body   // of a wide entity, what is sent of Body in the head; nil if that is all of it
	json        []byte      // as it is sent
}

// sent returns what is sent in the row of the step.
func (s *step) sent() *edm.Body {
	if s.head != nil {
		return s.head
	}
	return &s.Body
}

// request sends the operation by a call of the SDK. The SDK writes into its options, so each call gets new ones.
func (s *step) request(ctx context.Context) (etag azcore.ETag, err error) {
	c := s.Table.client
	update := aztables.UpdateModeReplace
	switch s.Kind {
	case aztables.TransactionTypeAdd:
		// A body would repeat what was sent: without it, the response is an ETag.
		ctx = policy.WithHTTPHeader(ctx, http.Header{"Prefer": {"return-no-content"}})
		resp, err := c.AddEntity(ctx, s.json, nil)
		return resp.ETag, err
	case aztables.TransactionTypeDelete:
		_, err := c.DeleteEntity(ctx, s.Key.PartitionKey(), s.Key.RowKey(), &aztables.DeleteEntityOptions{IfMatch: &s.Match})
		return "", err
	case aztables.TransactionTypeInsertMerge, aztables.TransactionTypeInsertReplace:
		if s.Kind == aztables.TransactionTypeInsertMerge {
			update = aztables.UpdateModeMerge
		}
		resp, err := c.UpsertEntity(ctx, s.json, &aztables.UpsertEntityOptions{UpdateMode: update})
		return resp.ETag, err
	}
	if s.Kind == aztables.TransactionTypeUpdateMerge {
		update = aztables.UpdateModeMerge
	}
	resp, err := c.UpdateEntity(ctx, s.json, &aztables.UpdateEntityOptions{IfMatch: &s.Match, UpdateMode: update})
	return resp.ETag, err
}

// sendAlone sends a step as a request of its own.
func (s *step) sendAlone(ctx context.Context) (azcore.ETag, wire.Outcome, error) {
	var call wire.Call
	etag, err := s.request(call.Write(ctx, s.Table.attemptTimeout()))
	s.Table.responded(ctx, &call)
	if s.deletes() {
		err = call.CheckHeaders(err)
	} else {
		err = call.CheckWrite(string(etag), err)
	}
	return etag, call.Outcome(err), withCondition(&call, wire.Redact(err))
}

// noProperties returns an entity without properties.
func noProperties(k keys.Key) edm.Body {
	body, _ := edm.NewWriter(k.PartitionKey(), k.RowKey(), 0).Finish() // there is no limit to exceed
	return body
}
