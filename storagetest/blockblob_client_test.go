package storagetest_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

// newPhoto returns the client of a block blob called app.log, which does not exist, in a container called logs.
func newPhoto(t *testing.T, s *storagetest.Service) *blockblob.Client {
	t.Helper()
	c := s.Blobs().NewContainerClient("logs")
	if _, err := c.Create(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return c.NewBlockBlobClient("app.log")
}

// pixels returns random bytes.
func pixels(n int) []byte {
	content := make([]byte, n)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range content {
		content[i] = byte(rng.Uint32())
	}
	return content
}

// TestUploads: the SDK's client uploads a block blob in one request or in blocks, through faults, and downloads it in ranges.
func TestUploads(t *testing.T) {
	t.Parallel()
	content := pixels(3_500_000)
	synctest.Test(t, func(t *testing.T) {
		s := storagetest.New(&storagetest.Options{Client: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: 30}}})
		b := newPhoto(t, s)
		faults := func(r storagetest.Request) storagetest.Fault {
			switch {
			case r.Number%5 == 0 && r.Kind != kinds.BlobCommit:
				return storagetest.Refuse(503, "ServerBusy")
			case r.Number%7 == 0:
				return storagetest.LostResponse()
			case r.Number%11 == 0 && r.Kind == kinds.BlobGet:
				return storagetest.Cut(100)
			case r.Number%13 == 0 && r.Kind == kinds.BlobStage:
				return storagetest.Twice()
			}
			return storagetest.Fault{}
		}
		headers := &blob.HTTPHeaders{BlobContentType: to.Ptr("image/jpeg"), BlobContentLanguage: to.Ptr("en"), BlobContentEncoding: to.Ptr("identity"),
			BlobContentDisposition: to.Ptr("inline"), BlobCacheControl: to.Ptr("no-store")}
		metadata := map[string]*string{"employee": to.Ptr("jones")}
		for _, c := range []struct {
			name   string
			upload func() error
			blocks int
		}{
			{"short stream", func() error {
				_, err := b.UploadStream(t.Context(), bytes.NewReader(content), &blockblob.UploadStreamOptions{BlockSize: 4 << 20, HTTPHeaders: headers, Metadata: metadata})
				return err
			}, 1},
			{"stream of blocks", func() error {
				_, err := b.UploadStream(t.Context(), shortReads{bytes.NewReader(content)}, &blockblob.UploadStreamOptions{BlockSize: 1 << 20, Concurrency: 4, HTTPHeaders: headers, Metadata: metadata})
				return err
			}, 4},
			{"buffer", func() error {
				_, err := b.UploadBuffer(t.Context(), content, &blockblob.UploadBufferOptions{HTTPHeaders: headers, Metadata: metadata})
				return err
			}, 1},
			{"blocks of a list", func() error {
				var ids []string
				for i, at := range []int{0, 1_400_000, 2_800_000} {
					ids = append(ids, []string{"AAAA", "BBBB", "CCCC"}[i])
					part := streaming.NopCloser(bytes.NewReader(content[at:min(at+1_400_000, len(content))]))
					if _, err := b.StageBlock(t.Context(), ids[i], part, &blockblob.StageBlockOptions{TransactionalValidation: blob.TransferValidationTypeComputeCRC64()}); err != nil {
						return err
					}
				}
				_, err := b.CommitBlockList(t.Context(), ids, &blockblob.CommitBlockListOptions{HTTPHeaders: headers, Metadata: metadata})
				return err
			}, 3},
		} {
			s.SetFaults(faults)
			if err := c.upload(); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			stored := s.StoredBlobs("logs")[0]
			if stored.Type != "BlockBlob" || len(stored.Blocks) != c.blocks || !bytes.Equal(stored.Content(), content) || stored.Metadata["employee"] != "jones" {
				t.Errorf("%s: got type %s, %d blocks, metadata %v, equal %v; want a block blob of %d blocks with the content", c.name, stored.Type, len(stored.Blocks), stored.Metadata, bytes.Equal(stored.Content(), content), c.blocks)
			}
			p, err := b.GetProperties(t.Context(), nil)
			if err != nil || *p.ContentType != "image/jpeg" || *p.ContentLanguage != "en" || *p.ContentEncoding != "identity" || *p.ContentDisposition != "inline" || *p.CacheControl != "no-store" {
				t.Errorf("%s: got properties %+v, %v; want the headers", c.name, p, err)
			}
			wantMD5 := []byte(nil) // the client knows no MD5 of a list of blocks
			if c.blocks == 1 {
				sum := md5.Sum(content)
				wantMD5 = sum[:]
			}
			if !bytes.Equal(p.ContentMD5, wantMD5) {
				t.Errorf("%s: got MD5 %x; want %x", c.name, p.ContentMD5, wantMD5)
			}
			again := blob.RetryReaderOptions{MaxRetries: 30}
			buffer := make([]byte, len(content))
			n, err := b.DownloadBuffer(t.Context(), buffer, &blob.DownloadBufferOptions{BlockSize: 33_333, Concurrency: 8, RetryReaderOptionsPerBlock: again})
			if err != nil || n != int64(len(content)) || !bytes.Equal(buffer, content) {
				t.Errorf("%s: got %d bytes, %v; want the content", c.name, n, err)
			}
			got, err := b.DownloadStream(t.Context(), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 1_399_999, Count: 20_001}})
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(got.NewRetryReader(t.Context(), &again))
			if err != nil || !bytes.Equal(text, content[1_399_999:1_420_000]) {
				t.Errorf("%s: got %d bytes of a range, %v; want bytes 1399999 to 1419999", c.name, len(text), err)
			}
			file, err := os.Create(filepath.Join(t.TempDir(), "photo.jpg"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.DownloadFile(t.Context(), file, &blob.DownloadFileOptions{BlockSize: 40_960, Concurrency: 5, RetryReaderOptionsPerBlock: again})
			file.Close()
			if text, _ := os.ReadFile(file.Name()); err != nil || !bytes.Equal(text, content) {
				t.Errorf("%s: got a file of %d bytes, %v; want the content", c.name, len(text), err)
			}
		}
	})
}

