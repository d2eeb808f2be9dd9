package largeentity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Open returns a reader of a value. The reader compares the length and the SHA-256 hash of a blob
// with the upload's before it returns io.EOF: if they differ, its last Read fails with
// table.ErrAltered. Bytes that were read before must not be used. If a response breaks off, the
// reader continues with another request. Close the reader.
//
// Errors, also of the reader: ErrNoValue for the zero Blob; ErrBlobNotFound; table.ErrAltered;
// ErrForeignBlob for a blob of another table; table.ErrNotCreated; table.ErrUnreachable;
// *azcore.ResponseError; *table.DefinitionError for a handle without the values. Requests: none for
// a value in the entity itself, else 1.
func (v *Values[T]) Open(ctx context.Context, t *table.Table[T], b Blob) (io.ReadCloser, error) {
	of, err := v.binding(t)
	if err != nil {
		return nil, err
	}
	return of.Open(ctx, b)
}

func (v *values) Open(ctx context.Context, b Blob) (io.ReadCloser, error) {
	r, err := v.open(ctx, b, 0, b.size, true)
	if err != nil {
		return nil, fmt.Errorf("largeentity: Open: %w", err)
	}
	return r, nil
}

// OpenRange is Open for count bytes from an offset on. The reader checks the length of the blob,
// but not its hash, for which it would have to read the whole blob. Errors: *table.ValueError for a
// range that is not within the value; ErrNoValue; ErrBlobNotFound; table.ErrAltered; ErrForeignBlob
// for a blob of another table; table.ErrNotCreated; table.ErrUnreachable; *azcore.ResponseError.
func (v *Values[T]) OpenRange(ctx context.Context, t *table.Table[T], b Blob, offset, count int64) (io.ReadCloser, error) {
	of, err := v.binding(t)
	if err != nil {
		return nil, err
	}
	return of.OpenRange(ctx, b, offset, count)
}

func (v *values) OpenRange(ctx context.Context, b Blob, offset, count int64) (io.ReadCloser, error) {
	r, err := v.open(ctx, b, offset, count, false)
	if err != nil {
		return nil, fmt.Errorf("largeentity: OpenRange: %w", err)
	}
	return r, nil
}

