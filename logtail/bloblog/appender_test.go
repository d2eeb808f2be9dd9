package bloblog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// containerOf returns the SDK's client of the container of a service.
func containerOf(t testing.TB, s account.Transport) *container.Client {
	t.Helper()
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	return acc.Blobs().NewContainerClient("logs")
}

// blobName returns the name of a blob of source orders.
func blobName(number int) string { return fmt.Sprintf("orders/2014/07/31/1800/%06d.log", number) }

// foreignAppend appends a block as another program.
func foreignAppend(t testing.TB, c *container.Client, name, text string) {
	t.Helper()
	_, err := c.NewAppendBlobClient(name).AppendBlock(context.Background(), streaming.NopCloser(bytes.NewReader([]byte(text))), nil)
	noError(t, err)
}

// TestLostResponses: what the requests are after a lost response, at each step.
func TestLostResponses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind     requests.Kind
		fault    storagetest.Fault
		requests string
	}{
		"of a new blob": {kinds.BlobCreate, storagetest.LostResponse(), "1 blob-append, 2 blob-create, 1 blob-list"},
		"of a block":    {kinds.BlobAppend, storagetest.LostResponse(), "1 blob-append, 1 blob-create, 1 blob-get, 1 blob-properties"},
		"lost block":    {kinds.BlobAppend, storagetest.LostRequest(), "2 blob-append, 1 blob-create, 1 blob-properties"},
		"block twice":   {kinds.BlobAppend, storagetest.Twice(), "1 blob-append, 1 blob-create, 1 blob-get, 1 blob-properties"},
		"blob twice":    {kinds.BlobCreate, storagetest.Twice(), "1 blob-append, 1 blob-create, 1 blob-list"},
		"late block":    {kinds.BlobAppend, storagetest.Late(1), "2 blob-append, 1 blob-create, 1 blob-get, 2 blob-properties"},
		"busy":          {kinds.BlobAppend, storagetest.Refuse(503, "ServerBusy"), "2 blob-append, 1 blob-create, 1 blob-properties"},
		"not sent":      {kinds.BlobAppend, storagetest.NotSent(), "2 blob-append, 1 blob-create"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, s := newLog(t, nil)
				s.SetFaults(storagetest.OfKind(c.kind, storagetest.Once(c.fault)))
				w := newWriter(t, l, "orders")
				appendAll(t, w, 1, 2)
				noError(t, w.Flush(context.Background()))
				testkit.Expect(t, "requests", s.Count().String(), c.requests)
				testkit.Expect(t, "blobs", stored(s), []string{`orders/2014/07/31/1800/000001.log: {"Number":1};{"Number":2};`})
			})
		})
	}
}

// TestUnknownOutcome: if the time ends before the outcome is known, the next flush continues with the same block at the same
// position.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]storagetest.Fault{"stored": storagetest.ExecuteThenHang(), "not stored": storagetest.Hang()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				l, s := newLog(t, nil)
				w := newWriter(t, l, "orders")
				appendAll(t, w, 1)
				s.SetFaults(storagetest.OfKind(kinds.BlobAppend, storagetest.Once(fault)))
				short, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				err := w.Flush(short)
				if !errors.Is(err, table.ErrUnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("Flush: got error %v; want ErrUnknownOutcome and the end of the context", err)
				}
				appendAll(t, w, 2)
				if err := w.Flush(short); !errors.Is(err, table.ErrUnknownOutcome) && !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("Flush: got error %v; want ErrUnknownOutcome or the end of the context", err)
				}
				noError(t, w.Flush(ctx))
				testkit.Expect(t, "blobs", stored(s), []string{`orders/2014/07/31/1800/000001.log: {"Number":1};{"Number":2};`})
			})
		})
	}
}

