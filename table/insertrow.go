package table

import (
	"context"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// InsertRow stores a row as a new entity; see engine.Schema.
func (s *shape) InsertRow(ctx context.Context, t *engine.Table, k keys.Key, r *engine.Row) (any, error) {
	op := handle{t, s}.insertRow(k, rowOf(r))
	if err := op.send(ctx); err != nil {
		return nil, err
	}
	return op.stored, nil
}

func (h handle) insertRow(k keys.Key, r *Row) Op {
	op := h.begin("InsertRow", aztables.TransactionTypeAdd, k)
	switch {
	case strings.HasPrefix(k.RowKey(), reserved.First):
		op.op.Err = keys.Raw(k.RowKey()).Err()
	case r == nil || k.Err() != nil:
		op.op.Err = either(k.Err(), errNil)
	default:
		op.stored, op.op.Body, op.op.Err = h.rowToInsert(k, r)
	}
	if op.op.Err != nil {
		return op
	}
	op.op.Known = true
	op.op.Target = &target{parts: op.stored.parts(), use: makesEntity}
	return op.maintained()
}
