package storagetest_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/storagetest"
)

// stored returns the content of the blob app.log.
func stored(s *storagetest.Service) string {
	for _, b := range s.StoredBlobs("logs") {
		if b.Name == "app.log" {
			return string(b.Content())
		}
	}
	return "missing"
}

// atPosition returns the options of an append at a position.
func atPosition(n int64) *appendblob.AppendBlockOptions {
	return &appendblob.AppendBlockOptions{AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: &n}}
}

// TestBlobFaults: each fault determines the content of a blob after an append, at once and in the end, and what the client
// receives.
func TestBlobFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault   storagetest.Fault
		now     string // with "a" in the blob
		end     string
		wantErr func(error) bool
	}{
		{storagetest.Fault{}, "ab", "ab", fine},
		{storagetest.NotSent(), "a", "a", failed},
		{storagetest.LostRequest(), "a", "a", reset},
		{storagetest.LostResponse(), "ab", "ab", reset},
		{storagetest.Twice(), "abb", "abb", fine},
		{storagetest.LateDuplicate(0), "ab", "abb", fine},
		{storagetest.Late(0), "a", "ab", reset},
		{storagetest.Refuse(503, "ServerBusy"), "a", "a", coded("ServerBusy")},
		{storagetest.ExecuteThenRefuse(500, "OperationTimedOut"), "ab", "ab", coded("OperationTimedOut")},
		{storagetest.Hang(), "a", "a", over},
		{storagetest.ExecuteThenHang(), "ab", "ab", over},
		{storagetest.Slow(time.Second), "ab", "ab", fine},
		{storagetest.ShortPage(0), "ab", "ab", fine},
	} {
		t.Run(c.fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				s := storagetest.New(&storagetest.Options{Client: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}})
				b := newLog(t, s)
				if err := appendText(ctx, b, "a", nil); err != nil {
					t.Fatal(err)
				}
				s.SetFaults(storagetest.OfKind(kinds.BlobAppend, c.fault))
				if err := appendText(ctx, b, "b", nil); !c.wantErr(err) {
					t.Errorf("got error %v", err)
				}
				if got := stored(s); got != c.now {
					t.Errorf("got content %q; want %q", got, c.now)
				}
				s.Deliver()
				if got := stored(s); got != c.end {
					t.Errorf("in the end: got content %q; want %q", got, c.end)
				}
			})
		})
	}
}

// TestAppendRepeated: after a lost response, the SDK's client appends a block twice, unless the block has a position.
func TestAppendRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storagetest.New(nil)
		b := newLog(t, s)
		for _, c := range []struct {
			fault         storagetest.Fault
			options       *appendblob.AppendBlockOptions
			code, content string
		}{
			{storagetest.LostResponse(), nil, "", "aa"},
			{storagetest.LostResponse(), atPosition(2), "AppendPositionConditionNotMet", "aaa"},
			{storagetest.ExecuteThenRefuse(503, "ServerBusy"), atPosition(3), "AppendPositionConditionNotMet", "aaaa"},
			{storagetest.Twice(), atPosition(4), "AppendPositionConditionNotMet", "aaaaa"},
			{storagetest.LostRequest(), atPosition(5), "", "aaaaaa"},
			{storagetest.Refuse(503, "ServerBusy"), nil, "", "aaaaaaa"},
		} {
			s.SetFaults(storagetest.OfKind(kinds.BlobAppend, storagetest.Once(c.fault)))
			if err := appendText(t.Context(), b, "a", c.options); code(err) != c.code || (err == nil) != (c.code == "") {
				t.Errorf("%v: got error %v; want code %q", c.fault, err, c.code)
			}
			if got := stored(s); got != c.content {
				t.Errorf("%v: got content %q; want %q", c.fault, got, c.content)
			}
		}
		// The last attempt of three retries succeeds.
		s.SetFaults(storagetest.OfKind(kinds.BlobAppend, storagetest.Times(3, storagetest.Refuse(503, "ServerBusy"))))
		if err := appendText(t.Context(), b, "b", atPosition(7)); err != nil || stored(s) != "aaaaaaab" {
			t.Errorf("got %v and content %q; want aaaaaaab", err, stored(s))
		}
	})
}

