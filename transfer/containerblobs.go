package transfer

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// metaSum is the metadata with the hash of a large value, as package largeentity stores it.
const metaSum = "Sha256"

// blockSize is how much of a blob a request reads or stores.
const blockSize = 8 << 20

// mostBlob is the length of a blob of 50,000 blocks of 100 MiB: more than a table's value has, and
// what a buffer may be large for.
const mostBlob = 50_000 * 100 << 20

// blocks returns the length of the blocks of a blob, which has 50,000 at most.
func (b *link) blocks() int64 { return max(blockSize, (b.size+49_999)/50_000) }

// has implements Place.
func (f *blobFolder) has(ctx context.Context, b *link) (is bool, err error) {
	if f.fault != nil {
		return false, f.fault
	}
	err = engine.Retry(f.opt.Retry).Endure(ctx, engine.Log{}, func() (err error) {
		is, err = f.hasOnce(ctx, b)
		return err
	})
	return is, err
}

// hasOnce is has by one request.
func (f *blobFolder) hasOnce(ctx context.Context, b *link) (bool, error) {
	ctx, cancel := engine.Bound(ctx, f.opt.ReadTimeout)
	defer cancel()
	var call wire.Call
	resp, err := f.container.NewBlobClient(f.name(b.name)).GetProperties(call.Read(ctx), nil)
	err = blobs.CheckLength(&call, resp.ContentLength, call.CheckWrite(string(blobs.Deref(resp.ETag)), err))
	switch {
	case blobs.IsGone(err):
		return false, nil
	case err != nil:
		return false, f.refusal(&call, err)
	}
	sum := ""
	for key, value := range resp.Metadata { // HTTP does not keep the case of names
		if strings.EqualFold(key, metaSum) {
			sum = blobs.Deref(value)
		}
	}
	return *resp.ContentLength == b.size && (sum == "" || sum == b.sum), nil
}

// open implements Place.
func (f *blobFolder) open(ctx context.Context, b *link) (io.ReadCloser, error) {
	if f.fault != nil {
		return nil, f.fault
	}
	r := &blobReader{ctx: ctx, of: f, blob: b}
	return r, r.next()
}

// blobReader reads a blob block by block.
type blobReader struct {
	ctx   context.Context
	of    *blobFolder
	blob  *link
	block []byte // what is left of the last one
	at    int64  // the end of the last one
}

// Close implements io.Closer.
func (r *blobReader) Close() error { return nil }

// Read implements io.Reader.
func (r *blobReader) Read(p []byte) (n int, err error) {
	if len(r.block) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
		if len(r.block) == 0 {
			return 0, io.EOF
		}
	}
	n = copy(p, r.block)
	r.block = r.block[n:]
	return n, nil
}

// next reads a block, none at the end.
func (r *blobReader) next() error {
	if r.at > 0 && r.at >= r.blob.size {
		return nil
	}
	length := min(r.blob.blocks(), r.blob.size-r.at)
	most := length
	if r.at+length == r.blob.size {
		most++ // a longer blob shows
	}
	b, err := r.of.read(r.ctx, r.blob.name, blob.HTTPRange{Offset: r.at, Count: most}, most)
	if bloberror.HasCode(err, bloberror.InvalidRange) { // it is shorter
		err = nil
	}
	r.block, r.at = b, r.at+length
	return err
}

// create implements Place.
func (f *blobFolder) create(ctx context.Context, b *link, r io.Reader) error {
	if f.fault != nil {
		return f.fault
	}
	c := f.container.NewBlockBlobClient(f.name(b.name))
	headers, metadata := &blob.HTTPHeaders{BlobContentType: &b.contentType}, map[string]*string{metaSum: &b.sum}
	var buffer bytes.Buffer // it grows with what is read: the length may be forged
	var ids []string
	copied := rand.Text()[:8] // two copies at once do not share blocks
	for {
		buffer.Reset()
		_, err := io.CopyN(&buffer, r, b.blocks())
		ended := err == io.EOF
		if err != nil && !ended {
			return err
		}
		block, n := buffer.Bytes(), buffer.Len()
		if ended && len(ids) == 0 {
			err := f.write(ctx, n, func(ctx context.Context) error {
				_, err := c.Upload(ctx, streaming.NopCloser(bytes.NewReader(block)), &blockblob.UploadOptions{HTTPHeaders: headers, Metadata: metadata, AccessConditions: blobs.IfNew()})
				return err
			})
			return f.created(ctx, b, err)
		}
		if n > 0 {
			ids = append(ids, base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s%08d", copied, len(ids))))
			err := f.write(ctx, n, func(ctx context.Context) error {
				_, err := c.StageBlock(ctx, ids[len(ids)-1], streaming.NopCloser(bytes.NewReader(block)), nil)
				return err
			})
			if err != nil {
				return err
			}
		}
		if !ended {
			continue
		}
		err = f.write(ctx, 0, func(ctx context.Context) error {
			_, err := c.CommitBlockList(ctx, ids, &blockblob.CommitBlockListOptions{HTTPHeaders: headers, Metadata: metadata, AccessConditions: blobs.IfNew()})
			return err
		})
		return f.created(ctx, b, err)
	}
}

// created returns the outcome of a request that creates a blob. If there is one, an earlier attempt
// has stored it, or another process.
func (f *blobFolder) created(ctx context.Context, b *link, err error) error {
	if !bloberror.HasCode(err, bloberror.BlobAlreadyExists, bloberror.ConditionNotMet) {
		return err
	}
	same, err := f.has(ctx, b)
	if err == nil && !same {
		err = table.ErrAltered
	}
	return err
}
