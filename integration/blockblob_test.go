package integration

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
)

// blockBlobSuite is the part of the behaviour suite that tests block blobs.
var blockBlobSuite = map[string]func(*env){
	"block blob lifecycle":  blockBlobLifecycle,
	"block blob blocks":     blockLists,
	"block blob refusals":   refusedBlocks,
	"block blob conditions": blockBlobConditions,
	"block blob leases":     blockBlobLeases,
	"block blob transfers":  blockBlobTransfers,
	"block blob types":      blobTypes,
	"block blob list":       listedBlockBlobs,
}

// blockBlob returns the client of a block blob, which does not exist, in a fresh container.
func (e *env) blockBlob() *blockblob.Client {
	e.Helper()
	return e.container().NewBlockBlobClient("employees/Sales/jones@contoso.com/photo.jpg")
}

// upload writes a block blob by one request, and returns its ETag.
func (e *env) upload(b *blockblob.Client, text string) *azcore.ETag {
	e.Helper()
	up, err := b.Upload(context.Background(), block(text), nil)
	e.must(err)
	return up.ETag
}

// stage puts uncommitted blocks, of which each is its ID and its text.
func (e *env) stage(b *blockblob.Client, idsAndTexts ...string) {
	e.Helper()
	for i := 0; i < len(idsAndTexts); i += 2 {
		_, err := b.StageBlock(context.Background(), idsAndTexts[i], block(idsAndTexts[i+1]), nil)
		e.must(err)
	}
}

// wantText checks the content of a block blob.
func (e *env) wantText(b *blockblob.Client, want string) {
	e.Helper()
	got, err := b.DownloadStream(context.Background(), nil)
	e.must(err)
	text, err := io.ReadAll(got.Body)
	e.must(err)
	if string(text) != want || *got.ContentLength != int64(len(want)) || *got.BlobType != blob.BlobTypeBlockBlob {
		e.Errorf("got %q of %d bytes, type %s; want block blob %q", text, *got.ContentLength, *got.BlobType, want)
	}
}

// blocksText returns the committed and the uncommitted blocks, such as "AAAA=1 BBBB=2 | CCCC=3".
func (e *env) blocksText(b *blockblob.Client) string {
	e.Helper()
	got, err := b.GetBlockList(context.Background(), blockblob.BlockListTypeAll, nil)
	e.must(err)
	text := ""
	for _, l := range got.CommittedBlocks {
		text += fmt.Sprintf("%s=%d ", *l.Name, *l.Size)
	}
	text += "|"
	for _, l := range got.UncommittedBlocks {
		text += fmt.Sprintf(" %s=%d", *l.Name, *l.Size)
	}
	return text
}

func blockBlobLifecycle(e *env) {
	ctx := context.Background()
	b := e.blockBlob()
	for _, text := range []string{"", "photo", strings.Repeat("x", 5<<20)} {
		up, err := b.Upload(ctx, block(text), &blockblob.UploadOptions{
			Metadata: map[string]*string{"employee": to.Ptr("jones")},
			HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("image/jpeg"), BlobContentEncoding: to.Ptr("identity"), BlobContentLanguage: to.Ptr("en"),
				BlobContentDisposition: to.Ptr("inline"), BlobCacheControl: to.Ptr("no-store")},
		})
		e.must(err)
		sum := md5.Sum([]byte(text))
		p, err := b.GetProperties(ctx, nil)
		e.must(err)
		if *p.ContentType != "image/jpeg" || *p.ContentEncoding != "identity" || *p.ContentLanguage != "en" || *p.ContentDisposition != "inline" || *p.CacheControl != "no-store" ||
			metadataText(p.Metadata) != "employee=jones" || *p.ContentLength != int64(len(text)) || !bytes.Equal(p.ContentMD5, sum[:]) || *p.ETag != *up.ETag || p.BlobCommittedBlockCount != nil {
			e.Errorf("%d bytes: got properties %+v; want the headers, the metadata, the length, the MD5 and the ETag %s", len(text), p, *up.ETag)
		}
		e.wantText(b, text)
	}
	before, err := b.GetProperties(ctx, nil)
	e.must(err)
	_, err = b.SetMetadata(ctx, map[string]*string{"employee": to.Ptr("smith")}, nil)
	e.must(err)
	p, err := b.GetProperties(ctx, nil)
	e.must(err)
	if metadataText(p.Metadata) != "employee=smith" || *p.ETag == *before.ETag || *p.ContentType != "image/jpeg" {
		e.Errorf("got %+v; want other metadata, a new ETag and the same headers", p)
	}
	e.upload(b, "replaced")
	p, err = b.GetProperties(ctx, nil)
	e.must(err)
	if len(p.Metadata) != 0 || *p.ContentType != "application/octet-stream" {
		e.Errorf("a replaced blob: got metadata %s, type %s; want none and the default", metadataText(p.Metadata), *p.ContentType)
	}
	_, err = b.Delete(ctx, nil)
	e.must(err)
	_, err = b.DownloadStream(ctx, nil)
	e.wantBlobCode(err, bloberror.BlobNotFound)
}

