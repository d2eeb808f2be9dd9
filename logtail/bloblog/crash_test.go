package bloblog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// flushed collects what the processes of one run know of their records.
type flushed struct {
	mu    sync.Mutex
	acked []int
}

func (f *flushed) ack(numbers ...int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acked = append(f.acked, numbers...)
}

// check compares the stored records with the acknowledged ones: each of these is stored once, and no record twice. All blobs end with
// a whole line.
func (f *flushed) check(s *storagetest.Service) error {
	stored := map[int]int{}
	for _, b := range s.StoredBlobs("logs") {
		text := string(b.Content())
		if text != "" && !strings.HasSuffix(text, "\n") {
			return fmt.Errorf("blob %s: got the end %q; want a whole line", b.Name, text[max(0, len(text)-10):])
		}
		for line := range strings.Lines(text) {
			var e event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				return fmt.Errorf("blob %s: line %q: %w", b.Name, line, err)
			}
			if e.Number >= 0 { // others are of another program
				stored[e.Number]++
			}
		}
	}
	for number, n := range stored {
		if n > 1 {
			return fmt.Errorf("record %d: got it %d times, want once", number, n)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, number := range f.acked {
		if stored[number] != 1 {
			return fmt.Errorf("acknowledged record %d: got it %d times, want once", number, stored[number])
		}
	}
	return nil
}

// processWriter opens a writer for a process.
func processWriter(p *crashtest.Process) (*bloblog.Log[event], *bloblog.Writer[event], error) {
	acc, err := account.FromTransport(p, nil)
	if err != nil {
		return nil, nil, err
	}
	o := &bloblog.Options[event]{BlobBlocks: 2, OpenHours: 1, Time: timeOfEvent}
	o.Retry.Wait, o.Retry.ConflictWait = -1, -1
	l := bloblog.New(&host.Host{Account: acc}, "logs", o)
	w, err := l.Writer("orders")
	return l, w, err
}

// eventOf returns an event some hours after the evening.
func eventOf(number, hours int) *event {
	return &event{Number: number, Time: evening.Add(time.Duration(hours) * time.Hour)}
}

func ensureLog(ctx context.Context, p *crashtest.Process) error {
	l, _, err := processWriter(p)
	if err != nil {
		return err
	}
	return l.Ensure(ctx)
}

// flushUntil repeats a flush until it succeeds, and notes that the records are stored.
func (f *flushed) flushUntil(ctx context.Context, flush func(context.Context) error, numbers ...int) error {
	for {
		err := flush(ctx)
		switch {
		case err == nil:
			f.ack(numbers...)
			return nil
		case ctx.Err() != nil, errors.Is(err, crashtest.ErrCrashed):
			return err
		case !errors.Is(err, table.ErrUnknownOutcome) && !errors.Is(err, table.ErrUnreachable):
			panic(fmt.Sprintf("got error %v; want ErrUnknownOutcome or ErrUnreachable", err))
		}
	}
}

// write appends records and flushes them, each time until that succeeds, fills more than one blob, and closes the writer. The
// records are of several hours by turns, of which one is open at a time.
func (f *flushed) write(first, hours int) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		_, w, err := processWriter(p)
		if err != nil {
			return err
		}
		for i := range 3 {
			n := first + 2*i
			for j := range 2 {
				if err := w.Append(ctx, eventOf(n+j, (n+j)%hours)); err != nil {
					return err
				}
			}
			if err := f.flushUntil(ctx, w.Flush, n, n+1); err != nil {
				return err
			}
		}
		if err := w.Append(ctx, eventOf(first+6, 0)); err != nil {
			return err
		}
		return f.flushUntil(ctx, w.Close, first+6)
	}
}

// TestFlushEveryFault: under each fault at each request, an acknowledged record is stored once, and no record twice.
func TestFlushEveryFault(t *testing.T) {
	t.Parallel()
	crashtest.Enumerate(t, func() crashtest.Workload {
		f := &flushed{}
		return crashtest.Workload{Setup: ensureLog, Processes: []func(context.Context, *crashtest.Process) error{f.write(0, 1)}, Check: f.check}
	}, testkit.Crash(crashtest.Options{})).Require(t)
}

