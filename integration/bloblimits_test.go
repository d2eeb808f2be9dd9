package integration

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
)

func missingBlobs(e *env) {
	ctx := context.Background()
	check := func(c *container.Client, want bloberror.Code) {
		b := c.NewAppendBlobClient("none")
		_, err1 := b.AppendBlock(ctx, block("a"), nil)
		_, err2 := b.DownloadStream(ctx, nil)
		_, err3 := b.GetProperties(ctx, nil)
		_, err4 := b.SetMetadata(ctx, nil, nil)
		_, err5 := b.SetHTTPHeaders(ctx, blob.HTTPHeaders{}, nil)
		_, err6 := b.Delete(ctx, nil)
		for _, err := range []error{err1, err2, err3, err4, err5, err6} {
			e.wantBlobCode(err, want)
		}
	}
	check(e.container(), bloberror.BlobNotFound)
	none := e.acc.Blobs().NewContainerClient(freshName())
	check(none, bloberror.ContainerNotFound)
	_, err1 := none.NewAppendBlobClient("a").Create(ctx, nil)
	_, err2 := none.GetProperties(ctx, nil)
	_, err3 := none.SetMetadata(ctx, nil)
	_, err4 := none.Delete(ctx, nil)
	_, err5 := none.NewListBlobsFlatPager(nil).NextPage(ctx)
	for _, err := range []error{err1, err2, err3, err4, err5} {
		e.wantBlobCode(err, bloberror.ContainerNotFound)
	}
}

// appendConditions: a refused append changes nothing.
func appendConditions(e *env) {
	ctx := context.Background()
	b := e.appendBlob()
	e.append(b, "abc")
	appendIf := func(size, position *int64, o *blob.AccessConditions) error {
		_, err := b.AppendBlock(ctx, block("de"), &appendblob.AppendBlockOptions{
			AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{MaxSize: size, AppendPosition: position}, AccessConditions: o,
		})
		return err
	}
	for _, position := range []int64{0, 2, 4} {
		e.wantBlobCode(appendIf(nil, &position, nil), bloberror.AppendPositionConditionNotMet)
	}
	e.wantBlobCode(appendIf(to.Ptr[int64](4), nil, nil), bloberror.MaxBlobSizeConditionNotMet)
	if got := e.content(b, 0, 0); got != "abc" {
		e.Errorf("after refused appends: got %q; want abc", got)
	}
	e.must(appendIf(to.Ptr[int64](5), to.Ptr[int64](3), nil))
	p, err := b.GetProperties(ctx, nil)
	e.must(err)
	e.append(b, "f")
	e.wantBlobCode(appendIf(nil, nil, ifMatch(p.ETag)), bloberror.ConditionNotMet)
	p, err = b.GetProperties(ctx, nil)
	e.must(err)
	e.must(appendIf(nil, nil, ifMatch(p.ETag)))
	_, err = b.AppendBlock(ctx, block(""), nil)
	e.wantBlobCode(err, bloberror.InvalidHeaderValue)
	if got := e.content(b, 0, 0); got != "abcdefde" {
		e.Errorf("got %q; want abcdefde", got)
	}
}

func ifMatch(etag *azcore.ETag) *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: etag}}
}

func ifNoneMatch(etag *azcore.ETag) *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: etag}}
}