func blockLists(e *env) {
	ctx := context.Background()
	b := e.blockBlob()
	e.stage(b, "AAAA", "a", "BBBB", "bb", "AAAA", "aaa")
	_, err1 := b.DownloadStream(ctx, nil)
	_, err2 := b.GetProperties(ctx, nil)
	_, err3 := b.SetMetadata(ctx, nil, nil)
	for _, err := range []error{err1, err2, err3} {
		e.wantBlobCode(err, bloberror.BlobNotFound)
	}
	commit := func(want string, ids ...string) *azcore.ETag {
		e.Helper()
		got, err := b.CommitBlockList(ctx, ids, &blockblob.CommitBlockListOptions{Metadata: map[string]*string{"ids": to.Ptr(fmt.Sprint(len(ids)))}, HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("image/jpeg")}})
		e.must(err)
		e.wantText(b, want)
		p, err := b.GetProperties(ctx, nil)
		e.must(err)
		if metadataText(p.Metadata) != fmt.Sprintf("ids=%d", len(ids)) || *p.ContentType != "image/jpeg" || *p.ETag != *got.ETag {
			e.Errorf("got metadata %s, type %s, ETag %s; want ids=%d, image/jpeg and %s", metadataText(p.Metadata), *p.ContentType, *p.ETag, len(ids), *got.ETag)
		}
		return got.ETag
	}
	before := commit("bbaaa", "BBBB", "AAAA")
	if got, want := e.blocksText(b), "BBBB=2 AAAA=3 |"; got != want {
		e.Errorf("got blocks %s; want %s", got, want)
	}
	e.stage(b, "CCCC", "c")
	p, err := b.GetProperties(ctx, nil)
	e.must(err)
	if got, want := e.blocksText(b), "BBBB=2 AAAA=3 | CCCC=1"; got != want || *p.ETag != *before {
		e.Errorf("after a block: got blocks %s, ETag %s; want %s, and the ETag %s", got, *p.ETag, want, *before)
	}
	e.wantText(b, "bbaaa")
	commit("aaac", "AAAA", "CCCC")
	e.stage(b, "AAAA", "new")
	commit("new", "AAAA") // the latest
	commit("new", "AAAA") // again, as after a lost response
	commit("")
	if got, want := e.blocksText(b), "|"; got != want {
		e.Errorf("got blocks %s; want %s", got, want)
	}
}

