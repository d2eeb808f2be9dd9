// Package work is what a store keeps beside its tables, in a small table of its own: notes of the
// partitions in which commit records may be, and the row that says when the work of each day is
// due. docs/protocols.md describes both protocols.
package work

import (
	"context"
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
)

// Table is the table of a store's work. It is safe for concurrent use.
type Table struct {
	rows  *engine.Table
	notes memory
}

// New returns the table of a name. It sends nothing. Errors: *errs.ValueError if the options make
// no IDs.
func New(service engine.Service, name string, o engine.Options) (*Table, error) {
	rows, err := engine.New(service, name, o)
	if err != nil {
		return nil, err
	}
	rows.Made = "Store.Ensure"
	return &Table{rows: rows.LibraryHandle()}, nil
}

// Name returns the name of the table in the account.
func (t *Table) Name() string { return t.rows.Name }

// Now returns the time by the clock of the program.
func (t *Table) Now() time.Time { return t.rows.Options.Now() }

// Ensure creates the table unless it exists. 1 request.
func (t *Table) Ensure(ctx context.Context) error { return t.rows.Ensure(ctx) }

// send sends an operation on a row, and returns the new ETag. match is the ETag that the row must
// have, "" for a row that is replaced whatever it contains. 1 request.
func (t *Table) send(ctx context.Context, method string, kind aztables.TransactionType, k keys.Key, match azcore.ETag, columns ...edm.Column) (azcore.ETag, error) {
	w := edm.NewWriter(k.PartitionKey(), k.RowKey(), len(columns))
	for _, c := range columns {
		w.Put(c.Name, c.Value)
	}
	var to written
	op := &engine.Op{Table: t.rows, Method: method, Kind: kind, Key: k, Match: match, Target: &to}
	op.Body, op.Err = w.Finish()
	err := op.Send(ctx)
	return to.etag, err
}

// delete deletes a row by its ETag, unless it is gone or changed. 1 request.
func (t *Table) delete(ctx context.Context, method string, k keys.Key, match azcore.ETag) error {
	op := &engine.Op{Table: t.rows, Method: method, Kind: aztables.TransactionTypeDelete, Key: k, Match: match}
	err := op.Send(ctx)
	if errors.Is(err, errs.ErrChanged) || errors.Is(err, errs.ErrNotFound) && !errors.Is(err, errs.ErrTableNotFound) {
		return nil
	}
	return err
}

// written is the ETag of a row that was written.
type written struct{ etag azcore.ETag }

// Usable implements engine.Target.
func (*written) Usable() error { return nil }

// Applied implements engine.Target.
func (w *written) Applied(etag azcore.ETag, _ edm.Stored) { w.etag = etag }

// SetInDoubt implements engine.Target.
func (*written) SetInDoubt(bool) {}

func text(name, s string) edm.Column {
	return edm.Column{Name: name, Value: edm.Value{Kind: edm.String, S: s}}
}

func moment(name string, t time.Time) edm.Column {
	return edm.Column{Name: name, Value: edm.Value{Kind: edm.DateTime, T: t.UTC()}}
}