func blobConditions(e *env) {
	ctx := context.Background()
	b := e.appendBlob()
	e.append(b, "abc")
	p, err := b.GetProperties(ctx, nil)
	e.must(err)
	other := to.Ptr(azcore.ETag(`"0x8D6D41706E2489F"`))
	anyTag := to.Ptr(azcore.ETagAny)
	_, err = b.DownloadStream(ctx, &blob.DownloadStreamOptions{AccessConditions: ifMatch(other)})
	e.wantBlobCode(err, bloberror.ConditionNotMet)
	_, err = b.DownloadStream(ctx, &blob.DownloadStreamOptions{AccessConditions: ifMatch(p.ETag)})
	e.must(err)
	got, err := b.DownloadStream(ctx, &blob.DownloadStreamOptions{AccessConditions: ifNoneMatch(p.ETag)})
	e.must(err) // the SDK reports 304 without an error
	if got.ErrorCode == nil || *got.ErrorCode != string(bloberror.ConditionNotMet) {
		e.Errorf("read with If-None-Match: got code %v; want ConditionNotMet", got.ErrorCode)
	}
	_, err = b.Create(ctx, &appendblob.CreateOptions{AccessConditions: ifNoneMatch(anyTag)})
	e.wantBlobCode(err, bloberror.BlobAlreadyExists)
	_, err = b.Create(ctx, &appendblob.CreateOptions{AccessConditions: ifMatch(other)})
	e.wantBlobCode(err, bloberror.ConditionNotMet)
	_, err = b.SetMetadata(ctx, nil, &blob.SetMetadataOptions{AccessConditions: ifMatch(other)})
	e.wantBlobCode(err, bloberror.ConditionNotMet)
	_, err = b.SetHTTPHeaders(ctx, blob.HTTPHeaders{}, &blob.SetHTTPHeadersOptions{AccessConditions: ifMatch(other)})
	e.wantBlobCode(err, bloberror.ConditionNotMet)
	_, err = b.Delete(ctx, &blob.DeleteOptions{AccessConditions: ifMatch(other)})
	e.wantBlobCode(err, bloberror.ConditionNotMet)
	later, earlier := to.Ptr(p.LastModified.Add(time.Hour)), to.Ptr(p.LastModified.Add(-time.Hour))
	_, err = b.Delete(ctx, &blob.DeleteOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfModifiedSince: later}}})
	e.wantBlobCode(err, bloberror.ConditionNotMet)
	_, err = b.Delete(ctx, &blob.DeleteOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfUnmodifiedSince: earlier}}})
	e.wantBlobCode(err, bloberror.ConditionNotMet)
	_, err = b.Delete(ctx, &blob.DeleteOptions{AccessConditions: ifMatch(p.ETag)})
	e.must(err)
	_, err = b.Create(ctx, &appendblob.CreateOptions{AccessConditions: ifMatch(anyTag)})
	e.wantBlobCode(err, bloberror.ConditionNotMet)
	_, err = b.Create(ctx, &appendblob.CreateOptions{AccessConditions: ifNoneMatch(anyTag)})
	e.must(err)
}

func blobLeases(e *env) {
	ctx := context.Background()
	b := e.appendBlob()
	e.append(b, "a")
	own, err := lease.NewBlobClient(b, nil)
	e.must(err)
	other, err := lease.NewBlobClient(b, nil)
	e.must(err)
	before, err := b.GetProperties(ctx, nil)
	e.must(err)
	_, err = own.AcquireLease(ctx, 60, nil)
	e.must(err)
	_, err = other.AcquireLease(ctx, 15, nil)
	e.wantBlobCode(err, bloberror.LeaseAlreadyPresent)
	_, err = other.RenewLease(ctx, nil)
	e.wantBlobCode(err, bloberror.LeaseIDMismatchWithLeaseOperation)
	_, err = own.RenewLease(ctx, nil)
	e.must(err)
	p, err := b.GetProperties(ctx, nil)
	e.must(err)
	if *p.LeaseState != "leased" || *p.LeaseStatus != "locked" || *p.LeaseDuration != "fixed" || *p.ETag != *before.ETag {
		e.Errorf("got lease %s %s %s, ETag %s; want leased locked fixed, and the same ETag as before", *p.LeaseState, *p.LeaseStatus, *p.LeaseDuration, *p.ETag)
	}
	with := func(id *string) *appendblob.AppendBlockOptions {
		return &appendblob.AppendBlockOptions{AccessConditions: &blob.AccessConditions{LeaseAccessConditions: &blob.LeaseAccessConditions{LeaseID: id}}}
	}
	_, err = b.AppendBlock(ctx, block("b"), nil)
	e.wantBlobCode(err, bloberror.LeaseIDMissing)
	_, err = b.Delete(ctx, nil)
	e.wantBlobCode(err, bloberror.LeaseIDMissing)
	_, err = b.AppendBlock(ctx, block("b"), with(other.LeaseID()))
	e.wantBlobCode(err, bloberror.LeaseIDMismatchWithBlobOperation)
	_, err = b.AppendBlock(ctx, block("b"), with(own.LeaseID()))
	e.must(err)
	const id = "aaaaaaaa-0000-4000-8000-000000000001"
	old := *own.LeaseID()
	_, err = own.ChangeLease(ctx, id, nil)
	e.must(err)
	_, err = b.AppendBlock(ctx, block("b"), with(&old))
	e.wantBlobCode(err, bloberror.LeaseIDMismatchWithBlobOperation)
	_, err = own.ReleaseLease(ctx, nil)
	e.must(err)
	_, err = b.AppendBlock(ctx, block("b"), with(to.Ptr(id)))
	e.wantBlobCode(err, bloberror.LeaseNotPresentWithBlobOperation)
	e.append(b, "c")
	_, err = own.BreakLease(ctx, nil)
	e.wantBlobCode(err, bloberror.LeaseNotPresentWithLeaseOperation)
	_, err = own.AcquireLease(ctx, -1, nil)
	e.must(err)
	broken, err := other.BreakLease(ctx, nil)
	e.must(err)
	if *broken.LeaseTime != 0 {
		e.Errorf("broken infinite lease: got %d seconds; want 0", *broken.LeaseTime)
	}
	_, err = own.RenewLease(ctx, nil)
	e.wantBlobCode(err, bloberror.LeaseIsBrokenAndCannotBeRenewed)
	e.append(b, "d")
	if got := e.content(b, 0, 0); got != "abcd" {
		e.Errorf("got %q; want abcd", got)
	}
}