// TestFlushSchedules: so it is in random orders of two writers of one source.
func TestFlushSchedules(t *testing.T) {
	t.Parallel()
	crashtest.Schedules(t, func() crashtest.Workload {
		f := &flushed{}
		return crashtest.Workload{Setup: ensureLog, Processes: []func(context.Context, *crashtest.Process) error{f.write(0, 1), f.write(100, 2)}, Check: f.check}
	}, testkit.Crash(crashtest.Options{Runs: *schedules})).Require(t)
}

var schedules = testkit.Count("schedules", 300, "random schedules of each test")

// TestForeignEveryFault: so it is if another program changes the blob between two flushes. That program has no faults.
func TestForeignEveryFault(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(ctx context.Context, blob *appendblob.Client) error{
		"appends": func(ctx context.Context, blob *appendblob.Client) error {
			_, err := blob.AppendBlock(ctx, streaming.NopCloser(strings.NewReader("{\"Number\":-1}\n")), nil)
			return err
		},
		"deletes": func(ctx context.Context, blob *appendblob.Client) error {
			_, err := blob.Delete(ctx, nil)
			return err
		},
		"empties": func(ctx context.Context, blob *appendblob.Client) error {
			_, err := blob.Create(ctx, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := crashtest.Options{PairLimit: -1}
			if name == "empties" { // late blocks may find their places again, one after another
				o.PairLimit = 0
			}
			crashtest.Enumerate(t, func() crashtest.Workload {
				f := &flushed{}
				write := func(ctx context.Context, p *crashtest.Process) error {
					_, w, err := processWriter(p)
					if err != nil {
						return err
					}
					// The first record is stored at the beginning of a blob, where a late request could find its place again.
					if err := errors.Join(w.Append(ctx, eventOf(1, 0)), w.Flush(ctx)); err != nil && !errors.Is(err, table.ErrUnknownOutcome) {
						return err
					}
					for _, b := range p.Service().StoredBlobs("logs") {
						if err := change(ctx, containerOf(t, p.Service()).NewAppendBlobClient(b.Name)); err != nil {
							return err
						}
					}
					for n := 2; n < 4; n++ {
						if err := w.Append(ctx, eventOf(n, 0)); err != nil {
							return err
						}
						if err := f.flushUntil(ctx, w.Flush, n); err != nil {
							return err
						}
					}
					return w.Close(ctx)
				}
				return crashtest.Workload{Setup: ensureLog, Processes: []func(context.Context, *crashtest.Process) error{write}, Check: f.check}
			}, testkit.Crash(o)).Require(t)
		})
	}
}

// TestReadEveryFault: under each fault at each request, a read yields all records once and in their order, or the first of them and
// an error.
func TestReadEveryFault(t *testing.T) {
	t.Parallel()
	crashtest.Enumerate(t, func() crashtest.Workload {
		f := &flushed{}
		var got []int
		var failed error
		read := func(ctx context.Context, p *crashtest.Process) error {
			l, _, err := processWriter(p)
			if err != nil {
				return err
			}
			got, failed = nil, nil
			for r, err := range l.Between(ctx, "orders", evening, evening.Add(48*time.Hour)) {
				if err != nil {
					failed = err
					break
				}
				got = append(got, r.Value.Number)
			}
			return failed
		}
		check := func(*storagetest.Service) error {
			want := []int{0, 2, 4, 6, 1, 3, 5} // of two hours
			if failed == nil && len(got) < len(want) || !slices.Equal(got, want[:len(got)]) {
				return fmt.Errorf("got %v, error %v; want %v", got, failed, want)
			}
			return nil
		}
		setup := func(ctx context.Context, p *crashtest.Process) error {
			return errors.Join(ensureLog(ctx, p), f.write(0, 2)(ctx, p))
		}
		return crashtest.Workload{Setup: setup, Processes: []func(context.Context, *crashtest.Process) error{read}, Check: check}
	}, testkit.Crash(crashtest.Options{})).Require(t)
}
