package engine

import (
	"cmp"
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// RawRow is a row to store as it is, with the library's properties.
type RawRow struct {
	Kind  aztables.TransactionType
	Body  edm.Body
	Match azcore.ETag // "" for an insert or upsert
}

// StoreRaw stores rows of one partition in one transaction, whatever the definitions of the table.
// It repeats a request whose outcome is unknown, so an insert may be refused because the first
// request has stored the row. failed is the row that was refused, -1 for none. Errors: errors of a
// write (see package table). Requests: 1.
func (t *Table) StoreRaw(ctx context.Context, method string, rows []RawRow) (failed int, err error) {
	if len(rows) == 0 {
		return -1, nil
	}
	key := func(r *RawRow) keys.Key { return keys.Raw(r.Body.PartitionKey, r.Body.RowKey) }
	if err := cmp.Or(t.Fault, t.readOnly()); err != nil {
		return -1, err
	}
	ctx, cancel := Bound(ctx, Retry(t.Options.Retry).Timeout(ctx, t.Options.WriteTimeout))
	defer cancel()
	steps := make([]step, len(rows))
	for i := range rows {
		r := &rows[i]
		steps[i] = step{Op: &Op{Table: t, Method: method, Kind: r.Kind, Key: key(r), Match: r.Match, Body: r.Body}, opIndex: i}
	}
	if err := sized(steps, 0); err != nil {
		return -1, err
	}
	tries := attempts{retry: Retry(t.Options.Retry), log: t.Log(method, key(&rows[0]))}
	for {
		_, failed, verdict, err := t.transact(ctx, steps)
		switch {
		case verdict == wire.Done:
			answered(ctx)
			return -1, nil
		case verdict == wire.Refused:
			answered(ctx)
			return failed, err
		case !tries.wait(ctx, err):
			return -1, t.conditioned(ctx, err)
		}
	}
}