func containerLeases(e *env) {
	ctx := context.Background()
	c := e.container()
	own, err := lease.NewContainerClient(c, nil)
	e.must(err)
	_, err = own.AcquireLease(ctx, 60, nil)
	e.must(err)
	_, err = c.Delete(ctx, nil)
	e.wantBlobCode(err, bloberror.LeaseIDMissing)
	_, err = c.NewAppendBlobClient("a").Create(ctx, nil) // is not protected
	e.must(err)
	_, err = c.Delete(ctx, &container.DeleteOptions{AccessConditions: &container.AccessConditions{LeaseAccessConditions: &container.LeaseAccessConditions{LeaseID: to.Ptr("aaaaaaaa-0000-4000-8000-000000000001")}}})
	e.wantBlobCode(err, bloberror.LeaseIDMismatchWithContainerOperation)
	_, err = c.Delete(ctx, &container.DeleteOptions{AccessConditions: &container.AccessConditions{LeaseAccessConditions: &container.LeaseAccessConditions{LeaseID: own.LeaseID()}}})
	e.must(err)
}

// blobLimits: requests over a limit fail, and change nothing.
func blobLimits(e *env) {
	ctx := context.Background()
	b := e.appendBlob()
	_, err := b.AppendBlock(ctx, block("a"), &appendblob.AppendBlockOptions{TransactionalValidation: blob.TransferValidationTypeMD5(make([]byte, 16))})
	e.wantBlobCode(err, bloberror.MD5Mismatch)
	_, err = b.AppendBlock(ctx, block("a"), &appendblob.AppendBlockOptions{TransactionalValidation: blob.TransferValidationTypeComputeCRC64()})
	e.must(err)
	_, err = b.AppendBlock(ctx, block(strings.Repeat("x", 5<<20)), nil)
	e.must(err)
	p, err := b.GetProperties(ctx, nil)
	e.must(err)
	if *p.ContentLength != 5<<20+1 || *p.BlobCommittedBlockCount != 2 {
		e.Errorf("got %d bytes in %d blocks; want 5 MiB and a byte in 2", *p.ContentLength, *p.BlobCommittedBlockCount)
	}
	var failed *azcore.ResponseError
	if _, err := e.acc.Blobs().NewContainerClient(freshName()).NewListBlobsFlatPager(nil).NextPage(ctx); !errors.As(err, &failed) || failed.StatusCode != http.StatusNotFound {
		e.Errorf("list of a missing container: got %v; want 404", err)
	}
}
