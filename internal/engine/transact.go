package engine

import (
	"context"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
)

// Transact applies operations, all or none of them; see table.Transact.
func Transact(ctx context.Context, ops []*Op) ([]azcore.ETag, error) {
	if len(ops) == 0 || len(ops) > maxOperations {
		return nil, &errs.OpError{Op: "Transact", Err: &errs.LimitError{Limit: "operations of a transaction; the service requires 1 to 100", Got: len(ops), Max: maxOperations}}
	}
	if err := checkTogether(ops); err != nil {
		return nil, ops[0].Table.OpError("Transact", keys.Key{}, err)
	}
	return Commit(ctx, "Transact", keys.Key{}, ops)
}

// Move says that the writes of a handle move entities between the table and another place.
type Move struct {
	Away     bool   // deletes: the entity is stored in the other place
	Restored string // inserts: the incarnation that comes back from the other place
	Renewed  string // updates: the incarnation in whose place the entity gets a new one
}

// MoveAcross deletes a row and inserts one in another partition or table, both or none.
func MoveAcross(ctx context.Context, method string, remove, insert *Op) error {
	w := write{table: remove.Table, method: method, ops: []*Op{remove}, moved: []*Op{insert}}
	_, err := w.execute(ctx, remove.Key)
	return err
}

// Commit applies operations, all or none of them.
func Commit(ctx context.Context, method string, k keys.Key, ops []*Op) ([]azcore.ETag, error) {
	w := write{table: ops[0].Table, method: method, ops: ops, asTransaction: true}
	return w.execute(ctx, k)
}

// commitSome is Commit for the first of the operations: as many as fit into one transaction with what their maintainers derive. n
// is their number. pass is asked about each operation that cannot be planned, by its index among those that are left: true leaves
// it out. ahead may contain rows that were read ahead, and takes rows for the operations behind the first ones. meanwhile is called
// with these operations when the transaction is about to be sent. The notification goes to showing.
func commitSome(ctx context.Context, method string, ops []*Op, ahead *aheadRows, showing *showing, meanwhile func(later []*Op), pass func(i int, err error) bool) (n int, err error) {
	w := write{table: ops[0].Table, method: method, ops: ops, asTransaction: true, skip: pass, ahead: ahead, showing: showing}
	w.meanwhile = func() { meanwhile(w.later) }
	ahead.used = nil
	ahead.writes++
	w.mayDropTail = w.table.Mode.Completes == nil // a completion is of one write
	if _, err = w.execute(ctx, keys.Key{}); errors.Is(err, errNothing) {
		return 0, nil
	}
	return len(w.ops), err
}

// Send sends a write on its own.
func (op *Op) Send(ctx context.Context) error {
	if err := op.Usable(); err != nil {
		return op.Table.OpError(op.Method, op.Key, err)
	}
	w := write{table: op.Table, method: op.Method, ops: []*Op{op}}
	_, err := w.execute(ctx, op.Key)
	return err
}
