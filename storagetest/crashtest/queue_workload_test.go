package crashtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// hints returns the SDK's client of a queue, without retries. An error is a panic, as in newClient.
func hints(p *crashtest.Process) *azqueue.QueueClient {
	q, err := azqueue.NewQueueClientFromConnectionString(p.ConnectionString(), "hints", &azqueue.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: p, Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		panic(err)
	}
	return q
}

// worker receives messages and inserts their texts as rows. A worker that deletes a message before the insert loses the message if
// it crashes in between.
func worker(deletesFirst bool) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		q := hints(p)
		staff, _ := tables(p)
		for {
			got, err := q.DequeueMessage(ctx, nil)
			if err != nil {
				return err
			}
			if len(got.Messages) == 0 {
				return nil
			}
			m := got.Messages[0]
			remove := func() error {
				_, err := q.DeleteMessage(ctx, *m.MessageID, *m.PopReceipt, nil)
				return err
			}
			work := func() error {
				_, err := staff.UpsertEntity(ctx, row("done", *m.MessageText, ""), nil)
				return err
			}
			if deletesFirst {
				err = errors.Join(remove(), work())
			} else if err = work(); err == nil {
				err = remove()
			}
			if err != nil {
				return err
			}
		}
	}
}

// workers returns a workload with two workers.
func workers(deletesFirst bool) func() crashtest.Workload {
	return func() crashtest.Workload {
		return crashtest.Workload{
			Setup: func(ctx context.Context, p *crashtest.Process) error {
				q := hints(p)
				_, err1 := q.Create(ctx, nil)
				err2 := setup(ctx, p)
				_, err3 := q.EnqueueMessage(ctx, "a", nil)
				_, err4 := q.EnqueueMessage(ctx, "b", nil)
				return errors.Join(err1, err2, err3, err4)
			},
			Processes: []func(context.Context, *crashtest.Process) error{worker(deletesFirst), worker(deletesFirst)},
			Drain: func(ctx context.Context, p *crashtest.Process) error {
				for {
					time.Sleep(time.Minute) // until hidden messages are visible
					if err := worker(false)(ctx, p); err != nil {
						return err
					}
					n, err := hints(p).GetProperties(ctx, nil)
					if err != nil || *n.ApproximateMessagesCount == 0 {
						return err
					}
				}
			},
			Check: func(s *storagetest.Service) error {
				if done := fmt.Sprint(rowKeys(s, "staff")); !strings.Contains(done, "a") || !strings.Contains(done, "b") {
					return fmt.Errorf("got rows %s, messages %v; want rows a and b", done, s.Messages("hints"))
				}
				return nil
			},
		}
	}
}

// TestQueues: Enumerate and Schedules find a bug in a worker, with and without a random order of messages, and the seed reproduces
// the violation.
func TestQueues(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, shuffle := range []uint64{0, 7} {
		o := crashtest.Options{Runs: 100, MaxLateness: 3, PairLimit: -1, Service: storagetest.Options{ShuffleSeed: shuffle}}
		crashtest.Enumerate(t, workers(false), &o).Require(t)
		crashtest.Schedules(t, workers(false), &o).Require(t)
		all, some := crashtest.Enumerate(t, workers(true), &o), crashtest.Schedules(t, workers(true), &o)
		if len(all.Violations) == 0 || len(some.Violations) == 0 {
			t.Fatalf("got %v; %v; want violations", all, some)
		}
		v := some.Violations[0]
		o.Seed, o.Runs = v.Seed, 1
		again := crashtest.Schedules(t, workers(true), &o)
		if len(again.Violations) != 1 || again.Violations[0].String() != v.String() || !v.Reproducible {
			t.Errorf("got %v\nwant %v", again.Violations, v)
		}
	}
}

