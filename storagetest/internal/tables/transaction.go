package tables

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// The limits of an entity group transaction.
const (
	maxOperations      = 100
	maxTransactionSize = 4 << 20
)

// executeTransaction executes all operations of a transaction, or none. A fault may fail the last
// operation, or spread the Timestamps.
func (c *call) executeTransaction(now time.Time, in protocol.Injection) *response {
	if len(c.Body) > maxTransactionSize {
		return refuse(errBodyTooLarge)
	}
	if f := c.parseOperations(); f != nil {
		return refuse(f)
	}
	parts := odata.NewBatchResponse(c.ID, c.changeSet, len(c.operations))
	written := make(map[string]bool, len(c.operations))
	for i, op := range c.operations {
		op.now = now
		at := now
		if in.SpreadTimes {
			at = now.Add(-time.Duration(i*37%101) * 100 * time.Microsecond)
		}
		r := c.executeOperation(i, at, written)
		if in.LastOperation != nil && i == len(c.operations)-1 {
			r = refuse(&odata.Failure{Failure: *in.LastOperation})
		}
		contentID := ""
		if id := op.Get("Content-Id"); c.changeSet && id != "0" {
			contentID = id
		}
		if r.failure != nil {
			c.store.rollback()
			failed := odata.NewBatchResponse(c.ID, c.changeSet, 1)
			failed.Body = op.appendFailedPart(failed.BeginPart(), r, i, c.changeSet, contentID, now)
			out := transactionResponse(failed)
			out.innerCode = r.failure.Code
			return out
		}
		parts.Body = r.appendPart(parts.BeginPart(), contentID)
	}
	return transactionResponse(parts)
}

// executeOperation executes operation i. written contains the row keys of the previous operations.
func (c *call) executeOperation(i int, now time.Time, written map[string]bool) *response {
	op := c.operations[i]
	a, f := op.entityAddress()
	switch {
	case op.refusal != nil:
		return refuse(op.refusal)
	case f != nil:
		return refuse(f)
	case i >= maxOperations:
		return refuse(errTooManyOperations)
	case !c.changeSet:
		return op.entityOperation(a, now)
	case op.Method == http.MethodGet:
		return refuse(odata.InvalidInput)
	}
	switch first, _ := c.operations[0].entityAddress(); {
	case first.pk != a.pk || !strings.EqualFold(first.resource, a.resource):
		return refuse(errPartitions)
	case written[a.rk] && op.Version < "2016-05-31":
		return refuse(odata.InvalidInput)
	case written[a.rk]:
		return refuse(errDuplicateRow)
	}
	written[a.rk] = true
	return op.entityOperation(a, now)
}

// appendFailedPart appends the response to a failed operation, whose text begins with the index of
// the operation.
func (op *call) appendFailedPart(b []byte, r *response, i int, changeSet bool, contentID string, now time.Time) []byte {
	r.writeError(op, now)
	prefix := ""
	if i > 0 || r.failure.AlwaysWithIndex || !changeSet {
		prefix = strconv.Itoa(min(i, maxOperations-1)) + ":"
	}
	r.body, r.preference = r.failure.JSON(prefix, op.ID, now), op.preference()
	if r.failure.NoPartHeader || op.Method == http.MethodDelete {
		r.preference = ""
	}
	return r.appendPart(b, contentID)
}

// transactionResponse returns the response to a transaction.
func transactionResponse(r *odata.BatchResponse) *response {
	body, contentType := r.End()
	return &response{status: http.StatusAccepted, body: body, contentType: contentType}
}
