package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestDeadly: a message that crashes each of its workers becomes poison after 2 × Attempts crashes. The messages that the workers
// held at the same time are executed, even if they never had time to end before, or failed sometimes.
func TestDeadly(t *testing.T) {
	t.Parallel()
	for name, c := range testkit.SomeNamed(map[string]struct {
		attempts, deadly int
		takes            time.Duration     // execution of a healthy message; a deadly message crashes after a second
		healthy          func(n int) error // result of the n-th execution of a healthy message
	}{
		"one deadly message":       {attempts: 10, deadly: 1},
		"few attempts":             {attempts: 2, deadly: 1, takes: 2 * time.Second},
		"one attempt":              {attempts: 1, deadly: 1, takes: 2 * time.Second},
		"slow healthy messages":    {attempts: 4, deadly: 1, takes: 20 * time.Second},
		"several deadly messages":  {attempts: 3, deadly: 3, takes: 2 * time.Second},
		"failing healthy messages": {attempts: 4, deadly: 1, takes: 2 * time.Second, healthy: func(n int) error { return errorIf(n < 3, errors.New("no")) }},
		"outage":                   {attempts: 3, deadly: 1, takes: 2 * time.Second, healthy: func(n int) error { return errorIf(n < 30, table.ErrUnreachable) }},
		"deferred for long":        {attempts: 3, deadly: 2, healthy: func(n int) error { return errorIf(n < 10, eventual.RetryAfter(time.Minute, nil)) }},
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const healthy = 12
				o, s := newOffice(t, noPauses())
				o.hire(t, 0, c.deadly+healthy, 7)
				var ps processes
				opt := eventual.WorkerOptions{Common: noPauses(), Idle: 200 * time.Millisecond, Attempts: c.attempts, Visibility: 30 * time.Second}
				ended := map[int]int{}
				ps.run(t, s, opt, 200, func(ctx context.Context, p *process, o *office, j eventual.Job, l letter) error {
					if l.ID < c.deadly {
						time.Sleep(time.Second)
						return p.crashIn(ctx)
					}
					select {
					case <-time.After(c.takes):
					case <-ctx.Done():
						return ctx.Err()
					}
					ps.mu.Lock()
					ended[l.ID]++
					n := ended[l.ID]
					ps.mu.Unlock()
					if c.healthy != nil {
						if err := c.healthy(n); err != nil {
							return err
						}
					}
					return o.send(ctx, j, l)
				})
				poison := map[string]bool{}
				for _, p := range o.poison(t) {
					poison[p.OperationID] = true
					testkit.Expect(t, "class of poison", p.Class, "deaths")
				}
				testkit.Expect(t, "poison messages", len(poison), c.deadly)
				testkit.Expect(t, "letters of healthy messages", len(s.Rows("sent")), healthy)
				for id := range c.deadly {
					atMost(t, fmt.Sprint("executions of deadly message ", id), ps.calls[id], 2*c.attempts)
				}
				atMost(t, "crashes", ps.crashes, c.attempts+c.deadly*c.attempts)
			})
		})
	}
}

// TestDeadlyForged: a message that crashes its workers becomes poison, whatever history it contains at first.
func TestDeadlyForged(t *testing.T) {
	t.Parallel()
	for _, history := range []string{
		`"uncounted":1000000000000`,
		`"tried":1000000000000`,
		`"uncounted":-1000000000000,"tried":1000000000000,"alone":-1000000000000`,
		`"uncounted":9223372036854775807,"UNCOUNTED":9223372036854775807,"Tried":9223372036854775807`,
	} {
		synctest.Test(t, func(t *testing.T) {
			o, s := newOffice(t, noPauses())
			o.insert(t, clerk{"S", 1, "Jones"})
			text := s.Messages("notifications")[0].Text
			o.clear(t, "notifications")
			o.put(t, "notifications", strings.TrimSuffix(text, "}")+","+history+"}")
			var ps processes
			opt := fastPolling()
			opt.Attempts, opt.Visibility = 3, 30*time.Second
			ps.run(t, s, opt, 20, func(ctx context.Context, p *process, _ *office, _ eventual.Job, _ letter) error {
				return p.crashIn(ctx)
			})
			testkit.Expect(t, history+": poison messages", len(o.poison(t)), 1)
			atMost(t, history+": crashes", ps.crashes, 6)
		})
	}
}

