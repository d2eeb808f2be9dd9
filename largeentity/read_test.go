package largeentity_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// responses is a service whose responses to reads of blobs a test changes.
type responses struct {
	*storagetest.Service
	change func(*http.Response)
}

func (r *responses) Do(req *http.Request) (*http.Response, error) {
	resp, err := r.Service.Do(req)
	if err == nil && r.change != nil && requests.KindOf(req) == kinds.BlobGet {
		r.change(resp)
	}
	return resp, err
}

// overwrite replaces the content of a blob, as another program may do.
func (fx *fixture) overwrite(t testing.TB, name, content string) {
	t.Helper()
	_, err := fx.account.Blobs().NewContainerClient("photos").NewBlockBlobClient(name).Upload(context.Background(), streaming.NopCloser(strings.NewReader(content)), &blockblob.UploadOptions{})
	must(t, err)
}

// TestSizes: values of all sizes come back, whole and in ranges.
func TestSizes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, o := range []*largeentity.Options{nil, {InlineUpTo: -1}, {InlineUpTo: 64 << 10, BlockSize: 1 << 20, BlocksInFlight: 3}, {BlockSize: 64 << 10}} {
		fx, s := newFixture(t, o)
		if o == nil {
			fx, s = newFixture(t, &largeentity.Options{})
			o = &largeentity.Options{}
		}
		for i, n := range testkit.Some([]int{0, 1, 32<<10 - 1, 32 << 10, 32<<10 + 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 3 << 20, 4 << 20, 4<<20 + 1}) {
			content := text(n)
			b := fx.upload(t, content)
			e, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: i, Photo: b})
			must(t, err)
			if e, err = fx.staff.Get(ctx, e.Key); err != nil || e.Value.Photo != b || b.Size() != int64(n) {
				t.Errorf("%d bytes: got %v, error %v; want %v", n, e.Value.Photo, err, b)
			}
			fx.expectContent(t, fmt.Sprint(n, " bytes"), e.Value.Photo, content)
			for _, part := range [][2]int{{0, 0}, {0, n}, {n / 2, n - n/2}, {n, 0}, {min(n, 7), min(n-min(n, 7), 100)}} {
				r, err := fx.photos.OpenRange(ctx, b, int64(part[0]), int64(part[1]))
				must(t, err)
				got, err := io.ReadAll(r)
				must(t, errors.Join(err, r.Close()))
				if string(got) != content[part[0]:part[0]+part[1]] {
					t.Errorf("%d bytes, range %v: got %d bytes %.20q; want %.20q", n, part, len(got), got, content[part[0]:])
				}
			}
		}
		testkit.Expect(t, "sweep", fx.sweep(t, nil).Missing, 0)
		if len(s.StoredBlobs("photos")) == 0 {
			t.Error("got no blobs")
		}
	}
}

// TestReadBroken: a blob that is not the uploaded one is an error, and never the end of a value.
func TestReadBroken(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	content := text(1000)
	for name, test := range map[string]struct {
		change func(*fixture, largeentity.Blob)
		want   error
	}{
		"deleted": {func(fx *fixture, b largeentity.Blob) {
			_, err := fx.account.Blobs().NewContainerClient("photos").NewBlobClient(b.Name()).Delete(ctx, nil)
			must(t, err)
		}, largeentity.ErrBlobNotFound},
		"other content": {func(fx *fixture, b largeentity.Blob) { fx.overwrite(t, b.Name(), "x"+content[1:]) }, table.ErrAltered},
		"last byte":     {func(fx *fixture, b largeentity.Blob) { fx.overwrite(t, b.Name(), content[:999]+"x") }, table.ErrAltered},
		"shorter":       {func(fx *fixture, b largeentity.Blob) { fx.overwrite(t, b.Name(), content[:999]) }, table.ErrAltered},
		"longer":        {func(fx *fixture, b largeentity.Blob) { fx.overwrite(t, b.Name(), content+"x") }, table.ErrAltered},
		"empty":         {func(fx *fixture, b largeentity.Blob) { fx.overwrite(t, b.Name(), "") }, table.ErrAltered},
		"no container": {func(fx *fixture, _ largeentity.Blob) {
			must(t, second(fx.account.Blobs().NewContainerClient("photos").Delete(ctx, nil)))
		}, table.ErrNotCreated},
		"another's store": {func(*fixture, largeentity.Blob) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx, _ := newFixture(t, nil)
			b := fx.upload(t, content)
			test.change(fx, b)
			_, err := fx.photos.ReadAll(ctx, b)
			switch {
			case name == "another's store":
				other := valuesOf(t, fx, "other")
				if _, err = other.Open(ctx, b); !errors.Is(err, largeentity.ErrForeignBlob) {
					t.Errorf("got error %v; want ErrForeignBlob", err)
				}
			case test.want == nil && err == nil, !errors.Is(err, test.want):
				t.Errorf("got error %v; want %v", err, test.want)
			}
			if r, err := fx.photos.OpenRange(ctx, b, 10, 20); err == nil && name != "other content" && name != "last byte" && name != "another's store" {
				got, err := io.ReadAll(r)
				t.Errorf("a range: got %q, error %v; want an error", got, err)
			}
		})
	}
}

