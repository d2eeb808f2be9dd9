package engine

import (
	"context"
	"errors"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// readRow reads the row under a key. A row that is not there is no error. 1 request.
func (t *Table) readRow(ctx context.Context, k keys.Key) (readResult, error) {
	r, in, f, err := t.openRow(ctx, k)
	if err != nil || r == nil {
		return f, err
	}
	return wholeRow(k, r, in)
}

// openRow is every read of one row, but for those of resolvers. The reader is nil if there is no row. If a write over several
// partitions has prepared the row, openRow ends that write and reads again. So no program waits for one that has crashed.
func (t *Table) openRow(ctx context.Context, k keys.Key) (*edm.Reader, edm.Entity, readResult, error) {
	void := "" // the operation ID of a write that has ended, whose mark another program has written back
	for n := range mostResolutions {
		r, in, f, err := t.openStored(ctx, k)
		if err != nil || r == nil {
			return r, in, f, err
		}
		text, err := r.Property(markProperty)
		m, marked := markOf(text)
		if err != nil || !marked {
			return r, in, f, err
		}
		columns, err := r.Columns()
		if err != nil {
			return nil, in, f, err
		}
		if m.id == void {
			return viewed(in, unmarked(columns), true)
		}
		ended, err := t.resolve(ctx, k, m, n)
		switch {
		case isDamage(err): // the row is as it was before the mark
			return viewed(in, unmarked(columns), m.existed())
		case mayNotWrite(err):
			return t.viewRow(ctx, k)
		case err != nil:
			return nil, in, f, err
		case ended:
			void = m.id
		}
	}
	return nil, edm.Entity{}, readResult{}, &Condition{ErrContended, errPrepared}
}

// viewRow reads a row as it is committed, by a query, and writes nothing.
func (t *Table) viewRow(ctx context.Context, k keys.Key) (r *edm.Reader, in edm.Entity, f readResult, err error) {
	f.gone = &Condition{ErrNotFound, errNoRow}
	err = t.eachPhysical(ctx, rowsFilter(k.PartitionKey(), k.RowKey(), k.RowKey()), "", func(found edm.Entity, columns []edm.Column) bool {
		r, in, f, _ = viewed(found, columns, true)
		return false
	})
	return r, in, f, err
}

// viewed is what openRow returns for a row that is read otherwise than it is stored.
func viewed(in edm.Entity, columns []edm.Column, exists bool) (*edm.Reader, edm.Entity, readResult, error) {
	if !exists {
		return nil, edm.Entity{}, readResult{gone: &Condition{ErrNotFound, errNoRow}}, nil
	}
	in.JSON, in.Columns = edm.JSON{}, columns
	return edm.ReadColumns(in, columns), in, readResult{}, nil
}

// withReadHint is the error of a write that could not read its row first. A caller that may write and not read gets a way out.
func withReadHint(err error, must bool) error {
	var re *azcore.ResponseError
	if must || !errors.As(err, &re) || re.StatusCode != http.StatusForbidden {
		return err
	}
	return &Condition{errMayNotRead, err}
}

var errMayNotRead = errors.New("the row must be read before it is written, and this client may not read it; set Options.BlindWrites if the table's rows have no derived rows")

var errNoRow = errors.New("the query for the entity and its parts returned no row")