// TestDownloadResumed: the SDK's reader reads on after a cut body, if the blob is the same.
func TestDownloadResumed(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	b := newLog(t, s)
	if err := appendText(t.Context(), b, "0123456789", nil); err != nil {
		t.Fatal(err)
	}
	read := func(before func()) (string, error) {
		got, err := b.DownloadStream(t.Context(), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if got.ContentLength == nil || *got.ContentLength != 9 {
			t.Errorf("got length %v; want 9, also of a cut body", got.ContentLength)
		}
		before()
		content, err := io.ReadAll(got.NewRetryReader(t.Context(), nil))
		return string(content), err
	}
	s.SetFaults(storagetest.OfKind(kinds.BlobGet, storagetest.Times(2, storagetest.Cut(3))))
	s.Count()
	if got, err := read(func() {}); got != "123456789" || err != nil {
		t.Errorf("got %q, %v; want 123456789", got, err)
	}
	if got := s.Count().String(); got != "3 blob-get" {
		t.Errorf("got %s; want 3 blob-get", got)
	}
	// The reader asks for the rest of the blob with the same ETag, so it does not read on after an append.
	s.SetFaults(storagetest.OfKind(kinds.BlobGet, storagetest.Once(storagetest.Cut(3))))
	got, err := read(func() {
		if err := appendText(t.Context(), b, "x", nil); err != nil {
			t.Error(err)
		}
	})
	if got != "123" || code(err) != "ConditionNotMet" {
		t.Errorf("after an append: got %q, %v; want 123 and ConditionNotMet", got, err)
	}
}

// TestDownloadInParallel: the SDK downloads a blob by ranges at once, through cut bodies and busy responses, to a buffer and to a
// file.
func TestDownloadInParallel(t *testing.T) {
	t.Parallel()
	content := make([]byte, 100_000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range content {
		content[i] = byte(rng.Uint32())
	}
	synctest.Test(t, func(t *testing.T) {
		s := storagetest.New(&storagetest.Options{Client: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: 30}}})
		again := blob.RetryReaderOptions{MaxRetries: 30}
		b := newLog(t, s)
		for rest := content; len(rest) > 0; {
			n := min(len(rest), 1+rng.IntN(5000))
			if err := appendText(t.Context(), b, string(rest[:n]), nil); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		s.SetFaults(func(r storagetest.Request) storagetest.Fault {
			switch {
			case r.Kind != kinds.BlobGet:
				return storagetest.Fault{}
			case r.Number%5 == 0:
				return storagetest.Cut(100)
			case r.Number%7 == 0:
				return storagetest.Refuse(503, "ServerBusy")
			case r.Number%11 == 0:
				return storagetest.LostResponse()
			}
			return storagetest.Fault{}
		})
		for _, size := range []int64{1000, 1024, 33_333, 99_999, 100_000, 200_000} {
			buffer := make([]byte, len(content))
			n, err := b.DownloadBuffer(t.Context(), buffer, &blob.DownloadBufferOptions{BlockSize: size, Concurrency: 8, RetryReaderOptionsPerBlock: again})
			if err != nil || n != int64(len(content)) || !bytes.Equal(buffer, content) {
				t.Errorf("blocks of %d: got %d bytes, %v, equal %v; want the content", size, n, err, bytes.Equal(buffer, content))
			}
		}
		s.SetFaults(storagetest.When(func(r storagetest.Request) bool { return r.Kind == kinds.BlobGet && r.Number%3 == 0 }, storagetest.Cut(-1)))
		file, err := os.Create(filepath.Join(t.TempDir(), "app.log"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := b.DownloadFile(t.Context(), file, &blob.DownloadFileOptions{BlockSize: 4096, Concurrency: 5, Range: blob.HTTPRange{Offset: 1234, Count: 50_000}, RetryReaderOptionsPerBlock: again}); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file.Name())
		if err != nil || !bytes.Equal(got, content[1234:51_234]) {
			t.Errorf("file: got %d bytes, %v; want bytes 1234 to 51233", len(got), err)
		}
		// An empty blob is no range.
		empty := s.Blobs().NewContainerClient("logs").NewAppendBlobClient("empty")
		if _, err := empty.Create(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if n, err := empty.DownloadBuffer(t.Context(), nil, nil); n != 0 || err != nil {
			t.Errorf("empty blob: got %d bytes, %v; want none", n, err)
		}
	})
}

// TestDownloadTruncated: the SDK does not notice a body that ends early without an error, so a reader must compare its length.
func TestDownloadTruncated(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	b := newLog(t, s)
	if err := appendText(t.Context(), b, strings.Repeat("x", 100), nil); err != nil {
		t.Fatal(err)
	}
	s.SetFaults(storagetest.OfKind(kinds.BlobGet, storagetest.Truncate(10)))
	got, err := b.DownloadStream(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(got.NewRetryReader(t.Context(), nil))
	if len(content) != 10 || err != nil || got.ContentLength != nil {
		t.Errorf("got %d bytes, length %v, %v; want 10 bytes without a length", len(content), got.ContentLength, err)
	}
}

// TestNotModified: the SDK reports a read whose condition is not met as success without content.
func TestNotModified(t *testing.T) {
	t.Parallel()
	b := newLog(t, storagetest.New(nil))
	p, err := b.GetProperties(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.DownloadStream(t.Context(), &blob.DownloadStreamOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: p.ETag}}})
	if err != nil || got.ErrorCode == nil || *got.ErrorCode != "ConditionNotMet" {
		t.Errorf("got %v, %v; want ConditionNotMet without an error", got.ErrorCode, err)
	}
	_, err = b.SetMetadata(t.Context(), map[string]*string{"a1": to.Ptr("1"), "a_b": to.Ptr("2"), "ab": to.Ptr("3")}, nil)
	if err != nil {
		t.Errorf("metadata whose names sort differently in a signature: got %v; want none", err)
	}
}