// TestForeignChanges: the writer goes to another blob if its own is no longer as it was, and stores no record twice.
func TestForeignChanges(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		change func(t testing.TB, c *container.Client, name string)
		want   []string // the last blob has the second record
	}{
		"another program appends": {func(t testing.TB, c *container.Client, name string) { foreignAppend(t, c, name, "x\n") },
			[]string{`{"Number":1};x;`, `{"Number":2};`}},
		"another program appends more than the block": {func(t testing.TB, c *container.Client, name string) {
			foreignAppend(t, c, name, "a line that is longer than the block\n")
		}, []string{`{"Number":1};a line that is longer than the block;`, `{"Number":2};`}},
		"the blob is deleted": {func(t testing.TB, c *container.Client, name string) {
			_, err := c.NewBlobClient(name).Delete(ctx, nil)
			noError(t, err)
		}, []string{`{"Number":2};`}},
		"the blob is emptied": {func(t testing.TB, c *container.Client, name string) {
			_, err := c.NewAppendBlobClient(name).Create(ctx, nil)
			noError(t, err)
		}, []string{``, `{"Number":2};`}},
		"the blob is replaced by that of another writer with equal lines": {func(t testing.TB, c *container.Client, name string) {
			_, err := c.NewAppendBlobClient(name).Create(ctx, &appendblob.CreateOptions{Metadata: map[string]*string{"writer": to.Ptr("another")}})
			noError(t, err)
			foreignAppend(t, c, name, "{\"Number\":1}\n{\"Number\":2}\n")
		}, []string{`{"Number":1};{"Number":2};`, `{"Number":2};`}},
		"the metadata changes": {func(t testing.TB, c *container.Client, name string) {
			_, err := c.NewBlobClient(name).SetMetadata(ctx, map[string]*string{"mine": to.Ptr("1")}, nil)
			noError(t, err)
		}, []string{`{"Number":1};{"Number":2};`}},
		"the blob is leased": {func(t testing.TB, c *container.Client, name string) {
			l, err := lease.NewBlobClient(c.NewBlobClient(name), nil)
			noError(t, err)
			_, err = l.AcquireLease(ctx, -1, nil)
			noError(t, err)
		}, []string{`{"Number":1};`, `{"Number":2};`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, s := newLog(t, nil)
				w := newWriter(t, l, "orders")
				appendAll(t, w, 1)
				noError(t, w.Flush(ctx))
				c.change(t, containerOf(t, s), blobName(1))
				appendAll(t, w, 2)
				noError(t, w.Close(ctx))
				var got []string
				for _, line := range stored(s) {
					got = append(got, line[len(blobName(1)+": "):])
				}
				testkit.Expect(t, "blobs", fmt.Sprintf("%q", got), fmt.Sprintf("%q", c.want))
			})
		})
	}
}

// TestForeignAfterLostResponse: a block is found behind a lost response, also if another program has appended meanwhile, and the
// next block goes to another blob.
func TestForeignAfterLostResponse(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	o := &bloblog.Options[event]{}
	options.SetNow(&o.Common, func() time.Time { return evening })
	l := openLog(t, s, o)
	c := containerOf(t, s.Service)
	s.SetFaults(storagetest.OfKind(kinds.BlobAppend, storagetest.Once(storagetest.LostResponse())))
	s.BeforeRequest = func(r *http.Request) {
		if r.Method == http.MethodHead {
			foreignAppend(t, c, blobName(1), "{}\n")
		}
	}
	w := newWriter(t, l, "orders")
	for i := range 2 {
		appendAll(t, w, i+1)
		noError(t, w.Flush(ctx))
	}
	testkit.Expect(t, "blobs", stored(s.Service), []string{`orders/2014/07/31/1800/000001.log: {"Number":1};{};{};`, `orders/2014/07/31/1800/000002.log: {"Number":2};`})
}