// refusedBlocks: a refused request changes nothing.
func refusedBlocks(e *env) {
	ctx := context.Background()
	b := e.blockBlob()
	e.stage(b, "AAAA", "a")
	commit := func(ids ...string) error {
		_, err := b.CommitBlockList(ctx, ids, nil)
		return err
	}
	stage := func(id string, o *blockblob.StageBlockOptions) error {
		_, err := b.StageBlock(ctx, id, block("b"), o)
		return err
	}
	e.must(commit("AAAA"))
	e.stage(b, "BBBB", "b")
	e.wantBlobCode(commit("CCCC"), bloberror.InvalidBlockList)
	e.wantBlobCode(commit("AAAA", "BBBB", "CCCC"), bloberror.InvalidBlockList)
	e.wantBlobCode(stage("CCCCCCCC", nil), bloberror.InvalidBlobOrBlock)
	e.wantBlobCode(stage("not base64", nil), bloberror.InvalidQueryParameterValue)
	e.wantBlobCode(stage(base64.StdEncoding.EncodeToString(make([]byte, 65)), nil), bloberror.OutOfRangeInput)
	e.wantBlobCode(stage("CCCC", &blockblob.StageBlockOptions{TransactionalValidation: blob.TransferValidationTypeMD5(make([]byte, 16))}), bloberror.MD5Mismatch)
	e.wantBlobCode(stage("CCCC", &blockblob.StageBlockOptions{TransactionalValidation: blob.TransferValidationTypeCRC64(1)}), "Crc64Mismatch")
	_, err := b.Upload(ctx, block("b"), &blockblob.UploadOptions{TransactionalValidation: blob.TransferValidationTypeMD5(make([]byte, 16))})
	e.wantBlobCode(err, bloberror.MD5Mismatch)
	_, err = b.Upload(ctx, block("b"), &blockblob.UploadOptions{HTTPHeaders: &blob.HTTPHeaders{BlobContentMD5: make([]byte, 16)}})
	e.wantBlobCode(err, bloberror.MD5Mismatch)
	if got, want := e.blocksText(b), "AAAA=1 | BBBB=1"; got != want {
		e.Errorf("got blocks %s; want %s", got, want)
	}
	e.wantText(b, "a")
	e.must(stage("CCCC", &blockblob.StageBlockOptions{TransactionalValidation: blob.TransferValidationTypeComputeCRC64()}))
	missing := e.container().NewBlockBlobClient("none")
	_, err = missing.GetBlockList(ctx, blockblob.BlockListTypeAll, nil)
	e.wantBlobCode(err, bloberror.BlobNotFound)
	_, err = missing.CommitBlockList(ctx, []string{"AAAA"}, nil)
	e.wantBlobCode(err, bloberror.InvalidBlockList)
	none := e.acc.Blobs().NewContainerClient(freshName()).NewBlockBlobClient("none")
	_, err1 := none.StageBlock(ctx, "AAAA", block("a"), nil)
	_, err2 := none.CommitBlockList(ctx, nil, nil)
	_, err3 := none.Upload(ctx, block("a"), nil)
	for _, err := range []error{err1, err2, err3} {
		e.wantBlobCode(err, bloberror.ContainerNotFound)
	}
}

func blockBlobConditions(e *env) {
	ctx := context.Background()
	b := e.blockBlob()
	other, anyTag := to.Ptr(azcore.ETag(`"0x8D6D41706E2489F"`)), to.Ptr(azcore.ETagAny)
	put := func(o *blob.AccessConditions) error {
		_, err := b.Upload(ctx, block("put"), &blockblob.UploadOptions{AccessConditions: o})
		return err
	}
	commit := func(o *blob.AccessConditions) error {
		_, err := b.CommitBlockList(ctx, nil, &blockblob.CommitBlockListOptions{AccessConditions: o})
		return err
	}
	for i, write := range []func(*blob.AccessConditions) error{put, commit} {
		e.wantBlobCode(write(ifMatch(other)), bloberror.ConditionNotMet)
		e.must(write(ifNoneMatch(anyTag)))
		e.wantBlobCode(write(ifNoneMatch(anyTag)), bloberror.BlobAlreadyExists)
		p, err := b.GetProperties(ctx, nil)
		e.must(err)
		e.wantBlobCode(write(ifMatch(other)), bloberror.ConditionNotMet)
		e.wantBlobCode(write(ifNoneMatch(p.ETag)), bloberror.ConditionNotMet)
		e.must(write(ifMatch(p.ETag)))
		e.wantBlobCode(write(ifMatch(p.ETag)), bloberror.ConditionNotMet) // it has another ETag now
		e.must(write(ifNoneMatch(p.ETag)))
		p, err = b.GetProperties(ctx, nil)
		e.must(err)
		_, err = b.GetBlockList(ctx, blockblob.BlockListTypeCommitted, nil)
		e.must(err)
		_, err = b.DownloadStream(ctx, &blob.DownloadStreamOptions{AccessConditions: ifMatch(other)})
		e.wantBlobCode(err, bloberror.ConditionNotMet)
		got, err := b.DownloadStream(ctx, &blob.DownloadStreamOptions{AccessConditions: ifNoneMatch(p.ETag)})
		e.must(err) // the SDK reports 304 without an error
		if got.ErrorCode == nil || *got.ErrorCode != string(bloberror.ConditionNotMet) || got.Body != nil {
			e.Errorf("write %d: read with If-None-Match: got code %v; want ConditionNotMet and no content", i, got.ErrorCode)
		}
		got, err = b.DownloadStream(ctx, &blob.DownloadStreamOptions{Range: blob.HTTPRange{Count: 1}, AccessConditions: ifNoneMatch(p.ETag)})
		e.must(err)
		if got.ErrorCode == nil || *got.ErrorCode != string(bloberror.ConditionNotMet) {
			e.Errorf("write %d: read of a range with If-None-Match: got code %v; want ConditionNotMet", i, got.ErrorCode)
		}
		_, err = b.Delete(ctx, &blob.DeleteOptions{AccessConditions: ifMatch(other)})
		e.wantBlobCode(err, bloberror.ConditionNotMet)
		_, err = b.Delete(ctx, &blob.DeleteOptions{AccessConditions: ifMatch(p.ETag)})
		e.must(err)
	}
}

