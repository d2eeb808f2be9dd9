package largeentity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
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

// client sends the requests for blobs. It sends a write once at a time, and repeats it itself: the
// SDK would repeat it after a lost response and report the error of the second attempt.
type client struct {
	container *container.Client
	opt       engine.Options
}

// repeat calls f, which sends a write, until f succeeds or returns again = false, within the bounds
// of the options.
func (c client) repeat(ctx context.Context, f func(context.Context) (again bool, err error)) error {
	ctx, cancel := engine.Bound(ctx, engine.Retry(c.opt.Retry).Timeout(ctx, c.opt.WriteTimeout))
	defer cancel()
	return engine.Retry(c.opt.Retry).Repeat(ctx, engine.Log{}, func() (bool, error) {
		again, err := f(ctx)
		return again && ctx.Err() == nil, err
	})
}

func (c client) write(ctx context.Context, call *wire.Call) context.Context {
	return blobs.Write(ctx, call, c.opt.Retry.AttemptTimeout)
}

// mayRepeat reports whether a failed write may succeed when it is sent again: it did not reach the
// service, or its outcome is unknown.
func mayRepeat(call *wire.Call, err error) bool {
	return err != nil && call.Outcome(err) != wire.Refused
}

func (c client) blob(n string) *blockblob.Client { return c.container.NewBlockBlobClient(n) }

// stage stores a block that the blob does not contain yet. A repeated block replaces itself.
func (c client) stage(ctx context.Context, n, id string, data []byte) error {
	return c.repeat(ctx, func(ctx context.Context) (bool, error) {
		var call wire.Call
		_, err := c.blob(n).StageBlock(c.write(ctx, &call), id, body(data), nil)
		err = call.Check(err)
		return mayRepeat(&call, err), failed(&call, err)
	})
}

// facts are the properties of a blob that is stored, or is to be stored.
type facts struct {
	size        int64
	sum         string // the hash in hexadecimal digits
	contentType string
}

// metaSum is the metadata with the hash. The service keeps it beside the blob.
const metaSum = "Sha256"

func (f *facts) metadata() map[string]*string { return map[string]*string{metaSum: &f.sum} }

func (f *facts) headers() *blob.HTTPHeaders {
	return &blob.HTTPHeaders{BlobContentType: to.Ptr(f.contentType)}
}

// put stores a blob by one request.
func (c client) put(ctx context.Context, n string, data []byte, f facts) error {
	return c.create(ctx, n, f, func(ctx context.Context) (*azcore.ETag, error) {
		resp, err := c.blob(n).Upload(ctx, body(data), &blockblob.UploadOptions{HTTPHeaders: f.headers(), Metadata: f.metadata(), AccessConditions: blobs.IfNew()})
		return resp.ETag, err
	})
}

// commit makes a blob of blocks.
func (c client) commit(ctx context.Context, n string, ids []string, f facts) error {
	return c.create(ctx, n, f, func(ctx context.Context) (*azcore.ETag, error) {
		resp, err := c.blob(n).CommitBlockList(ctx, ids, &blockblob.CommitBlockListOptions{HTTPHeaders: f.headers(), Metadata: f.metadata(), AccessConditions: blobs.IfNew()})
		return resp.ETag, err
	})
}

// create sends a request that creates a blob. After a lost response, the repeated request finds the
// blob. Its properties then show whether the first request stored it.
func (c client) create(ctx context.Context, n string, f facts, send func(context.Context) (*azcore.ETag, error)) error {
	return c.repeat(ctx, func(ctx context.Context) (bool, error) {
		var call wire.Call
		etag, err := send(c.write(ctx, &call))
		if err = call.CheckWrite(string(blobs.Deref(etag)), err); !bloberror.HasCode(err, bloberror.BlobAlreadyExists, bloberror.ConditionNotMet) {
			return mayRepeat(&call, err), failed(&call, err)
		}
		stored, err := c.properties(ctx, n)
		if err == nil && (stored.size != f.size || stored.sum != f.sum) {
			err = condition(table.ErrAltered, "another program has stored a blob of the name %s", n)
		}
		return errors.Is(err, errs.ErrUnreachable), err
	})
}