// TestFull: a blob that takes no more blocks is left, also if the response to the last block was lost.
func TestFull(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"BlockCountExceedsLimit", "BlobIsSealed"} {
		for name, fault := range map[string]storagetest.Fault{"refused": storagetest.Refuse(409, code), "stored, then refused": storagetest.ExecuteThenRefuse(409, code)} {
			t.Run(code+" "+name, func(t *testing.T) {
				t.Parallel()
				ctx := context.Background()
				l, s := newLog(t, nil)
				w := newWriter(t, l, "orders")
				appendAll(t, w, 1)
				noError(t, w.Flush(ctx))
				s.SetFaults(storagetest.OfKind(kinds.BlobAppend, storagetest.Once(fault)))
				appendAll(t, w, 2)
				noError(t, w.Close(ctx))
				testkit.Expect(t, "records", numbers(t, between(l)), []int{1, 2})
				for _, b := range s.StoredBlobs("logs") {
					if b.Metadata["EndTime"] == "" {
						t.Errorf("blob %s: got no last time; want one", b.Name)
					}
				}
			})
		}
	}
}

// TestLeasedInDoubt: while a block may be stored in a blob that is leased, the writer does not store it in another one.
func TestLeasedInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		l, s := newLog(t, nil)
		w := newWriter(t, l, "orders")
		appendAll(t, w, 1)
		noError(t, w.Flush(ctx))
		client, err := lease.NewBlobClient(containerOf(t, s).NewBlobClient(blobName(1)), nil)
		noError(t, err)
		appends := 0
		s.SetFaults(storagetest.When(func(r storagetest.Request) bool {
			if r.Kind == kinds.BlobAppend {
				appends++
			}
			return r.Kind == kinds.BlobAppend && appends == 1
		}, storagetest.Late(0)))
		appendAll(t, w, 2)
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		if err := w.Flush(short); !errors.Is(err, table.ErrUnknownOutcome) {
			t.Fatalf("Flush: got error %v; want ErrUnknownOutcome", err)
		}
		cancel()
		_, err = client.AcquireLease(ctx, -1, nil)
		noError(t, err)
		if err := w.Flush(ctx); !errors.Is(err, table.ErrUnknownOutcome) {
			t.Fatalf("Flush of a leased blob: got error %v; want ErrUnknownOutcome", err)
		}
		_, err = client.ReleaseLease(ctx, nil)
		noError(t, err)
		s.Deliver()
		noError(t, w.Close(ctx))
		testkit.Expect(t, "blobs", stored(s), []string{`orders/2014/07/31/1800/000001.log: {"Number":1};{"Number":2};`})
	})
}

// TestCloseTwice: Close with a context that has ended does nothing, and the next Close stores the last times. A request for them that
// hangs is bounded by Common.WriteTimeout.
func TestCloseTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &bloblog.Options[event]{}
		o.Retry.AttemptTimeout = -1
		l, s := newLog(t, o)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		for range 20 { // a choice between the context and the sender would be random
			w := newWriter(t, l, "orders")
			appendAll(t, w, 1)
			noError(t, w.Flush(context.Background()))
			if err := w.Close(ended); !errors.Is(err, context.Canceled) {
				t.Errorf("Close: got error %v; want the end of the context", err)
			}
			s.Count()
			noError(t, w.Close(context.Background()))
			testkit.Expect(t, "requests", s.Count().String(), "1 blob-set-metadata")
		}
		w := newWriter(t, l, "orders")
		appendAll(t, w, 1)
		noError(t, w.Flush(context.Background()))
		s.SetFaults(storagetest.OfKind(kinds.BlobSetMetadata, storagetest.Hang()))
		began := time.Now()
		noError(t, w.Close(context.Background()))
		testkit.Expect(t, "time of Close", time.Since(began), 30*time.Second)
	})
}

// TestNoAppends: a container whose blobs take no block does not fill with blobs.
func TestNoAppends(t *testing.T) {
	t.Parallel()
	l, s := newLog(t, nil)
	s.SetFaults(storagetest.OfKind(kinds.BlobAppend, storagetest.Refuse(409, "BlobImmutableDueToPolicy")))
	w := newWriter(t, l, "orders")
	appendAll(t, w, 1)
	for range 3 {
		if err := w.Flush(context.Background()); err == nil || errors.Is(err, table.ErrUnknownOutcome) {
			t.Fatalf("Flush: got error %v; want the service's", err)
		}
	}
	if n := len(s.StoredBlobs("logs")); n > 4 {
		t.Errorf("got %d blobs; want at most 4", n)
	}
	s.SetFaults(nil)
	noError(t, w.Close(context.Background()))
	testkit.Expect(t, "records", numbers(t, between(l)), []int{1})
}

