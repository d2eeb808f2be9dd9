package table

import (
	"context"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// superseded stands for the ETag of a version that was overwritten before anybody learned it. It fits no row.
const superseded = azcore.ETag(`W/"datetime'1601-01-01T00%3A00%3A00Z'"`)

// witnesses is how many rows are asked at most about a write that is in doubt.
const maxReadBacks = 10

// ours tells whether the write was done: whether any of its rows carries its name, the one that was refused before the others;
// rows that are deleted say nothing. At most so many are asked. If so, the caller's other rows are read for their ETags.
func (w *write) readBack(ctx context.Context, failed, most int) (etags []azcore.ETag, ours bool, err error) {
	var order []int
	for i, op := range w.steps {
		switch {
		case op.marked && i == failed:
			order = slices.Insert(order, 0, i)
		case op.marked:
			order = append(order, i)
		}
	}
	at, etag := -1, azcore.ETag("")
	for _, i := range order[:min(len(order), most)] {
		if etag, ours, err = w.readBackRow(ctx, w.steps[i]); err != nil {
			return nil, false, err
		}
		if at = i; ours {
			break
		}
	}
	if !ours {
		return nil, false, nil
	}
	return w.etags(ctx, at, etag), true, nil
}

// etags reads the ETags of the caller's rows after the write was done, but for one step's that is known.
func (w *write) etags(ctx context.Context, known int, etag azcore.ETag) []azcore.ETag {
	etags := make([]azcore.ETag, len(w.steps))
	for i, op := range w.steps {
		switch {
		case i == known:
			etags[i] = etag
		case op.kind == aztables.TransactionTypeDelete, op.caller < 0, op.derived != nil:
		default:
			var err error
			if etags[i], _, err = w.readBackRow(ctx, op); err != nil || etags[i] == "" {
				etags[i] = superseded
			}
		}
	}
	return etags
}

// carried reads a row and reports whether it carries the write's operation ID. A missing row does not. The ETag is that of the
// version that the write stored, or superseded if the row is another version by now, or may be one: the caller's next write by that
// ETag must not overwrite content that nobody has shown to the caller. If the stored content is not known, as after a merge into a
// row that was not read, the operation ID decides, with the columns that the write sent.
func (w *write) readBackRow(ctx context.Context, op Op) (etag azcore.ETag, ours bool, err error) {
	f, err := w.find(ctx, op.key)
	if err != nil || f.row == nil {
		return "", false, err
	}
	name, _ := f.row.Get(reserved.OperationID)
	ours = name == w.id
	var left []byte
	if op.left != nil {
		left = op.left(op.body)
	}
	same := left != nil && sameRow(left, f.row.columns) || left == nil && ours && holds(f.row.columns, op.body)
	if !same {
		return superseded, ours, nil
	}
	return f.row.ETag, ours, nil
}

// find is core.find for a write, whose time a throttled read may take.
func (w *write) find(ctx context.Context, k keys.Key) (f found, err error) {
	f, err = w.core.find(ctx, k)
	for tries := (attempts{retry: w.core.opt.Retry}); tries.busyAgain(ctx, err); {
		f, err = w.core.find(ctx, k)
	}
	return f, err
}

// find reads a row of any type by its key. 1 request. A row that is not there is no error.
func (c *core) find(ctx context.Context, k keys.Key) (found, error) {
	ctx, cancel := bound(ctx, c.opt.ReadTimeout)
	defer cancel()
	var call wire.Call
	resp, err := c.client.GetEntity(call.Read(ctx), k.PartitionKey(), k.RowKey(), nil)
	if err = call.Check(err); err != nil {
		if known(err) == ErrNotFound {
			return found{gone: conditioned(ctx, err), hidden: hidden(&call, k)}, nil
		}
		return found{}, conditioned(ctx, unreadable(&call, err))
	}
	body, err := call.Body()
	if err != nil {
		return found{}, err
	}
	r := edm.NewReader(body)
	in, err := r.One()
	if err == nil {
		err = asked(k, in)
	}
	if err != nil {
		return found{}, err
	}
	if in.ETag == "" {
		in.ETag = string(resp.ETag)
	}
	columns, err := r.Columns()
	if err != nil {
		return found{}, err
	}
	return found{row: &Row{Key: k, ETag: azcore.ETag(in.ETag), Timestamp: in.Timestamp, columns: columns}, raw: in.Raw}, nil
}

// sameRow reports whether a row that was read holds what was written, and nothing else.
func sameRow(written []byte, read []edm.Column) bool {
	wrote, err := columnsOf(written)
	return err == nil && len(wrote) == len(read) && holds(read, written)
}

// holds reports whether a row that was read holds each column that was written.
func holds(read []edm.Column, written []byte) bool {
	wrote, err := columnsOf(written)
	return err == nil && !slices.ContainsFunc(wrote, func(c edm.Column) bool { return !slices.ContainsFunc(read, c.Same) })
}
