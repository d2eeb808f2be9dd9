package engine

import (
	"context"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// readStored reads a row as it is stored, marked or not. A row that is not there is no error. 1 request.
func (t *Table) readStored(ctx context.Context, k keys.Key) (readResult, error) {
	r, in, f, err := t.openStored(ctx, k)
	if err != nil || r == nil {
		return f, err
	}
	return wholeRow(k, r, in)
}

// wholeRow returns the row of a reader, and releases the reader.
func wholeRow(k keys.Key, r *edm.Reader, in edm.Entity) (readResult, error) {
	defer r.Release()
	columns, err := r.Columns()
	if err != nil {
		return readResult{}, err
	}
	return readResult{row: &Row{Key: k, ETag: azcore.ETag(in.ETag), Timestamp: in.Timestamp, Columns: columns, JSON: in.JSON}}, nil
}

// openStored reads a row as it is stored.
func (t *Table) openStored(ctx context.Context, k keys.Key) (*edm.Reader, edm.Entity, readResult, error) {
	fail := func(err error) (*edm.Reader, edm.Entity, readResult, error) {
		return nil, edm.Entity{}, readResult{}, err
	}
	ctx, cancel := Bound(ctx, t.Options.ReadTimeout)
	defer cancel()
	var call wire.Call
	if err := t.requestRow(ctx, &call, k); err != nil {
		if known(err) == ErrNotFound {
			return nil, edm.Entity{}, readResult{gone: t.conditioned(ctx, err), hidden: hidden(&call, k)}, nil
		}
		return fail(t.conditioned(ctx, err))
	}
	body, err := call.Body()
	if err != nil {
		return fail(t.conditioned(ctx, err))
	}
	r := t.shared.shapes.Reader(body)
	in, err := r.One()
	if err == nil {
		err = checkKey(k, in)
	}
	if err != nil {
		return fail(err)
	}
	if in.ETag == "" {
		in.ETag = call.Header("ETag") // a service that sends it in the header alone
	}
	return r, in, readResult{}, nil
}

// requestRow sends the request for a row.
func (t *Table) requestRow(ctx context.Context, call *wire.Call, k keys.Key) (err error) {
	if t.tapped() {
		err = t.exchange(ctx, call, &wire.Request{Method: http.MethodGet, Target: wire.Row, PartitionKey: k.PartitionKey(), RowKey: k.RowKey()})
	} else {
		_, err = t.client.GetEntity(call.Read(ctx), k.PartitionKey(), k.RowKey(), nil)
	}
	t.responded(ctx, call)
	return checkRead(call, err)
}

// checkKey returns the error of a response that contains another row than the one that was asked for, such as the response of a
// proxy.
func checkKey(k keys.Key, in edm.Entity) error {
	if in.PartitionKey == k.PartitionKey() && in.RowKey == k.RowKey() {
		return nil
	}
	return &DecodeError{Reason: "it holds the row " + keys.Stored(in.PartitionKey, in.RowKey).String() + ", which was not asked for"}
}

// hidden reports whether a row could exist although the call has not found it, since the signature is for other rows.
func hidden(call *wire.Call, k keys.Key) bool {
	first, last, ranged := call.SignedRows()
	return ranged && (keys.Compare(k.RowKey(), first) < 0 || last != "" && keys.Compare(k.RowKey(), last) > 0)
}
