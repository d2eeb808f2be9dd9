package engine

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// WriteRow stores a derived row outside the transaction of its entity, in place of the version that has the ETag was, or as a new
// row if was is "". An operation ID is stored as it is, since that of a full copy is its entity's. Without an operation ID of its
// own, a write whose response is lost fails with ErrUnknownOutcome. 1 request.
func (t *Table) WriteRow(ctx context.Context, method string, r *Row, was azcore.ETag) error {
	op := Op{Table: t.Plain(), Method: method, Kind: aztables.TransactionTypeUpdateReplace, Key: r.Key, Match: was}
	if was == "" {
		op.Kind = aztables.TransactionTypeAdd
	}
	w := edm.NewWriter(r.Key.PartitionKey(), r.Key.RowKey(), len(r.Columns))
	for _, c := range Without(r.Columns, reserved.Incarnation, reserved.MaintainerState, reserved.Parts) {
		w.Put(c.Name, c.Value)
	}
	op.Body, op.Err = w.Finish()
	return op.Send(ctx)
}
