package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
	"github.com/aztablekit/aztablekit/table"
)

// logEvening is the time of the records of these tests.
var logEvening = time.Date(2014, 7, 31, 18, 30, 0, 0, time.UTC)

// logBlobs: writers of one source append to blobs over a connection that loses requests, while a reader reads. Each record is stored
// once, in the order of its writer.
func logBlobs(e *env) {
	ctx := context.Background()
	container := freshName()
	o := &account.Options{Client: e.backend.Client()}
	o.Client.Transport = &connection{next: transportOf(e.backend), plan: func(_ int, r *http.Request) mishap {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return mishap{}
		}
		at := rand.Float64()
		return mishap{lost: at < 0.2, executed: at < 0.1}
	}}
	broken, err := account.FromConnectionString(e.backend.ConnectionString(), o)
	e.must(err)
	var declared baretest.Registry
	clean := bloblog.New[event](&host.Host{Account: e.acc, Registry: &declared}, container, nil)
	e.must(declared.Ensure(ctx))
	e.must(declared.Ensure(ctx))
	options := &bloblog.Options[event]{FlushRecords: 7, Buffer: 2000, BlobBlocks: 9}
	options.Retry.Wait = time.Millisecond
	options.Retry.Attempts = 20
	events := bloblog.New(&host.Host{Account: broken}, container, options)

	const source, writers, records = "größe x/ü?#%+&'\"<>/日本", 4, 200
	var writing sync.WaitGroup
	for n := range writers {
		writing.Go(func() {
			w, err := events.Writer(source)
			for i := 0; i < records && err == nil; i++ {
				if err = w.Append(ctx, &event{n, i}); err == nil && i%31 == 0 {
					err = w.Flush(ctx)
				}
			}
			if err == nil {
				err = w.Close(ctx)
			}
			if err != nil {
				e.Errorf("writer %d: got error %v; want none", n, err)
			}
		})
	}
	done := make(chan bool)
	go func() { writing.Wait(); close(done) }()
	read := func() int {
		next := [writers]int{}
		n := 0
		for r, err := range clean.Between(ctx, source, time.Now().Add(-time.Hour), time.Time{}) {
			e.must(err)
			if r.Value.Number != next[r.Value.Process] {
				e.Fatalf("writer %d: got record %d; want %d", r.Value.Process, r.Value.Number, next[r.Value.Process])
			}
			next[r.Value.Process]++
			n++
		}
		return n
	}
	for last := 0; ; {
		n := read()
		if n < last {
			e.Fatalf("got %d records after %d; want no fewer", n, last)
		}
		last = n
		select {
		case <-done:
			if n := read(); n != writers*records {
				e.Errorf("got %d records; want %d", n, writers*records)
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// logBlobChanges: a writer goes to another blob if its own is changed by another program.
func logBlobChanges(e *env) {
	ctx := context.Background()
	name := freshName()
	container := e.acc.Blobs().NewContainerClient(name)
	o := &bloblog.Options[event]{}
	options.SetNow(&o.Common, func() time.Time { return logEvening })
	var declared baretest.Registry
	events := bloblog.New(&host.Host{Account: e.acc, Registry: &declared}, name, o)
	w, err := events.Writer("orders")
	e.must(err)
	e.must(w.Append(ctx, &event{0, 0}))
	if err := w.Flush(ctx); !errors.Is(err, table.ErrNotCreated) {
		e.Fatalf("Flush: got error %v; want ErrNotCreated", err)
	}
	for _, err := range events.Between(ctx, "orders", logEvening, logEvening.Add(1)) {
		if !errors.Is(err, table.ErrNotCreated) {
			e.Fatalf("Between: got error %v; want ErrNotCreated", err)
		}
	}
	e.must(declared.Ensure(ctx))
	e.counter.Take()
	e.must(w.Flush(ctx))
	e.wantRequests("1 blob-append, 1 blob-create")
	number := 1
	blob := func() string { return fmt.Sprintf("orders/2014/07/31/1800/%06d.log", number) }
	for i, change := range []func(){
		func() {
			_, err := container.NewAppendBlobClient(blob()).AppendBlock(ctx, streaming.NopCloser(bytes.NewReader([]byte("{\"Process\":9}\n"))), nil)
			e.must(err)
		},
		func() {
			l, err := lease.NewBlobClient(container.NewBlobClient(blob()), nil)
			e.must(err)
			_, err = l.AcquireLease(ctx, -1, nil)
			e.must(err)
		},
		func() {
			_, err := container.NewBlobClient(blob()).Delete(ctx, nil)
			e.must(err)
		},
	} {
		change()
		e.must(w.Append(ctx, &event{0, i + 1}))
		e.must(w.Flush(ctx))
		number++
	}
	e.must(w.Close(ctx))
	e.counter.Take()
	want := []event{{0, 0}, {9, 0}, {0, 1}, {0, 3}} // 2 was in the blob that was deleted
	var got []event
	for r, err := range events.Between(ctx, "orders", logEvening, logEvening.Add(time.Minute)) {
		e.must(err)
		got = append(got, r.Value)
	}
	e.wantRequests("3 blob-get, 1 blob-list")
	if fmt.Sprint(got) != fmt.Sprint(want) {
		e.Errorf("got records %v; want %v", got, want)
	}

	// Another writer, by slog, has the next number. Metadata is read back with the list.
	other, err := events.Writer("orders")
	e.must(err)
	slog.New(slog.NewJSONHandler(other, nil)).Info("sent", "Process", 8)
	e.must(other.Close(ctx))
	e.wantRequests("1 blob-append, 2 blob-create, 1 blob-list, 1 blob-set-metadata")
	var last *bloblog.Blob
	for b, err := range events.Blobs(ctx, "orders", logEvening, logEvening.Add(1)) {
		e.must(err)
		last = b
	}
	if last == nil || last.Number != 5 || !last.First.Equal(logEvening) || !last.Last.Equal(logEvening) {
		e.Errorf("got last blob %+v; want number 5, with its times", last)
	}
}