// shortReads returns the bytes of a reader in short reads.
type shortReads struct{ r io.Reader }

func (r shortReads) Read(b []byte) (int, error) { return r.r.Read(b[:min(len(b), 777)]) }

// TestBlockBlobFaults: each fault determines the content of a blob after a single put, a block and a block list, at once and in the
// end, and what the client receives.
func TestBlockBlobFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault    storagetest.Fault
		now, end bool // whether the request has been executed
		wantErr  func(error) bool
	}{
		{storagetest.Fault{}, true, true, fine},
		{storagetest.NotSent(), false, false, failed},
		{storagetest.LostRequest(), false, false, reset},
		{storagetest.LostResponse(), true, true, reset},
		{storagetest.Twice(), true, true, fine},
		{storagetest.LateDuplicate(0), true, true, fine},
		{storagetest.Late(0), false, true, reset},
		{storagetest.Refuse(503, "ServerBusy"), false, false, coded("ServerBusy")},
		{storagetest.ExecuteThenRefuse(500, "OperationTimedOut"), true, true, coded("OperationTimedOut")},
		{storagetest.Hang(), false, false, over},
		{storagetest.ExecuteThenHang(), true, true, over},
		{storagetest.Slow(time.Second), true, true, fine},
	} {
		for kind, request := range map[requests.Kind]func(context.Context, *blockblob.Client) error{
			kinds.BlobCreate: func(ctx context.Context, b *blockblob.Client) error {
				_, err := b.Upload(ctx, streaming.NopCloser(strings.NewReader("new")), nil)
				return err
			},
			kinds.BlobStage: func(ctx context.Context, b *blockblob.Client) error {
				_, err := b.StageBlock(ctx, "BBBB", streaming.NopCloser(strings.NewReader("new")), nil)
				return err
			},
			kinds.BlobCommit: func(ctx context.Context, b *blockblob.Client) error {
				_, err := b.CommitBlockList(ctx, []string{"AAAA"}, nil)
				return err
			},
		} {
			t.Run(string(kind)+" "+c.fault.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					defer cancel()
					s := storagetest.New(&storagetest.Options{Client: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}})
					b := newPhoto(t, s)
					_, err1 := b.Upload(ctx, streaming.NopCloser(strings.NewReader("old")), nil)
					_, err2 := b.StageBlock(ctx, "AAAA", streaming.NopCloser(strings.NewReader("new")), nil)
					if err := errors.Join(err1, err2); err != nil {
						t.Fatal(err)
					}
					s.SetFaults(storagetest.OfKind(kind, c.fault))
					if err := request(ctx, b); !c.wantErr(err) {
						t.Errorf("got error %v", err)
					}
					check := func(when string, executed bool) {
						t.Helper()
						s.SetFaults(nil)
						list, err := b.GetBlockList(context.Background(), blockblob.BlockListTypeAll, nil)
						if err != nil {
							t.Fatal(err)
						}
						got := stored(s)
						for _, block := range list.UncommittedBlocks {
							got += " " + *block.Name
						}
						want := "old AAAA"
						if executed {
							want = map[requests.Kind]string{kinds.BlobCreate: "new", kinds.BlobStage: "old AAAA BBBB", kinds.BlobCommit: "new"}[kind]
						}
						if got != want {
							t.Errorf("%s: got content and uncommitted blocks %q; want %q", when, got, want)
						}
					}
					check("now", c.now)
					s.Deliver()
					check("in the end", c.end)
				})
			})
		}
	}
}

