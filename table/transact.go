package table

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/engine"
)

// Receipt is what a transaction has stored.
type Receipt struct {
	ETags []azcore.ETag // of the rows, in the order of the operations; "" for those that were deleted

	stored []entity
}

// Stored returns the entity that operation i of a transaction has stored or changed. It is nil for a delete, a
// merge by key, or an operation of another type.
func Stored[T any](r *Receipt, i int) *Entity[T] {
	if r == nil || i < 0 || i >= len(r.stored) {
		return nil
	}
	e, _ := r.stored[i].(*Entity[T])
	return e
}

// Transact does all operations or none: an entity group transaction. They may be of several types, in one partition of one
// table, each row once, at most 100 and 4 MiB. Entities that they were made of are renewed when it succeeds and stay as they
// are when it fails. 1 request, and 1 more where a row exists or has changed, to see that this was not its own work.
//
//	table.Transact(ctx, staff.ReplaceOp(e), reviews.InsertOp(&r))
//
// Errors: *BatchError for an operation that was refused, by a check or by the service, with ErrExists, ErrChanged,
// ErrNotFound, ErrDuplicateRow, ErrOtherPartition, ErrOtherTable and all errors of the single verbs in it; *LimitError for
// a transaction that is empty or too large; ErrUnknownOutcome, after which its entities cannot be used until they are read
// again. The size is that of the request body, which on clients made with [ClientOptions] is counted to the byte before it
// is sent; on others the few transactions that pass the check by their entities alone are refused by the service.
func Transact(ctx context.Context, ops ...Op) (*Receipt, error) {
	plain := make([]engine.Op, len(ops))
	r := &Receipt{stored: make([]entity, len(ops))}
	for i := range ops {
		plain[i], r.stored[i] = ops[i].op, ops[i].stored
	}
	var err error
	if r.ETags, err = engine.Transact(ctx, plain); err != nil {
		return nil, public(err)
	}
	return r, nil
}