func blockBlobLeases(e *env) {
	ctx := context.Background()
	b := e.blockBlob()
	own, err := lease.NewBlobClient(b, nil)
	e.must(err)
	e.stage(b, "AAAA", "a")
	_, err = own.AcquireLease(ctx, 60, nil) // of a blob with uncommitted blocks only
	e.must(err)
	held := &blob.LeaseAccessConditions{LeaseID: own.LeaseID()}
	_, err1 := b.StageBlock(ctx, "BBBB", block("b"), nil)
	_, err2 := b.CommitBlockList(ctx, []string{"AAAA"}, nil)
	_, err3 := b.Upload(ctx, block("put"), nil)
	for _, err := range []error{err1, err2, err3} {
		e.wantBlobCode(err, bloberror.LeaseIDMissing)
	}
	_, err = b.StageBlock(ctx, "BBBB", block("b"), &blockblob.StageBlockOptions{LeaseAccessConditions: held})
	e.must(err)
	_, err = b.CommitBlockList(ctx, []string{"AAAA", "BBBB"}, &blockblob.CommitBlockListOptions{AccessConditions: &blob.AccessConditions{LeaseAccessConditions: held}})
	e.must(err)
	e.wantText(b, "ab")
	_, err = b.Upload(ctx, block("put"), &blockblob.UploadOptions{AccessConditions: &blob.AccessConditions{LeaseAccessConditions: held}})
	e.must(err)
	p, err := b.GetProperties(ctx, nil)
	e.must(err)
	if *p.LeaseState != "leased" || *p.LeaseStatus != "locked" {
		e.Errorf("a replaced blob: got lease %s %s; want leased locked", *p.LeaseState, *p.LeaseStatus)
	}
	_, err = own.ReleaseLease(ctx, nil)
	e.must(err)
	e.upload(b, "free")
}

