package largeentity_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/internal/testkit/valuestest"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestUploadReaders: readers that return little at a time, or fail half-way.
func TestUploadReaders(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	content := text(100)
	for name, r := range map[string]io.Reader{
		"bytes": iotest.OneByteReader(strings.NewReader(content)), "halves": iotest.HalfReader(strings.NewReader(content)),
		"data and error": iotest.DataErrReader(strings.NewReader(content)),
	} {
		b, err := fx.photos.Upload(ctx, at(1), r, "")
		must(t, err)
		fx.expectContent(t, name, b, content)
	}
	broken := errors.New("the disk is broken")
	for _, n := range []int{5, 12} { // stored in the entity, and as a blob
		once := iotest.DataErrReader(strings.NewReader(content[:n])) // io.EOF comes with the last byte
		b, err := fx.photos.Upload(ctx, at(1), &endsOnce{r: once, again: broken}, "")
		must(t, err)
		fx.expectContent(t, "a reader that must not be read behind its end", b, content[:n])
	}
	blobs := len(s.StoredBlobs("photos"))
	for _, n := range []int{0, 5, 8, 9, 15, 16, 17, 40, 64} {
		b, err := fx.photos.Upload(ctx, at(1), io.MultiReader(strings.NewReader(content[:n]), iotest.ErrReader(broken)), "")
		if !errors.Is(err, broken) || !b.IsZero() {
			t.Errorf("after %d bytes: got %v, error %v; want the reader's error", n, b, err)
		}
	}
	testkit.Expect(t, "blobs", len(s.StoredBlobs("photos")), blobs)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := fx.photos.Upload(canceled, at(1), strings.NewReader(content), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v; want context.Canceled", err)
	}
}

// endsOnce is a reader that fails if it is read again behind its end.
type endsOnce struct {
	r     io.Reader
	again error
	ended bool
}

func (e *endsOnce) Read(p []byte) (int, error) {
	if e.ended {
		return 0, e.again
	}
	n, err := e.r.Read(p)
	e.ended = err == io.EOF
	return n, err
}

// TestUploadErrors: what cannot be uploaded is refused before anything is sent.
func TestUploadErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	var value *table.ValueError
	var limit *table.LimitError
	for _, contentType := range []string{"image/jpeg\r\nx-evil: 1", " image/jpeg", "bild/größe", strings.Repeat("x", 256)} {
		if _, err := fx.photos.Upload(ctx, at(1), strings.NewReader(""), contentType); !errors.As(err, &value) {
			t.Errorf("content type %.20q: got error %v; want a ValueError", contentType, err)
		}
	}
	if _, err := fx.photos.Upload(ctx, at(1), nil, ""); !errors.As(err, &value) {
		t.Errorf("got error %v; want a ValueError", err)
	}
	if _, err := fx.photos.Upload(ctx, keys.At(keys.RawPartition("a/b"), empid.RowKey(1)), strings.NewReader(""), ""); err == nil {
		t.Error("got no error of a wrong key")
	}
	long := keys.At(keys.RawPartition(strings.Repeat("|", 512)), empid.RowKey(1))
	if _, err := fx.photos.Upload(ctx, long, strings.NewReader(""), ""); !errors.As(err, &limit) {
		t.Errorf("got error %v; want a LimitError", err)
	}
	expectCounts(t, s, "refused", requests.Counts{})
	missing, _, err := valuestest.New(fx.base, fx.account, "missing", small())
	must(t, err)
	for _, n := range []int{10, 100} {
		if _, err := missing.Upload(ctx, at(1), strings.NewReader(text(n)), ""); !errors.Is(err, table.ErrNotCreated) {
			t.Errorf("%d bytes: got error %v; want ErrNotCreated", n, err)
		}
	}
}

// TestUploadTooManyBlocks: a blob has at most 50,000 blocks.
func TestUploadTooManyBlocks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: sends 50,000 blocks")
	}
	o := small()
	o.BlockSize = 1
	s := storagetest.New(nil)
	fx := newFixtureOn(t, s, stagesNothing{s}, o)
	var limit *table.LimitError
	if _, err := fx.photos.Upload(context.Background(), at(1), strings.NewReader(text(50_010)), ""); !errors.As(err, &limit) {
		t.Errorf("got error %v; want a LimitError", err)
	}
	testkit.Expect(t, "blobs", len(s.StoredBlobs("photos")), 0)
}

// stagesNothing confirms each block without storing it, which takes less time.
type stagesNothing struct{ *storagetest.Service }

