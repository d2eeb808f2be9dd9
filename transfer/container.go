package transfer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// Container returns a folder of a blob container: the blobs whose names begin with prefix and a
// slash, or with no prefix if it is "". The container must exist; a nil client is an error of the
// functions that get the place. The manifest is an append blob, so any number of machines may
// export at the same time. o may be nil.
func Container(c *container.Client, prefix string, o *table.Common) Place {
	if o == nil {
		o = &table.Common{}
	}
	fault := engine.CheckClient("c", "container", c, c == nil)
	return &blobFolder{container: c, prefix: strings.Trim(prefix, "/"), fault: fault, opt: engine.WithDefaults(*o)}
}

type blobFolder struct {
	container *container.Client
	prefix    string
	fault     error // of the client
	opt       engine.Options
	manifest  atomic.Bool // the manifest was seen
}

func (f *blobFolder) name(name string) string {
	if f.prefix == "" {
		return name
	}
	return f.prefix + "/" + name
}

// String returns the names of the container and of the folder. The address may contain a signature.
func (f *blobFolder) String() string {
	if f.fault != nil {
		return f.name("")
	}
	name, _ := engine.ClientName(f.container)
	return strings.TrimSuffix(name+"/"+f.prefix, "/")
}

func (f *blobFolder) refusal(call *wire.Call, err error) error {
	return blobs.Refusal(call, err, errs.With(errs.ErrContainerNotFound, table.ErrUnreachable), "container.Client.Create")
}

// slowest is the bytes of a second below which a connection counts as broken.
const slowest = 50_000

// longer returns a timeout for a request that has so much to send; a negative one is none.
func longer(timeout, more time.Duration) time.Duration {
	if timeout < 0 {
		return timeout
	}
	return timeout + more
}

// write repeats a request that changes something until it succeeds; the request must be safe to
// repeat. size is what it sends.
func (f *blobFolder) write(ctx context.Context, size int, send func(context.Context) error) error {
	more := time.Duration(size) * time.Second / slowest
	ctx, cancel := engine.Bound(ctx, longer(engine.Retry(f.opt.Retry).Timeout(ctx, f.opt.WriteTimeout), 3*more))
	defer cancel()
	return engine.Retry(f.opt.Retry).Repeat(ctx, engine.Log{}, func() (again bool, err error) {
		var call wire.Call
		if err = call.Check(send(blobs.Write(ctx, &call, longer(f.opt.Retry.AttemptTimeout, more)))); err == nil {
			return false, nil
		}
		return call.Outcome(err) != wire.Refused, f.refusal(&call, err)
	})
}

func (f *blobFolder) put(ctx context.Context, name string, content []byte) error {
	c := f.container.NewBlockBlobClient(f.name(name))
	return f.write(ctx, len(content), func(ctx context.Context) error {
		_, err := c.Upload(ctx, streaming.NopCloser(bytes.NewReader(content)), &blockblob.UploadOptions{HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("application/gzip")}})
		return err
	})
}

// add adds a line. After a lost response the line may be there twice, which readers of a manifest
// pass over.
func (f *blobFolder) add(ctx context.Context, name string, line []byte) error {
	c := f.container.NewAppendBlobClient(f.name(name))
	add := func(ctx context.Context) error {
		_, err := c.AppendBlock(ctx, streaming.NopCloser(bytes.NewReader(line)), nil)
		return err
	}
	if f.manifest.Load() {
		return f.write(ctx, len(line), add)
	}
	err := f.write(ctx, 0, func(ctx context.Context) error {
		_, err := c.Create(ctx, &appendblob.CreateOptions{HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("application/x-ndjson")}, AccessConditions: blobs.IfNew()})
		return err
	})
	if err != nil && !bloberror.HasCode(err, bloberror.BlobAlreadyExists, bloberror.ConditionNotMet) {
		return err
	}
	f.manifest.Store(true)
	return f.write(ctx, len(line), add)
}

func (f *blobFolder) get(ctx context.Context, name string, most int64) ([]byte, error) {
	return f.read(ctx, name, blob.HTTPRange{}, most)
}

// read reads a part of a blob, all of it by the zero range.
func (f *blobFolder) read(ctx context.Context, name string, part blob.HTTPRange, most int64) (b []byte, err error) {
	if f.fault != nil {
		return nil, f.fault
	}
	err = engine.Retry(f.opt.Retry).Repeat(ctx, engine.Log{}, func() (again bool, err error) {
		err = engine.Retry(f.opt.Retry).Endure(ctx, engine.Log{}, func() (err error) {
			b, again, err = f.readOnce(ctx, name, part, most)
			return err
		})
		return again && ctx.Err() == nil, err
	})
	return b, err
}

// readOnce makes one attempt. again reports whether the response was cut; the SDK repeats other
// requests.
func (f *blobFolder) readOnce(ctx context.Context, name string, part blob.HTTPRange, most int64) (b []byte, again bool, err error) {
	ctx, cancel := engine.Bound(ctx, 10*f.opt.ReadTimeout) // of up to some hundred megabytes
	defer cancel()
	var call wire.Call
	resp, err := f.container.NewBlobClient(f.name(name)).DownloadStream(call.Read(ctx), &blob.DownloadStreamOptions{Range: part})
	err = blobs.CheckLength(&call, resp.ContentLength, call.CheckWrite(string(blobs.Deref(resp.ETag)), err))
	switch {
	case blobs.IsGone(err):
		if name == ManifestName {
			f.manifest.Store(false)
		}
		return nil, false, errNoFile(f, name)
	case err != nil:
		return nil, false, f.refusal(&call, err)
	}
	defer resp.Body.Close()
	if *resp.ContentLength > most {
		return nil, false, tooLarge(name, most)
	}
	b = make([]byte, *resp.ContentLength)
	if _, err := io.ReadFull(resp.Body, b); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, true, f.refusal(&call, err)
	}
	if name == ManifestName {
		f.manifest.Store(true)
	}
	return b, false, nil
}