// TestOrderOfMessages: with ShuffleSeed, schedules have different orders of messages.
func TestOrderOfMessages(t *testing.T) {
	t.Parallel()
	orders := func(shuffle uint64) map[string]bool {
		var mu sync.Mutex
		seen := map[string]bool{}
		r := crashtest.Schedules(t, func() crashtest.Workload {
			return crashtest.Workload{
				Setup: func(ctx context.Context, p *crashtest.Process) error {
					_, err := hints(p).Create(ctx, nil)
					for i := range 5 {
						_, put := hints(p).EnqueueMessage(ctx, fmt.Sprint(i), nil)
						err = errors.Join(err, put)
					}
					return err
				},
				Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
					got, err := hints(p).DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: to.Ptr[int32](5)})
					var texts string
					for _, m := range got.Messages {
						texts += *m.MessageText
					}
					mu.Lock()
					defer mu.Unlock()
					seen[texts] = true
					return err
				}},
			}
		}, &crashtest.Options{Runs: 20, FaultRate: -1, Service: storagetest.Options{ShuffleSeed: shuffle}})
		r.Require(t)
		return seen
	}
	if plain, shuffled := orders(0), orders(7); len(plain) != 1 || !plain["01234"] || len(shuffled) < 10 {
		t.Errorf("got orders %v without a seed and %v with a seed; want 01234 alone, and 10 orders", plain, shuffled)
	}
}

// TestQueueSchedules: schedules with requests to different queues are distinct, and concurrent requests of one process to one queue
// have a fixed order.
func TestQueueSchedules(t *testing.T) {
	t.Parallel()
	build := func(process func(context.Context, *crashtest.Process) error, check func(*storagetest.Service) error) func() crashtest.Workload {
		return func() crashtest.Workload {
			return crashtest.Workload{
				Setup: func(ctx context.Context, p *crashtest.Process) error {
					_, err1 := hints(p).Create(ctx, nil)
					_, err2 := hints(p).EnqueueMessage(ctx, "a", nil)
					_, err3 := hints(p).EnqueueMessage(ctx, "b", nil)
					return errors.Join(err1, err2, err3)
				},
				Processes: []func(context.Context, *crashtest.Process) error{process}, Check: check,
			}
		}
	}
	r := crashtest.Schedules(t, build(func(ctx context.Context, p *crashtest.Process) error {
		q, err := azqueue.NewQueueClientFromConnectionString(p.ConnectionString(), []string{"one", "two"}[p.Rand().IntN(2)], &azqueue.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: p}})
		if err == nil {
			_, err = q.Create(ctx, nil)
		}
		return err
	}, nil), &crashtest.Options{Runs: 20, FaultRate: -1})
	if r.Require(t); r.Distinct != 2 {
		t.Errorf("got %v; want 2 distinct schedules", r)
	}
	seen := map[string]bool{}
	for range 20 {
		var got string // of the run without faults, and of the schedule
		crashtest.Schedules(t, build(func(ctx context.Context, p *crashtest.Process) error {
			var wg sync.WaitGroup
			for _, seconds := range []int32{10, 20} {
				wg.Go(func() {
					hints(p).DequeueMessage(ctx, &azqueue.DequeueMessageOptions{VisibilityTimeout: &seconds})
				})
			}
			wg.Wait()
			return nil
		}, func(s *storagetest.Service) error {
			m := s.Messages("hints")
			got += m[0].Visible.Sub(m[0].Inserted).Round(time.Second).String() + " "
			return nil
		}), &crashtest.Options{Runs: 1, FaultRate: -1}).Require(t)
		seen[got] = true
	}
	if len(seen) != 1 {
		t.Errorf("got %v; want one order", seen)
	}
}

// TestQueueFaults: a get hides messages, so it has the faults of a write; a peek has not.
func TestQueueFaults(t *testing.T) {
	t.Parallel()
	canArriveTwice := func(kind requests.Kind) bool {
		for _, f := range crashtest.Faults(storagetest.Request{Kind: kind, Queue: "hints"}) {
			if f == storagetest.Twice() {
				return true
			}
		}
		return false
	}
	for kind, want := range map[requests.Kind]bool{
		kinds.MessageGet: true, kinds.MessagePut: true, kinds.MessageUpdate: true, kinds.MessageDelete: true, kinds.MessageClear: true, kinds.QueueCreate: true, kinds.QueueSet: true, kinds.QueueDelete: true,
		kinds.MessagePeek: false, kinds.QueueGet: false, kinds.QueueList: false,
	} {
		if got := canArriveTwice(kind); got != want {
			t.Errorf("%s: got Twice %v; want %v", kind, got, want)
		}
	}
}
