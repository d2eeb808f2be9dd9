package storagetest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/storagetest"
)

// sendBlobRequests sends a request of each kind to the Blob service.
func sendBlobRequests(t *testing.T, blobs *service.Client) {
	t.Helper()
	ctx := context.Background()
	c := blobs.NewContainerClient("logs")
	b := c.NewAppendBlobClient("sales/2014/000001.log")
	metadata := map[string]*string{"first": to.Ptr("1")}
	_, err1 := c.Create(ctx, nil)
	_, err2 := c.SetMetadata(ctx, &container.SetMetadataOptions{Metadata: metadata})
	_, err3 := c.GetProperties(ctx, nil)
	_, err4 := blobs.NewListContainersPager(nil).NextPage(ctx)
	_, err5 := b.Create(ctx, nil)
	_, err6 := b.AppendBlock(ctx, streaming.NopCloser(strings.NewReader("line\n")), nil)
	_, err7 := b.GetProperties(ctx, nil)
	_, err8 := b.SetMetadata(ctx, metadata, nil)
	_, err9 := b.SetHTTPHeaders(ctx, blob.HTTPHeaders{BlobContentType: to.Ptr("text/plain")}, nil)
	_, err10 := b.DownloadStream(ctx, nil)
	_, err11 := c.NewListBlobsFlatPager(nil).NextPage(ctx)
	_, err12 := c.NewListBlobsHierarchyPager("/", nil).NextPage(ctx)
	photo := c.NewBlockBlobClient("photo.jpg")
	_, err13 := photo.StageBlock(ctx, "AAAA", streaming.NopCloser(strings.NewReader("pixels")), nil)
	_, err14 := photo.GetBlockList(ctx, blockblob.BlockListTypeAll, nil)
	_, err15 := photo.CommitBlockList(ctx, []string{"AAAA"}, nil)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, err11, err12, err13, err14, err15); err != nil {
		t.Fatal(err)
	}
	ofBlob, err1 := lease.NewBlobClient(b, nil)
	ofContainer, err2 := lease.NewContainerClient(c, nil)
	_, err3 = ofBlob.AcquireLease(ctx, 15, nil)
	_, err4 = ofBlob.ReleaseLease(ctx, nil)
	_, err5 = ofContainer.AcquireLease(ctx, 15, nil)
	_, err6 = ofContainer.ReleaseLease(ctx, nil)
	_, err7 = b.Delete(ctx, nil)
	_, err8 = c.Delete(ctx, nil)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
		t.Fatal(err)
	}
}

// newLog creates an append blob called app.log in a container called logs.
func newLog(t *testing.T, s *storagetest.Service) *appendblob.Client {
	t.Helper()
	c := s.Blobs().NewContainerClient("logs")
	if _, err := c.Create(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	b := c.NewAppendBlobClient("app.log")
	if _, err := b.Create(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return b
}

// appendText appends a block.
func appendText(ctx context.Context, b *appendblob.Client, text string, o *appendblob.AppendBlockOptions) error {
	_, err := b.AppendBlock(ctx, streaming.NopCloser(strings.NewReader(text)), o)
	return err
}

// TestBlobAtPort: the Blob service works at a port.
func TestBlobAtPort(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	cs := listen(t, s)
	blobs, err := service.NewClientFromConnectionString(cs, nil)
	if err != nil {
		t.Fatal(err)
	}
	sendBlobRequests(t, blobs)
	b := blobs.NewContainerClient("photos").NewAppendBlobClient("../ä b/%2F?#.log")
	if _, err := blobs.NewContainerClient("photos").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := appendText(t.Context(), b, "hello", nil); err != nil {
		t.Fatal(err)
	}
	// A cut body has the length of the whole, and the SDK's reader reads on.
	s.SetFaults(storagetest.OfKind(kinds.BlobGet, storagetest.Once(storagetest.Cut(2))))
	got, err := b.DownloadStream(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(got.NewRetryReader(t.Context(), nil))
	if err != nil || !bytes.Equal(content, []byte("hello")) || *got.ContentLength != 5 {
		t.Errorf("got %q of %d, %v; want hello", content, *got.ContentLength, err)
	}
	if all := s.StoredBlobs("photos"); len(all) != 1 || all[0].Name != "../ä b/%2F?#.log" || string(all[0].Content()) != "hello" {
		t.Errorf("got blobs %v; want one with its name and content", all)
	}
}

// TestBlockMemory: the memory of small blocks is that of their content, not that of the buffers of their requests.
func TestBlockMemory(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	b := newLog(t, s)
	for range 100 {
		if err := appendText(t.Context(), b, "0123456789abcdef", nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, block := range s.StoredBlobs("logs")[0].Blocks {
		if cap(block) > 32 {
			t.Fatalf("got a block of %d bytes with capacity %d; want at most 32", len(block), cap(block))
		}
	}
}
