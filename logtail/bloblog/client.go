package bloblog

import (
	"bytes"
	"context"
	"io"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// client sends the requests of writers. It sends a write once: the SDK would repeat an append after a lost response.
type client struct {
	container *container.Client
	opt       engine.Options
}

// result is what is known of a write after its request.
type result struct {
	outcome wire.Outcome
	etag    azcore.ETag // of the blob, if the outcome is wire.Done
	err     error       // of the service or the transport
	shown   error       // err, as callers get it if nothing was changed
}

func (c client) result(call *wire.Call, etag *azcore.ETag, err error) result {
	r := result{err: call.CheckWrite(string(blobs.Deref(etag)), err)}
	if r.outcome = call.Outcome(r.err); r.outcome == wire.Done {
		r.etag = *etag
		return r
	}
	r.shown = refusal(call, r.err)
	return r
}

// create creates an empty blob, unless one has the name.
func (c client) create(ctx context.Context, n name, metadata map[string]*string) result {
	var call wire.Call
	resp, err := c.blob(n).Create(c.write(ctx, &call), &appendblob.CreateOptions{
		Metadata:         metadata,
		HTTPHeaders:      &blob.HTTPHeaders{BlobContentType: to.Ptr("text/plain; charset=utf-8")},
		AccessConditions: blobs.IfNew(),
	})
	return c.result(&call, resp.ETag, err)
}

// append stores a block at a position, if the blob ends there and has the ETag. A request that arrives late, when the writer has
// given it up, therefore changes nothing that the writer relies on.
func (c client) append(ctx context.Context, n name, data []byte, position int64, etag azcore.ETag) result {
	var call wire.Call
	resp, err := c.blob(n).AppendBlock(c.write(ctx, &call), streaming.NopCloser(bytes.NewReader(data)), &appendblob.AppendBlockOptions{
		AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: &position},
		AccessConditions:               blobs.IfMatch(etag),
	})
	return c.result(&call, resp.ETag, err)
}

// setMetadata replaces the metadata of a blob that has the ETag.
func (c client) setMetadata(ctx context.Context, n name, metadata map[string]*string, etag azcore.ETag) result {
	var call wire.Call
	resp, err := c.blob(n).SetMetadata(c.write(ctx, &call), metadata, &blob.SetMetadataOptions{AccessConditions: blobs.IfMatch(etag)})
	return c.result(&call, resp.ETag, err)
}

// properties are those of a stored blob.
type properties struct {
	length int64
	etag   azcore.ETag
	writer string // of the metadata; "" if there is none
}

// properties returns the properties of a blob, for a writer. err is the service's error or that of the transport; shown is what callers get.
func (c client) properties(ctx context.Context, n name) (p properties, shown, err error) {
	ctx, cancel := engine.Bound(ctx, c.opt.Retry.AttemptTimeout)
	defer cancel()
	var call wire.Call
	resp, err := c.blob(n).GetProperties(call.Read(ctx), nil)
	if err = blobs.CheckLength(&call, resp.ContentLength, call.CheckWrite(string(blobs.Deref(resp.ETag)), err)); err != nil {
		return p, refusal(&call, err), err
	}
	return properties{*resp.ContentLength, *resp.ETag, parseMetadata(resp.Metadata).writer}, nil, nil
}

// contains reports whether a blob contains data at a position, for a writer.
func (c client) contains(ctx context.Context, n name, data []byte, position int64) (_ bool, shown, err error) {
	ctx, cancel := engine.Bound(ctx, c.opt.Retry.AttemptTimeout)
	defer cancel()
	var call wire.Call
	resp, err := c.blob(n).DownloadStream(call.Read(ctx), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: position, Count: int64(len(data))}})
	if err = call.Check(err); err != nil {
		return false, refusal(&call, err), err
	}
	defer resp.Body.Close()
	part := make([]byte, 32<<10)
	for len(data) > 0 {
		read, err := io.ReadFull(resp.Body, part[:min(len(part), len(data))])
		if err != nil {
			return false, refusal(&call, err), err
		}
		if !bytes.Equal(part[:read], data[:read]) {
			return false, nil, nil
		}
		data = data[read:]
	}
	return true, nil, nil
}

func (c client) blob(n name) *appendblob.Client { return c.container.NewAppendBlobClient(n.String()) }

func (c client) write(ctx context.Context, call *wire.Call) context.Context {
	return blobs.Write(ctx, call, c.opt.Retry.AttemptTimeout)
}
