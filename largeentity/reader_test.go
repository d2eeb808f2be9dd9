package largeentity_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestUploadCutOff: a request whose body breaks off, which net/http reports by io.ErrUnexpectedEOF, is not the end of the value.
func TestUploadCutOff(t *testing.T) {
	t.Parallel()
	fx, s := newFixture(t, nil)
	for _, n := range []int{0, 5, 8, 9, 12, 15, 16, 17, 40, 64} {
		for name, r := range map[string]io.Reader{
			"apart":       io.MultiReader(strings.NewReader(text(n)), iotest.ErrReader(io.ErrUnexpectedEOF)),
			"with a byte": io.MultiReader(strings.NewReader(text(n)), &lastByte{io.ErrUnexpectedEOF}),
		} {
			if b, err := fx.photos.Upload(context.Background(), at(1), r, ""); !errors.Is(err, io.ErrUnexpectedEOF) || !b.IsZero() {
				t.Errorf("after %d bytes, %s: got %v, error %v; want io.ErrUnexpectedEOF", n, name, b, err)
			}
		}
	}
	testkit.Expect(t, "blobs", len(s.StoredBlobs("photos")), 0)
}

// lastByte is a reader that returns a byte together with its error.
type lastByte struct{ err error }

func (l *lastByte) Read(p []byte) (int, error) { p[0] = 'x'; return 1, l.err }

// idle is a reader that never returns anything.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// TestUploadIdleReader: a reader that returns neither bytes nor an error does not keep Upload for ever.
func TestUploadIdleReader(t *testing.T) {
	t.Parallel()
	fx, _ := newFixture(t, nil)
	for _, n := range []int{0, 16, 20} {
		done := make(chan error, 1)
		go func() {
			_, err := fx.photos.Upload(context.Background(), at(1), io.MultiReader(strings.NewReader(text(n)), idle{}), "")
			done <- err
		}()
		select {
		case err := <-done:
			if !errors.Is(err, io.ErrNoProgress) {
				t.Errorf("after %d bytes: got error %v; want io.ErrNoProgress", n, err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("Upload does not return")
		}
	}
}

// endless is a reader that ends a context after some bytes, and goes on.
type endless struct {
	cancel func()
	reads  int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.reads++; e.reads == 3 {
		e.cancel()
	}
	if e.reads > 1000 {
		return 0, errors.New("read too often")
	}
	p[0] = 'x'
	return 1, nil
}

// TestUploadContextEnds: Upload stops reading when the context ends, also within a block.
func TestUploadContextEnds(t *testing.T) {
	t.Parallel()
	fx, _ := newFixture(t, &largeentity.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := fx.photos.Upload(ctx, at(1), &endless{cancel: cancel}, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v; want context.Canceled", err)
	}
}

// TestUploadOneBlock: a value of exactly one block takes one request.
func TestUploadOneBlock(t *testing.T) {
	t.Parallel()
	fx, s := newFixture(t, nil)
	for _, n := range []int{15, 16} {
		fx.expectContent(t, "content", fx.upload(t, text(n)), text(n))
		expectCounts(t, s, "upload", requests.Counts{kinds.BlobCreate: 1, kinds.BlobGet: 1})
	}
	fx.upload(t, text(17))
	expectCounts(t, s, "two blocks", requests.Counts{kinds.BlobStage: 2, kinds.BlobCommit: 1})
}

// inFlight counts the blocks that are sent at the same time.
type inFlight struct {
	*storagetest.Service
	now, most atomic.Int64
}

func (f *inFlight) Do(r *http.Request) (*http.Response, error) {
	if requests.KindOf(r) != kinds.BlobStage {
		return f.Service.Do(r)
	}
	n := f.now.Add(1)
	defer f.now.Add(-1)
	for m := f.most.Load(); n > m && !f.most.CompareAndSwap(m, n); m = f.most.Load() {
	}
	time.Sleep(time.Second) // in a bubble: until all others wait
	return f.Service.Do(r)
}

// TestBlocksInFlight: no more blocks are sent at the same time than the option says.
func TestBlocksInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{1, 3} {
			s := &inFlight{Service: storagetest.New(nil)}
			o := small()
			o.BlocksInFlight = n
			fx := newFixtureOn(t, s.Service, s, o)
			fx.upload(t, text(400))
			testkit.Expect(t, "blocks at the same time", s.most.Load(), int64(n))
		}
	})
	o := small()
	o.BlocksInFlight = 1 << 40
	var limit *table.LimitError
	fx, _ := newFixture(t, nil)
	if err := fx.refusal("photos", o); !errors.As(err, &limit) {
		t.Errorf("got error %v; want a LimitError", err)
	}
}
