package blobarchive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// client sends the requests of a destination. It sends a write once at a time, and repeats it
// itself: the SDK would repeat it after a lost response and report the error of the second attempt.
type client struct {
	container *container.Client
	opt       engine.Options
	fault     error // of the declaration
}

func refusal(call *wire.Call, err error) error {
	noContainer := errs.With(errs.ErrContainerNotFound, table.ErrUnreachable) // so that workers wait for it
	return blobs.Refusal(call, err, noContainer, "Store.Ensure")
}

// storedBlob is a blob as it was read.
type storedBlob struct {
	row *archive.ArchivedRow
	put string // the ID of the Put that has stored it
}

// read reads the blob for an ID. It returns nil if there is none. Errors: table.ErrForeignRow.
func (c client) read(ctx context.Context, id archive.ID) (s *storedBlob, err error) {
	err = engine.Retry(c.opt.Retry).Repeat(ctx, engine.Log{}, func() (again bool, err error) {
		s, again, err = c.readOnce(ctx, id)
		return again && ctx.Err() == nil, err
	})
	return s, err
}

// readOnce makes one attempt to read the blob for an ID. again reports whether the response was
// cut; the SDK repeats other requests.
func (c client) readOnce(ctx context.Context, id archive.ID) (s *storedBlob, again bool, err error) {
	ctx, cancel := engine.Bound(ctx, c.opt.ReadTimeout)
	defer cancel()
	var call wire.Call
	resp, err := c.container.NewBlockBlobClient(nameOf(id)).DownloadStream(call.Read(ctx), nil)
	err = blobs.CheckLength(&call, resp.ContentLength, call.CheckWrite(string(blobs.Deref(resp.ETag)), err))
	switch {
	case blobs.IsGone(err):
		return nil, false, nil
	case err != nil:
		return nil, false, refusal(&call, err)
	}
	defer resp.Body.Close()
	if *resp.ContentLength > maxContent {
		return nil, false, foreign(id, "it is too large for an archived row")
	}
	b := make([]byte, *resp.ContentLength)
	if _, err := io.ReadFull(resp.Body, b); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, true, refusal(&call, err)
	}
	row, put, err := decode(b, id)
	if err != nil {
		return nil, false, err
	}
	row.Version = string(*resp.ETag)
	return &storedBlob{row, put}, false, nil
}

// metadata that marks a tombstone, so that lists need not read it.
const metaTombstone = "Tombstone"

// metadata returns the metadata of the blob for a row.
func metadata(r *archive.ArchivedRow) map[string]*string {
	if r.Row != nil {
		return nil
	}
	return map[string]*string{metaTombstone: to.Ptr("true")}
}

// isTombstone reports whether a blob with this metadata is a tombstone. HTTP does not keep the case
// of names.
func isTombstone(metadata map[string]*string) bool {
	for name, value := range metadata {
		if strings.EqualFold(name, metaTombstone) && blobs.Deref(value) == "true" {
			return true
		}
	}
	return false
}

// put makes one attempt to store a blob, on condition of the version of the stored blob, "" if
// there is none.
func (c client) put(ctx context.Context, r *archive.ArchivedRow, body []byte, version string) (*wire.Call, error) {
	condition := blobs.IfNew()
	if version != "" {
		condition = blobs.IfMatch(azcore.ETag(version))
	}
	call := &wire.Call{}
	resp, err := c.container.NewBlockBlobClient(nameOf(r.ID)).Upload(blobs.Write(ctx, call, c.opt.Retry.AttemptTimeout), streaming.NopCloser(bytes.NewReader(body)), &blockblob.UploadOptions{
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("application/json")}, Metadata: metadata(r), AccessConditions: condition,
	})
	return call, call.CheckWrite(string(blobs.Deref(resp.ETag)), err)
}

// isConflict reports whether a blob was not stored because the stored one has another version.
func isConflict(err error) bool {
	return bloberror.HasCode(err, bloberror.ConditionNotMet, bloberror.BlobAlreadyExists)
}

// delete deletes a blob, if it still has a version.
func (c client) delete(ctx context.Context, id archive.ID, version string) error {
	ctx, cancel := engine.Bound(ctx, engine.Retry(c.opt.Retry).Timeout(ctx, c.opt.WriteTimeout))
	defer cancel()
	return engine.Retry(c.opt.Retry).Repeat(ctx, engine.Log{}, func() (again bool, err error) {
		var call wire.Call
		_, err = c.container.NewBlockBlobClient(nameOf(id)).Delete(blobs.Write(ctx, &call, c.opt.Retry.AttemptTimeout), &blob.DeleteOptions{AccessConditions: blobs.IfMatch(azcore.ETag(version))})
		err = call.Check(err)
		switch {
		case err == nil, blobs.IsGone(err), isConflict(err): // deleted, or replaced since it was read
			return false, nil
		}
		return call.Outcome(err) != wire.Refused && ctx.Err() == nil, refusal(&call, err)
	})
}
