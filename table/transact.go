package table

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/engine"
)

// Receipt is the result of a transaction.
type Receipt struct {
	ETags []azcore.ETag // of the rows, in the order of the operations; "" for those that were deleted

	stored []entity
}

// String returns the ETags, for programs that print a receipt.
func (r Receipt) String() string { return fmt.Sprintf("%q", r.ETags) }

// Stored returns the entity that operation i of a transaction has stored or changed. It is nil for
// a delete, a merge by key, or an operation of another type.
func Stored[T any](r *Receipt, i int) *Entity[T] {
	if r == nil || i < 0 || i >= len(r.stored) {
		return nil
	}
	e, _ := r.stored[i].(*Entity[T])
	return e
}

// Transact applies all operations or none: an entity group transaction. The operations may be of
// several types, in one partition of one table, each row once, at most 100 operations and 4 MiB.
// Their entities are renewed if the transaction succeeds, and unchanged if it fails.
//
//	table.Transact(ctx, staff.ReplaceOp(e), reviews.InsertOp(&r))
//
// Errors:
//   - *BatchError for a refused operation, whether a check or the service refused it, around
//     ErrExists, ErrChanged, ErrNotFound, *ValueError, or the error that the operation's own method
//     would return
//   - *LimitError for a transaction that is empty or too large
//   - the other errors of a write (see package table), such as ErrUnknownOutcome, after which the
//     entities cannot be used until they are read again
//
// The size is that of the request body. Clients made with [ClientOptions] count it to the byte
// before it is sent; with other clients, the service refuses the few transactions that are too
// large although their entities are not. 1 request. If a row exists or has changed, 1 more:
// Transact reads the row, because the network may have delivered the request twice.
func Transact(ctx context.Context, ops ...Op) (*Receipt, error) {
	sent := make([]*engine.Op, len(ops))
	r := &Receipt{stored: make([]entity, len(ops))}
	for i := range ops {
		sent[i], r.stored[i] = ops[i].engine(), ops[i].stored()
	}
	var err error
	if r.ETags, err = engine.Transact(ctx, sent); err != nil {
		return nil, err
	}
	return r, nil
}