// TestRefusals: a request that the service does not allow is not repeated, and its records stay.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, kind := range []requests.Kind{kinds.BlobCreate, kinds.BlobAppend} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			l, s := newLog(t, nil)
			w := newWriter(t, l, "orders")
			appendAll(t, w, 1)
			s.SetFaults(storagetest.OfKind(kind, storagetest.Refuse(http.StatusForbidden, "AuthorizationFailure")))
			if err := w.Flush(ctx); !errors.Is(err, table.ErrUnreachable) || errors.Is(err, table.ErrUnknownOutcome) {
				t.Fatalf("Flush: got error %v; want ErrUnreachable", err)
			}
			testkit.Expect(t, "requests", s.Count()[kind], 1)
			s.SetFaults(nil)
			noError(t, w.Flush(ctx))
			testkit.Expect(t, "records", numbers(t, between(l)), []int{1})
		})
	}
}

// TestOneHourFails: if the service refuses the blob of an hour, those of other hours are stored.
func TestOneHourFails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l, s := newLog(t, &bloblog.Options[event]{Time: timeOfEvent})
	w := newWriter(t, l, "orders")
	s.SetFaults(storagetest.When(func(r storagetest.Request) bool { return r.Blob == blobName(1) }, storagetest.Refuse(400, "InvalidHeaderValue")))
	for round := range 2 {
		for hour := range 2 {
			noError(t, w.Append(ctx, eventOf(10*round+hour, hour)))
		}
		if err := w.Flush(ctx); err == nil || errors.Is(err, table.ErrUnknownOutcome) {
			t.Fatalf("Flush: got error %v; want the service's", err)
		}
	}
	testkit.Expect(t, "records", numbers(t, between(l)), []int{1, 11})
	s.SetFaults(nil)
	noError(t, w.Close(ctx))
	testkit.Expect(t, "all records", numbers(t, between(l)), []int{0, 10, 1, 11})
}

// TestRoomAfterFailure: if the records of an hour that fails fill only a part of the buffer, Append does not fail.
func TestRoomAfterFailure(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var log bytes.Buffer
	o := &bloblog.Options[event]{Time: timeOfEvent, Buffer: 500, FlushRecords: -1, FlushBytes: -1, FlushInterval: -1}
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	l, s := newLog(t, o)
	w := newWriter(t, l, "orders")
	s.SetFaults(storagetest.When(func(r storagetest.Request) bool { return r.Blob == blobName(1) }, storagetest.Refuse(400, "InvalidHeaderValue")))
	noError(t, w.Append(ctx, eventOf(-1, 0)))
	for i := range 100 {
		noError(t, w.Append(ctx, eventOf(i, 1)))
	}
	if !strings.Contains(log.String(), "InvalidHeaderValue") {
		t.Errorf("log: got %q; want the error of the hour", log.String())
	}
	s.SetFaults(nil)
	noError(t, w.Close(ctx))
	testkit.Expect(t, "records", len(numbers(t, between(l))), 101)
}

// TestRaces: writers that begin an hour at the same time get blobs of their own.
func TestRaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		l, s := newLog(t, nil)
		errs := make(chan error)
		for i := range 16 {
			w := newWriter(t, l, "orders")
			appendAll(t, w, i)
			go func() { errs <- w.Flush(ctx) }()
		}
		for range 16 {
			if err := <-errs; err != nil {
				t.Errorf("Flush: got error %v; want none", err)
			}
		}
		blobs := s.StoredBlobs("logs")
		testkit.Expect(t, "blobs", len(blobs), 16)
		testkit.Expect(t, "last", blobs[len(blobs)-1].Name, blobName(16))
		testkit.Expect(t, "records", len(numbers(t, between(l))), 16)
	})
}