// blockBlobTransfers: the SDK uploads and downloads in blocks and in parallel.
func blockBlobTransfers(e *env) {
	ctx := context.Background()
	content := make([]byte, 5<<20+1)
	for i := range content {
		content[i] = byte(i * i >> 7)
	}
	b := e.blockBlob()
	check := func(blocks int) {
		e.Helper()
		list, err := b.GetBlockList(ctx, blockblob.BlockListTypeAll, nil)
		e.must(err)
		if len(list.CommittedBlocks) != blocks || len(list.UncommittedBlocks) != 0 {
			e.Errorf("got %d and %d uncommitted blocks; want %d and 0", len(list.CommittedBlocks), len(list.UncommittedBlocks), blocks)
		}
		buffer := make([]byte, len(content))
		n, err := b.DownloadBuffer(ctx, buffer, &blob.DownloadBufferOptions{BlockSize: 1<<20 - 1, Concurrency: 3})
		e.must(err)
		if n != int64(len(content)) || !bytes.Equal(buffer, content) {
			e.Errorf("DownloadBuffer: got %d bytes, equal %t; want the content", n, bytes.Equal(buffer, content))
		}
		for _, r := range []blob.HTTPRange{{}, {Offset: 1<<20 - 1, Count: 2}, {Offset: 2 << 20, Count: 1 << 20}, {Offset: 3<<20 - 5, Count: 2 << 20}, {Offset: 5 << 20, Count: 100}} {
			got, err := b.DownloadStream(ctx, &blob.DownloadStreamOptions{Range: r})
			e.must(err)
			text, err := io.ReadAll(got.NewRetryReader(ctx, nil))
			e.must(err)
			end := r.Offset + r.Count
			if r.Count == 0 || end > int64(len(content)) {
				end = int64(len(content))
			}
			if !bytes.Equal(text, content[r.Offset:end]) {
				e.Errorf("range %+v: got %d bytes; want %d to %d", r, len(text), r.Offset, end)
			}
		}
	}
	_, err := b.UploadStream(ctx, bytes.NewReader(content), &blockblob.UploadStreamOptions{BlockSize: 1 << 20, Concurrency: 3})
	e.must(err)
	check(6)
	_, err = b.UploadBuffer(ctx, content, nil)
	e.must(err)
	check(0)
	name := filepath.Join(e.TempDir(), "photo.jpg")
	file, err := os.Create(name)
	e.must(err)
	defer file.Close()
	_, err = b.DownloadFile(ctx, file, &blob.DownloadFileOptions{BlockSize: 1 << 20, Concurrency: 3})
	e.must(err)
	if text, err := os.ReadFile(name); err != nil || !bytes.Equal(text, content) {
		e.Errorf("DownloadFile: got %d bytes, %v; want the content", len(text), err)
	}
}

// blobTypes: a request for another type of blobs fails, and a request that creates a blob replaces one of another type.
func blobTypes(e *env) {
	ctx := context.Background()
	c := e.container()
	asBlock, asAppend := c.NewBlockBlobClient("b"), c.NewAppendBlobClient("b")
	_, err := asAppend.Create(ctx, nil)
	e.must(err)
	_, err1 := asBlock.StageBlock(ctx, "AAAA", block("a"), nil)
	_, err2 := asBlock.CommitBlockList(ctx, nil, nil)
	_, err3 := asBlock.GetBlockList(ctx, blockblob.BlockListTypeAll, nil)
	e.upload(asBlock, "put")
	_, err4 := asAppend.AppendBlock(ctx, block("a"), nil)
	for _, err := range []error{err1, err2, err3, err4} {
		e.wantBlobCode(err, bloberror.InvalidBlobType)
	}
	e.wantText(asBlock, "put")
	_, err = asAppend.Create(ctx, nil)
	e.must(err)
	e.append(asAppend, "x")
}

func listedBlockBlobs(e *env) {
	ctx := context.Background()
	c := e.container()
	e.upload(c.NewBlockBlobClient("photos/1"), "photo")
	e.stage(c.NewBlockBlobClient("photos/2"), "AAAA", "a")
	_, err := c.NewAppendBlobClient("photos/3").Create(ctx, nil)
	e.must(err)
	for _, uncommitted := range []bool{false, true} {
		page, err := c.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Include: container.ListBlobsInclude{UncommittedBlobs: uncommitted}}).NextPage(ctx)
		e.must(err)
		var got []string
		for _, b := range page.Segment.BlobItems {
			got = append(got, fmt.Sprintf("%s:%s:%d", *b.Name, *b.Properties.BlobType, *b.Properties.ContentLength))
			if sum := md5.Sum([]byte("photo")); *b.Name == "photos/1" && !bytes.Equal(b.Properties.ContentMD5, sum[:]) {
				e.Errorf("got MD5 %x; want %x", b.Properties.ContentMD5, sum)
			}
		}
		want := "photos/1:BlockBlob:5 photos/3:AppendBlob:0"
		if uncommitted {
			want = "photos/1:BlockBlob:5 photos/2:BlockBlob:0 photos/3:AppendBlob:0"
		}
		if joined(got) != want {
			e.Errorf("uncommitted %t: got %s; want %s", uncommitted, joined(got), want)
		}
	}
}