func (s *store) open(ctx context.Context, b Blob, offset, count int64, whole bool) (io.ReadCloser, error) {
	switch {
	case !b.set:
		return nil, ErrNoValue
	case offset < 0 || count < 0 || offset > b.size || count > b.size-offset:
		return nil, &table.ValueError{Field: "range", Reason: fmt.Sprintf("is %d bytes from %d on; the value has %d", count, offset, b.size)}
	case b.name == "":
		return io.NopCloser(strings.NewReader(b.data[offset : offset+count])), nil
	}
	if n, ok := parseName(b.name); !ok || n.table != s.table {
		return nil, condition(ErrForeignBlob, "blob %s is not of the table %s", b.name, s.table)
	}
	d := &download{ctx: ctx, client: s.client, blob: b, offset: offset, end: offset + count}
	if whole {
		d.hash = sha256.New()
	} else if count == 0 {
		return d, nil
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	return d, nil
}

// maxReads is how often OpenAt reads an entity whose value is replaced meanwhile.
const maxReads = 4

// OpenAt reads an entity by its key and opens one of its values:
//
//	photo, e, err := photos.OpenAt(ctx, staff, key, func(e *Employee) largeentity.Blob { return e.Photo })
//
// If the blob does not exist because a concurrent writer has replaced the value since the entity
// was read, OpenAt reads the entity again, 3 times at most. The entity is also returned if only the
// value cannot be opened.
//
// Errors:
//   - table.ErrNotFound if there is no entity
//   - ErrNoValue if it has no value
//   - ErrBlobNotFound
//   - table.ErrAltered
//   - ErrForeignBlob for a blob of another table or partition
//   - table.ErrNotCreated
//   - *table.ValueError for a nil argument
//   - *table.DecodeError if the row does not fit T
//   - errors of a read (see package table)
//
// 2 requests, and 2 more after each such replacement.
func (v *Values[T]) OpenAt(ctx context.Context, t *table.Table[T], k keys.Key, value func(*T) Blob) (io.ReadCloser, *table.Entity[T], error) {
	of, err := v.binding(t)
	if err != nil {
		return nil, nil, err
	}
	if value == nil {
		return nil, nil, fmt.Errorf("largeentity: OpenAt: %w", &table.ValueError{Field: "value", Reason: "is nil; give a function that returns the field"})
	}
	r, e, err := of.openAt(ctx, k, func(v any) Blob { return value(v.(*T)) })
	entity, _ := e.(*table.Entity[T])
	return r, entity, err
}

func (v *values) openAt(
	ctx context.Context, k keys.Key, value func(v any) Blob,
) (io.ReadCloser, tabledoor.Entity, error) {
	for read := 1; ; read++ {
		e, err := v.table.Get(ctx, k)
		if err != nil {
			return nil, nil, fmt.Errorf("largeentity: OpenAt: %w", err)
		}
		b := value(tabledoor.ValueOf(e))
		if n, ok := parseName(b.name); ok && n.partition != k.PartitionKey() {
			return nil, e, fmt.Errorf("largeentity: OpenAt %v: %w", k, condition(ErrForeignBlob, "blob %s is of the partition %s", b.name, edm.Quote(n.partition)))
		}
		r, err := v.open(ctx, b, 0, b.size, true)
		switch {
		case err == nil:
			return r, e, nil
		case !errors.Is(err, ErrBlobNotFound) || read == maxReads:
			return nil, e, fmt.Errorf("largeentity: OpenAt %v: %w", k, err)
		}
	}
}

// download reads a blob, or a range of it. If a response breaks off, it continues with another
// request on the same version.
type download struct {
	ctx         context.Context
	client      client
	blob        Blob
	offset, end int64
	hash        hash.Hash // nil for a range
	failed      error     // the end of the reader, io.EOF included

	etag   azcore.ETag   // of the first response
	body   io.ReadCloser // nil if there is no response
	cancel context.CancelCauseFunc
	call   wire.Call
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (n int, err error) {
	if d.failed == nil {
		n, d.failed = d.read(p)
	}
	if n > 0 { // an error comes at the next call
		return n, nil
	}
	return 0, d.failed
}

func (d *download) read(p []byte) (n int, err error) {
	if err := d.ctx.Err(); err != nil || len(p) == 0 {
		return 0, err
	}
	err = engine.Retry(d.client.opt.Retry).Repeat(d.ctx, engine.Log{}, func() (again bool, err error) {
		if d.offset == d.end {
			return false, d.finish()
		}
		if d.body == nil {
			if err := d.open(); err != nil {
				return false, err // the SDK has repeated the request
			}
		}
		stop := blobs.EndIfIdle(d.cancel, d.client.opt.ReadTimeout)
		n, err = d.body.Read(p[:min(int64(len(p)), d.end-d.offset)])
		stop()
		d.offset += int64(n)
		if n > 0 {
			if d.hash != nil {
				d.hash.Write(p[:n])
			}
			return false, nil // an error comes again
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err = failed(&d.call, err); !errors.Is(err, table.ErrUnreachable) {
			err = errs.With(table.ErrUnreachable, err) // the response broke off
		}
		d.endResponse()
		return d.ctx.Err() == nil, err
	})
	if d.ctx.Err() != nil && err != nil && err != io.EOF {
		err = d.ctx.Err()
	}
	return n, err
}

// finish returns io.EOF if the hash is right.
func (d *download) finish() error {
	d.endResponse()
	if d.hash != nil && hex.EncodeToString(d.hash.Sum(nil)) != d.blob.sum {
		return condition(table.ErrAltered, "blob %s: the SHA-256 hash of its %d bytes is another", d.blob.name, d.blob.size)
	}
	return io.EOF
}

// open sends a request for the rest.
func (d *download) open() error {
	ctx, cancel := context.WithCancelCause(d.ctx)
	d.call, d.cancel = wire.Call{}, cancel
	var o blob.DownloadStreamOptions
	all := d.offset == 0 && d.end == d.blob.size
	if !all {
		o.Range = blob.HTTPRange{Offset: d.offset, Count: d.end - d.offset}
	}
	if d.etag != "" {
		o.AccessConditions = blobs.IfMatch(d.etag)
	}
	stop := blobs.EndIfIdle(d.cancel, d.client.opt.ReadTimeout)
	resp, err := d.client.blob(d.blob.name).DownloadStream(d.call.Read(ctx), &o)
	stop()
	if err = d.check(&resp, all, d.call.Check(err)); err != nil {
		if resp.Body != nil {
			resp.Body.Close()
		}
		cancel(nil)
		return err
	}
	d.body, d.etag = resp.Body, blobs.Deref(resp.ETag)
	return nil
}

// check returns an error for a response that cannot be used. The SDK takes any status below 400 for
// a success, such as 304 without a body.
func (d *download) check(resp *blob.DownloadStreamResponse, all bool, err error) error {
	altered := func(format string, args ...any) error {
		return condition(table.ErrAltered, "blob %s: "+format, append([]any{d.blob.name}, args...)...)
	}
	status := d.call.Status()
	switch {
	case bloberror.HasCode(err, bloberror.ConditionNotMet):
		return altered("it was replaced while it was read")
	case bloberror.HasCode(err, bloberror.InvalidRange):
		return altered("it is shorter than the %d bytes of the upload", d.blob.size)
	case err != nil:
		return failed(&d.call, err)
	case all && status != http.StatusOK, !all && status != http.StatusPartialContent:
		return failed(&d.call, &wire.NotServiceError{Status: status, Reason: "the response is not that of a read of a blob"})
	case resp.ContentLength == nil:
		return failed(&d.call, blobs.CheckLength(&d.call, nil, nil))
	case blobs.Deref(resp.ETag) == "":
		return failed(&d.call, &wire.NotServiceError{Status: status, Reason: "the response has no ETag, by which a reader continues; a proxy has removed it"})
	case all && *resp.ContentLength != d.blob.size:
		return altered("it has %d bytes, and not the %d of the upload", *resp.ContentLength, d.blob.size)
	case all:
		return nil
	}
	want := fmt.Sprintf("bytes %d-%d/%d", d.offset, d.end-1, d.blob.size)
	if is := blobs.Deref(resp.ContentRange); is == want && *resp.ContentLength == d.end-d.offset {
		return nil
	} else if _, total, ok := strings.Cut(is, "/"); ok && total != fmt.Sprint(d.blob.size) {
		return altered("it has %.20s bytes, and not the %d of the upload", total, d.blob.size)
	}
	return failed(&d.call, &wire.NotServiceError{Status: status, Reason: "the response is not of the range of the request"})
}

// endResponse ends the response.
func (d *download) endResponse() {
	if d.body != nil {
		d.body.Close()
		d.body = nil
		d.cancel(nil)
	}
}

// Close implements io.Closer.
func (d *download) Close() error {
	d.endResponse()
	if d.failed == nil {
		d.failed = errors.New("largeentity: the reader is closed")
	}
	return nil
}