// TestDeadlyIsolated: a message that may be deadly is executed in isolation, for 1 request more. Other messages only wait
// meanwhile, for no further request.
func TestDeadlyIsolated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := newOffice(t, noPauses())
		o.hire(t, 0, 5, 5)
		second, all := int32(1), int32(32)
		for range 3 { // received by workers that crash
			_, err := o.acc.Queues().NewQueueClient("notifications").DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: &all, VisibilityTimeout: &second})
			noError(t, err)
			time.Sleep(2 * time.Second)
		}
		o.hire(t, 5, 40, 5)
		s.Count()
		running, most, beside := 0, 0, 0
		var mu sync.Mutex
		add := func(n int, deadly bool) {
			mu.Lock()
			defer mu.Unlock()
			if running += n; deadly && running > 1 {
				beside++
			}
			most = max(most, running)
		}
		h := bare.NewHandler("letter", o.base, func(ctx context.Context, j eventual.Job, l letter) error {
			add(1, l.ID < 5)
			time.Sleep(time.Second)
			add(0, l.ID < 5)
			add(-1, false)
			return o.send(ctx, j, l)
		})
		w := o.worker(t, eventual.WorkerOptions{Common: noPauses(), Attempts: 3}, h)
		drain(t, w)
		testkit.Expect(t, "executions of a message that may be deadly beside another message", beside, 0)
		atLeast(t, "messages executed at a time", most, 10)
		testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: 40, Completed: 40, Effects: 40})
		if got := s.Count().String(); !strings.HasPrefix(got, "40 get, 40 insert-or-replace, 40 merge, 40 message-delete, ") || !strings.HasSuffix(got, " message-get, 5 message-update") {
			t.Errorf("requests: got %s, want 40 of each message and 5 message-update", got)
		}
	})
}

// processEnv is the environment variable for the connection string of a process of TestDeadlyProcess.
const processEnv = "AZTABLEKIT_EVENTUAL_PROCESS"

// TestDeadlyProcess: the same with processes of the operating system, which end by os.Exit while they hold other messages.
func TestDeadlyProcess(t *testing.T) {
	t.Parallel()
	opt := eventual.WorkerOptions{Common: noPauses(), Visibility: time.Second, Idle: 160 * time.Millisecond, Attempts: 2}
	if cs := os.Getenv(processEnv); cs != "" {
		o, err := openOffice(cs, nil, noPauses())
		noError(t, err)
		ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
		defer stop()
		h := bare.NewHandler("letter", o.base, func(ctx context.Context, j eventual.Job, l letter) error {
			if l.ID == 0 {
				os.Exit(3)
			}
			return o.send(ctx, j, l)
		})
		w := o.worker(t, opt, h)
		go func() {
			for range time.Tick(100 * time.Millisecond) {
				if n, err := w.Backlog(ctx); n == 0 && err == nil {
					stop()
				}
			}
		}()
		noError(t, w.Run(ctx))
		return
	}
	if testing.Short() {
		t.Skip("-short: takes some seconds")
	}
	s := storagetest.New(nil)
	cs, err := s.Listen()
	noError(t, err)
	defer s.Close()
	o := officeOn(t, s, s, noPauses())
	o.hire(t, 0, 12, 5)
	crashes := 0
	for ; crashes < 10; crashes++ {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDeadlyProcess$")
		cmd.Env = append(os.Environ(), processEnv+"="+cs)
		out, err := cmd.CombinedOutput()
		var ee *exec.ExitError
		if crashed := errors.As(err, &ee) && ee.ExitCode() == 3; !crashed && err != nil {
			t.Fatalf("process: got the error %v, want none or exit code 3: %s", err, out)
		} else if !crashed {
			break
		}
	}
	testkit.Expect(t, "crashes", crashes, 4)
	testkit.Expect(t, "partition of poison", o.expectPoison(t, "deaths")[0].Partition, "S0")
	testkit.Expect(t, "letters", len(s.Rows("sent")), 11)
}