// TestBlobReadNotModified (304 with nil error and empty body) and other responses that are no reads of the blob.
func TestBlobReadNotModified(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	status := func(code int, body string) func(*http.Response) {
		return func(r *http.Response) {
			r.StatusCode, r.Status = code, http.StatusText(code)
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Length", fmt.Sprint(len(body)))
		}
	}
	content := text(100)
	for name, change := range map[string]func(*http.Response){
		"304":                  status(http.StatusNotModified, ""),
		"304 with the length":  func(r *http.Response) { r.StatusCode, r.Body = http.StatusNotModified, http.NoBody },
		"204":                  status(http.StatusNoContent, ""),
		"206 of all":           status(http.StatusPartialContent, content),
		"200 of nothing":       status(http.StatusOK, ""),
		"a page of a proxy":    status(http.StatusOK, "<html>"),
		"no length":            func(r *http.Response) { r.Header.Del("Content-Length") },
		"no ETag":              func(r *http.Response) { r.Header.Del("ETag") },
		"headers of a proxy":   func(r *http.Response) { r.Header.Del("X-Ms-Request-Id"); r.Header.Del("X-Ms-Version") },
		"a body that is short": func(r *http.Response) { r.Body = io.NopCloser(strings.NewReader(content[:50])) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storagetest.New(nil)
			answers := &responses{Service: s}
			fx := newFixtureOn(t, s, answers, nil)
			b := fx.upload(t, content)
			answers.change = change
			if got, err := fx.photos.ReadAll(ctx, b); err == nil {
				t.Errorf("got %q and no error", got)
			}
			answers.change = nil
			r, err := fx.photos.OpenRange(ctx, b, 10, 20)
			must(t, err)
			must(t, r.Close())
			if name == "a body that is short" {
				return
			}
			answers.change = change
			if r, err := fx.photos.OpenRange(ctx, b, 10, 20); err == nil && name != "206 of all" {
				got, err := io.ReadAll(r)
				t.Errorf("a range: got %q, error %v; want an error of Open", got, err)
			}
		})
	}
}

// cutBody is a body that breaks off.
type cutBody struct {
	io.ReadCloser
	left int
}

func (c *cutBody) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadCloser.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// TestReadContinues: a reader continues after a response that breaks off, and notices if the blob is another by then.
func TestReadContinues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	answers := &responses{Service: s}
	fx := newFixtureOn(t, s, answers, nil)
	content := text(1000)
	b := fx.upload(t, content)
	answers.change = func(r *http.Response) { r.Body = &cutBody{r.Body, 300} }
	s.Count()
	fx.expectContent(t, "cut", b, content)
	expectCounts(t, s, "cut", requests.Counts{kinds.BlobGet: 4})
	r, err := fx.photos.OpenRange(ctx, b, 100, 650)
	must(t, err)
	got, err := io.ReadAll(r)
	must(t, err)
	testkit.Expect(t, "a range", string(got), content[100:750])

	r, err = fx.photos.Open(ctx, b)
	must(t, err)
	_, err = io.ReadFull(r, make([]byte, 300))
	must(t, err)
	fx.overwrite(t, b.Name(), content)
	if _, err := io.ReadAll(r); !errors.Is(err, table.ErrAltered) {
		t.Errorf("got error %v; want ErrAltered of a blob that was replaced", err)
	}
	answers.change = func(r *http.Response) { r.Body = &cutBody{r.Body, 0} }
	if _, err := fx.photos.ReadAll(ctx, b); !errors.Is(err, table.ErrUnreachable) {
		t.Errorf("got error %v; want ErrUnreachable of a response that always breaks off", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	answers.change = nil
	r, err = fx.photos.Open(canceled, b)
	must(t, err)
	cancel()
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v; want context.Canceled", err)
	}
	must(t, r.Close())
	if _, err := r.Read(make([]byte, 1)); err == nil {
		t.Error("got no error of a closed reader")
	}
}

// TestOpenAgain: a reader whose value is replaced meanwhile reads the entity again, three times at most.
func TestOpenAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	fx := newFixtureOn(t, s.Service, s, nil)
	other := newFixtureOn(t, s.Service, s.Service, nil)
	_, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, text(100))})
	must(t, err)
	var replaced, times atomic.Int64
	s.BeforeRequest = func(r *http.Request) {
		if requests.KindOf(r) == kinds.BlobGet && replaced.Add(1) <= times.Load() {
			b := other.upload(t, text(100+int(replaced.Load())))
			_, err := other.staff.Update(ctx, at(1), func(e *employee) error { e.Photo = b; return nil })
			if err != nil {
				t.Error(err)
			}
		}
	}
	times.Store(3)
	r, e, err := fx.photos.OpenAt(ctx, at(1), photoOf)
	must(t, err)
	got, err := io.ReadAll(r)
	must(t, err)
	testkit.Expect(t, "size", e.Value.Photo.Size(), 103)
	testkit.Expect(t, "content", string(got), text(103))
	replaced.Store(0)
	times.Store(4)
	if _, e, err := fx.photos.OpenAt(ctx, at(1), photoOf); !errors.Is(err, largeentity.ErrBlobNotFound) || e == nil {
		t.Errorf("got error %v; want ErrBlobNotFound, with the entity", err)
	}
	if _, _, err := fx.photos.OpenAt(ctx, at(9), photoOf); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("got error %v; want ErrNotFound", err)
	}
	_, err = fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 2})
	must(t, err)
	if _, _, err := fx.photos.OpenAt(ctx, at(2), photoOf); !errors.Is(err, largeentity.ErrNoValue) {
		t.Errorf("got error %v; want ErrNoValue", err)
	}
	// A program copies the properties of one entity into one of another partition.
	_, err = fx.base.Insert(ctx, &employee{Department: "HR", ID: 1, Photo: e.Value.Photo})
	must(t, err)
	if _, _, err := fx.photos.OpenAt(ctx, keys.At(dept.PartitionKey("HR"), empid.RowKey(1)), photoOf); !errors.Is(err, largeentity.ErrForeignBlob) {
		t.Errorf("got error %v; want ErrForeignBlob", err)
	}
}