// TestUploadNotModified: a download with If-None-Match of the blob's ETag responds 304 without content, which the SDK reports without
// an error.
func TestUploadNotModified(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	b := newPhoto(t, s)
	up, err := b.UploadBuffer(t.Context(), []byte("content"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.DownloadStream(t.Context(), &blob.DownloadStreamOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: up.ETag}}})
	if err != nil || got.ErrorCode == nil || *got.ErrorCode != "ConditionNotMet" {
		t.Fatalf("got %v, %v; want ConditionNotMet without an error", got.ErrorCode, err)
	}
	if got.Body != nil {
		t.Error("got a body; want none")
	}
	if r := s.Requests(); r[len(r)-1].Status != 304 {
		t.Errorf("got %v; want status 304", r[len(r)-1])
	}
}

// TestLargeBlob: a blob of 100 MiB is stored with one copy of its content, and read with one more. The test runs alone, because it
// measures the allocations of the process.
func TestLargeBlob(t *testing.T) {
	const size, blockSize = 100 << 20, 4 << 20
	s := storagetest.New(nil)
	b := newPhoto(t, s)
	block := pixels(blockSize)
	allocated := func(f func()) int64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	var ids []string
	if got := allocated(func() {
		for i := range size / blockSize {
			ids = append(ids, []string{"AAAA", "BBBB"}[i%2]+string(rune('A'+i/2))+"AAA")
			if _, err := b.StageBlock(t.Context(), ids[i], streaming.NopCloser(bytes.NewReader(block)), nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.CommitBlockList(t.Context(), ids, nil); err != nil {
			t.Fatal(err)
		}
	}); got > size*11/10 {
		t.Errorf("writing: got %d MiB of allocations; want at most 110", got>>20)
	}
	if got := allocated(func() {
		got, err := b.DownloadStream(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		sum, want := sha256.New(), sha256.New()
		for range ids {
			want.Write(block)
		}
		if n, err := io.Copy(sum, got.Body); n != size || err != nil || !bytes.Equal(sum.Sum(nil), want.Sum(nil)) {
			t.Errorf("got %d bytes, %v; want the content", n, err)
		}
	}); got > size*11/10 {
		t.Errorf("reading: got %d MiB of allocations; want at most 110", got>>20)
	}
	if got := allocated(func() {
		for range 10 {
			if _, err := b.DownloadBuffer(t.Context(), block, &blob.DownloadBufferOptions{Range: blob.HTTPRange{Offset: 8 << 20, Count: blockSize}, Concurrency: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}); got > blockSize {
		t.Errorf("reading single blocks: got %d KiB of allocations; want less than a block", got>>10)
	}
}
