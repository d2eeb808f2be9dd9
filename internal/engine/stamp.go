package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// A partition of a table with stamps has a row that each transaction of entities stores again,
// whatever it is. So nothing was written between two reads of the row if they found it with one
// ETag. It is stored without a condition: writers of a partition do not refuse each other because
// of it.

func stampKey(partition string) keys.Key { return keys.Raw(partition, reserved.Stamp) }

// Stamp returns what changes with each transaction of entities in a partition, "" if nothing says
// so: there was none since the table has stamps, or the client may not see the row. Requests: 1.
func (t *Table) Stamp(ctx context.Context, method, partition string) (string, error) {
	r, err := t.GetReserved(ctx, method, stampKey(partition))
	if err != nil || r.Hidden || r.Row == nil {
		return "", err
	}
	return fmt.Sprintf("%s %v", r.Row.ETag, stored.Find(r.Row.Columns(), reserved.OperationID)), nil
}

// stamps reports whether the transaction of the write stores the stamp of its partition.
func (w *write) stamps() bool {
	return slices.ContainsFunc(w.ops, func(op *Op) bool { return w.keepsStamps(op.Table) })
}

// keepsStamps reports whether writes keep the stamps of a table now.
func (w *write) keepsStamps(t *Table) bool {
	if t.Mode.Stamps == "" {
		return false
	}
	i := slices.IndexFunc(w.leases, func(held heldLease) bool { return held.guard == t.Mode.Guard })
	return i < 0 || w.leases[i].Keeps(t.Mode.Stamps)
}

// stamped returns the steps of a transaction with an operation ID, and that of the stamp of their
// partition.
func (t *Table) stamped(steps []step, id string) ([]step, error) {
	s, err := libraryStep(t, aztables.TransactionTypeInsertReplace, stampKey(steps[0].Key.PartitionKey()), "", nil)
	s.StoresID = true
	s.shared = errStampRefused
	stamp := []step{s}
	withID(stamp, id)
	return append(steps[:len(steps):len(steps)], stamp...), err
}

var errStampRefused = errors.New("other transactions store the stamp of the partition at the same time, again and again")