// properties reads the properties of a blob. Errors: ErrBlobNotFound.
func (c client) properties(ctx context.Context, n string) (f facts, err error) {
	err = engine.Retry(c.opt.Retry).Endure(ctx, engine.Log{}, func() (err error) {
		f, err = c.propertiesOnce(ctx, n)
		return err
	})
	return f, err
}

// propertiesOnce is properties by one request.
func (c client) propertiesOnce(ctx context.Context, n string) (facts, error) {
	ctx, cancel := engine.Bound(ctx, c.opt.ReadTimeout)
	defer cancel()
	var call wire.Call
	resp, err := c.blob(n).GetProperties(call.Read(ctx), nil)
	if err = blobs.CheckLength(&call, resp.ContentLength, call.CheckWrite(string(blobs.Deref(resp.ETag)), err)); err != nil {
		return facts{}, failed(&call, err)
	}
	f := facts{size: *resp.ContentLength}
	for key, value := range resp.Metadata { // HTTP does not keep the case of names
		if strings.EqualFold(key, metaSum) {
			f.sum = blobs.Deref(value)
		}
	}
	return f, nil
}

// delete deletes a blob, if there is one.
func (c client) delete(ctx context.Context, n string) error {
	err := c.repeat(ctx, func(ctx context.Context) (bool, error) {
		var call wire.Call
		_, err := c.blob(n).Delete(c.write(ctx, &call), nil)
		err = call.Check(err)
		return mayRepeat(&call, err), failed(&call, err)
	})
	if err == nil || errors.Is(err, ErrBlobNotFound) {
		return nil
	}
	return fmt.Errorf("delete of blob %s: %w", n, err)
}

// body returns data as the SDK takes it.
func body(data []byte) interface {
	Read([]byte) (int, error)
	Seek(int64, int) (int64, error)
	Close() error
} {
	return streaming.NopCloser(bytes.NewReader(data))
}

// listed is a blob of a list.
type listed struct {
	name
	foreign  bool // the name is of another form
	modified time.Time
}

// list yields the blobs whose names begin with a prefix, in the order of their names.
func (c client) list(ctx context.Context, prefix string) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		for b, err := range blobs.List(ctx, c.container, prefix, &c.opt, failed) {
			if err != nil {
				yield(listed{}, err)
				return
			}
			if n, ok := parseName(b.Name); !yield(listed{n, !ok, b.Modified}, nil) {
				return
			}
		}
	}
}

// merged reads two lists side by side, which are both in the order of the IDs of a partition. It
// finds the items of the second list by the items of the first.
type merged[V any] struct {
	open   func(partition, id string) iter.Seq2[V, error]
	nameOf func(V) (n name, ok bool)

	next      func() (V, error, bool)
	stop      func()
	partition string
	last      string // the ID that was asked for last
	ahead     *V     // the item that was read last
}

// find returns the item of a name, nil if there is none.
func (m *merged[V]) find(n name) (*V, error) {
	if m.next == nil || n.partition != m.partition || n.id < m.last {
		m.close()
		m.next, m.stop = iter.Pull2(m.open(n.partition, n.id))
		m.partition, m.ahead = n.partition, nil
	}
	m.last = n.id
	for {
		if m.ahead == nil {
			v, err, ok := m.next()
			switch {
			case !ok:
				return nil, nil
			case err != nil:
				m.close()
				return nil, err
			}
			m.ahead = &v
		}
		is, ok := m.nameOf(*m.ahead)
		switch {
		case ok && is.id == n.id:
			return m.ahead, nil
		case ok && is.id > n.id:
			return nil, nil
		}
		m.ahead = nil
	}
}

func (m *merged[V]) close() {
	if m.stop != nil {
		m.stop()
	}
	m.next, m.stop = nil, nil
}