func (s stagesNothing) Do(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("comp") != "block" {
		return s.Service.Do(r)
	}
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"X-Ms-Request-Id": {"1"}}, Body: http.NoBody, Request: r}, nil
}

// TestUploadLostResponses: an upload whose responses are lost is stored once, and its properties tell so.
func TestUploadLostResponses(t *testing.T) {
	t.Parallel()
	for _, kind := range []requests.Kind{kinds.BlobCreate, kinds.BlobStage, kinds.BlobCommit} {
		for name, fault := range map[string]storagetest.Fault{"lost": storagetest.LostResponse(), "twice": storagetest.Twice(), "busy": storagetest.Refuse(503, "ServerBusy")} {
			t.Run(fmt.Sprint(kind, " ", name), func(t *testing.T) {
				t.Parallel()
				fx, s := newFixture(t, nil)
				s.SetFaults(storagetest.OfKind(kind, storagetest.Times(2, fault)))
				n := 100
				if kind == kinds.BlobCreate {
					n = 12
				}
				b := fx.upload(t, text(n))
				fx.expectContent(t, name, b, text(n))
				testkit.Expect(t, "blobs", len(s.StoredBlobs("photos")), 1)
			})
		}
	}
	o := small()
	o.WriteTimeout = 20 * time.Millisecond
	fx, s := newFixture(t, o)
	s.SetFaults(storagetest.OfKind(kinds.BlobCommit, storagetest.Refuse(503, "ServerBusy")))
	if _, err := fx.photos.Upload(context.Background(), at(1), strings.NewReader(text(100)), ""); !errors.Is(err, table.ErrUnreachable) {
		t.Errorf("got error %v; want ErrUnreachable", err)
	}
}

// TestUploadRefusedBlock: a block that is refused ends an upload with several blocks in flight, and so does a reader that fails.
func TestUploadRefusedBlock(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := small()
	o.BlocksInFlight = 4
	fx, s := newFixture(t, o)
	s.SetFaults(storagetest.OfKind(kinds.BlobStage, storagetest.Refuse(403, "AuthorizationFailure")))
	if _, err := fx.photos.Upload(ctx, at(1), strings.NewReader(text(1000)), ""); !errors.Is(err, table.ErrUnreachable) {
		t.Errorf("got error %v; want ErrUnreachable", err)
	}
	s.SetFaults(nil)
	broken := errors.New("the disk is broken")
	if _, err := fx.photos.Upload(ctx, at(1), io.MultiReader(strings.NewReader(text(500)), iotest.ErrReader(broken)), ""); !errors.Is(err, broken) {
		t.Errorf("got error %v; want the reader's", err)
	}
	b := fx.upload(t, text(1000))
	fx.expectContent(t, "content", b, text(1000))
	testkit.Expect(t, "blobs", len(s.StoredBlobs("photos")), 1)
}

// TestMetadata: a blob has its content type and its hash, for other programs.
func TestMetadata(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, _ := newFixture(t, nil)
	for _, n := range []int{12, 100} {
		b, err := fx.photos.Upload(ctx, at(1), strings.NewReader(text(n)), "text/plain")
		must(t, err)
		p, err := fx.account.Blobs().NewContainerClient("photos").NewBlobClient(b.Name()).GetProperties(ctx, nil)
		must(t, err)
		sum := ""
		for key, v := range p.Metadata {
			if strings.EqualFold(key, "sha256") {
				sum = *v
			}
		}
		testkit.Expect(t, "properties", fmt.Sprint(*p.ContentType, " ", sum), "text/plain "+b.SHA256())
	}
}

// TestUploadRefusedLastBlock: an upload whose last block is refused ends with the error of that block, and commits nothing.
func TestUploadRefusedLastBlock(t *testing.T) {
	t.Parallel()
	o := small()
	o.BlocksInFlight = 4
	fx, s := newFixture(t, o)
	last := base64.StdEncoding.EncodeToString([]byte("00000001"))
	s.SetFaults(storagetest.When(func(r storagetest.Request) bool {
		u, err := url.Parse(r.URL)
		return err == nil && u.Query().Get("blockid") == last
	}, storagetest.Refuse(403, "AuthorizationFailure")))
	if _, err := fx.photos.Upload(context.Background(), at(1), strings.NewReader(text(24)), ""); !errors.Is(err, table.ErrUnreachable) {
		t.Errorf("got error %v; want ErrUnreachable", err)
	}
	testkit.Expect(t, "commits", s.Count()[kinds.BlobCommit], 0)
}
