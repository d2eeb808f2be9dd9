package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// mortal is the transport of a process in this one: when it is dead, nothing of it reaches the account any more.
type mortal struct {
	*storagetest.Service
	dead   atomic.Bool
	buried context.CancelFunc
}

var errDied = errors.New("the process is dead")

func (m *mortal) Do(r *http.Request) (*http.Response, error) {
	if m.dead.Load() {
		return nil, errDied
	}
	return m.Service.Do(r)
}

// die ends the process: the caller never comes back, as after os.Exit.
func (m *mortal) die(ctx context.Context) error {
	m.dead.Store(true)
	m.buried()
	<-ctx.Done()
	return ctx.Err()
}

// grave counts what the processes of a test have done.
type grave struct {
	mu     sync.Mutex
	deaths int
	calls  map[int]int // of the handler, by the clerk
	beside map[int]int // runs beside others, by the clerk
	now    int
}

// lives runs one process after another until nothing is left in the queue, or for so many lives. Each is a worker whose handler may kill it.
func (g *grave) lives(t *testing.T, s *storagetest.Service, opt eventual.WorkerOptions, most int, handle func(ctx context.Context, j eventual.Job, o *office, l letter, die func(context.Context) error) error) {
	t.Helper()
	g.calls, g.beside = map[int]int{}, map[int]int{}
	for range most {
		if len(s.Messages("notifications")) == 0 {
			return
		}
		ctx, buried := context.WithCancel(context.Background())
		m := &mortal{Service: s, buried: buried}
		o := openOffice(s.ConnectionString(), m, quick())
		opt.StopTimeout = time.Millisecond
		h := eventual.NewHandler("letter", o.plain, func(ctx context.Context, j eventual.Job, l letter) error {
			g.mu.Lock()
			g.calls[l.ID]++
			g.now++
			if g.now > 1 {
				g.beside[l.ID]++
			}
			g.mu.Unlock()
			defer func() { g.mu.Lock(); g.now--; g.mu.Unlock() }()
			return handle(ctx, j, o, l, m.die)
		})
		w := workerOf(o, h, opt)
		go func() {
			for len(s.Messages("notifications")) > 0 && !m.dead.Load() {
				time.Sleep(time.Second)
			}
			buried()
		}()
		check(w.Run(ctx))
		if m.dead.Load() {
			g.deaths++
		}
		time.Sleep(opt.Visibility + time.Second)
	}
	t.Errorf("%d messages are left after %d processes", len(s.Messages("notifications")), most)
}

// TestDeadly: a message of which each worker dies becomes poison after 2 × Attempts deaths, and what dies with it does not: it
// is executed, also where it had no time to come to an end before, and where it fails itself now and then.
func TestDeadly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attempts, killers int
		innocent          func(n int) error // that it returns the n-th time
		takes             time.Duration     // an innocent one; a deadly one kills after a second
	}{
		"one":              {attempts: 10, killers: 1},
		"few attempts":     {attempts: 2, killers: 1, takes: 2 * time.Second},
		"one attempt":      {attempts: 1, killers: 1, takes: 2 * time.Second},
		"slow neighbours":  {attempts: 4, killers: 1, takes: 20 * time.Second},
		"several":          {attempts: 3, killers: 3, takes: 2 * time.Second},
		"failing beside":   {attempts: 4, killers: 1, takes: 2 * time.Second, innocent: func(n int) error { return when(n < 3, errors.New("no")) }},
		"away beside":      {attempts: 3, killers: 1, takes: 2 * time.Second, innocent: func(n int) error { return when(n < 30, table.ErrUnreachable) }},
		"put off for long": {attempts: 3, killers: 2, innocent: func(n int) error { return when(n < 10, eventual.RetryAfter(time.Minute, nil)) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const innocents = 20
				o, s := opened(t, quick())
				for i := range c.killers + innocents {
					_, err := o.staff.Insert(context.Background(), &clerk{fmt.Sprint("S", i%7), i, "Jones"})
					check(err)
				}
				var g grave
				opt := options()
				opt.Attempts, opt.Visibility = c.attempts, 30*time.Second
				ended := map[int]int{}
				g.lives(t, s, opt, 200, func(ctx context.Context, j eventual.Job, o *office, l letter, die func(context.Context) error) error {
					if l.ID < c.killers {
						time.Sleep(time.Second)
						return die(ctx)
					}
					select {
					case <-time.After(c.takes):
					case <-ctx.Done():
						return ctx.Err()
					}
					g.mu.Lock()
					ended[l.ID]++
					n := ended[l.ID]
					g.mu.Unlock()
					if c.innocent != nil {
						if err := c.innocent(n); err != nil {
							return err
						}
					}
					return o.send(ctx, j, l)
				})
				poison := map[string]bool{}
				for _, p := range poisonOf(t, o) {
					if poison[p.OperationID] = true; p.Class != eventual.ClassCrashes {
						t.Errorf("%+v", p)
					}
				}
				if len(poison) != c.killers || len(s.Rows("sent")) != innocents {
					t.Errorf("%d are poison, want %d; %d of %d others are executed", len(poison), c.killers, len(s.Rows("sent")), innocents)
				}
				for id := range c.killers {
					if g.calls[id] > 2*c.attempts {
						t.Errorf("%d was run %d times, want at most %d", id, g.calls[id], 2*c.attempts)
					}
				}
				if most := c.attempts + c.killers*c.attempts; g.deaths > most {
					t.Errorf("%d processes died, want at most %d", g.deaths, most)
				}
			})
		})
	}
}

// TestDeadlyForged: a message cannot say of itself that it was never begun with.
func TestDeadlyForged(t *testing.T) {
	t.Parallel()
	for _, notes := range []string{`"uncounted":1000000000000`, `"tried":1000000000000`, `"uncounted":-1000000000000,"tried":1000000000000,"alone":-1000000000000`, `"uncounted":9223372036854775807,"UNCOUNTED":9223372036854775807,"Tried":9223372036854775807`} {
		synctest.Test(t, func(t *testing.T) {
			o, s := opened(t, quick())
			_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
			check(err)
			text := s.Messages("notifications")[0].Text
			_, err = o.acc.Queue("notifications").ClearMessages(context.Background(), nil)
			check(err)
			put(o, strings.TrimSuffix(text, "}")+","+notes+"}")
			var g grave
			opt := options()
			opt.Attempts, opt.Visibility = 3, 30*time.Second
			g.lives(t, s, opt, 20, func(ctx context.Context, _ eventual.Job, _ *office, _ letter, die func(context.Context) error) error {
				return die(ctx)
			})
			if p := poisonOf(t, o); len(p) != 1 || g.deaths > 6 {
				t.Errorf("%s: %d deaths, %+v", notes, g.deaths, p)
			}
		})
	}
}

// TestDeadlyIsolated: what may be deadly is worked on alone, for one request more; the rest costs nothing more, and only waits meanwhile.
func TestDeadlyIsolated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		o.hire(ctx, 0, 5, 5)
		second, all := int32(1), int32(32)
		for range 3 { // got by workers that say nothing more
			_, err := o.acc.Queue("notifications").DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: &all, VisibilityTimeout: &second})
			check(err)
			time.Sleep(2 * time.Second)
		}
		o.hire(ctx, 5, 40, 5)
		s.Count()
		now, most, beside := 0, 0, 0
		var mu sync.Mutex
		add := func(n, id int) {
			mu.Lock()
			defer mu.Unlock()
			if now += n; id < 5 && now > 1 {
				beside++
			}
			most = max(most, now)
		}
		h := eventual.NewHandler("letter", o.plain, func(ctx context.Context, j eventual.Job, l letter) error {
			add(1, l.ID)
			time.Sleep(time.Second)
			add(0, l.ID)
			add(-1, 5)
			return o.send(ctx, j, l)
		})
		w := workerOf(o, h, eventual.WorkerOptions{Common: quick(), Attempts: 3})
		check(w.Drain(ctx))
		if got := w.Stats(); beside > 0 || most < 10 || got.Done != 40 || got.Received != 40 || got.Deferred > 0 {
			t.Errorf("%d times beside others, %d at once: %+v", beside, most, got)
		}
		if got := s.Count(); !strings.HasPrefix(got, "40 get, 40 insert-or-replace, 40 merge, 40 message-delete, ") || !strings.HasSuffix(got, " message-get, 5 message-update") {
			t.Errorf("got %s, want 5 message-update", got)
		}
	})
}

// TestDeadlyCleanUp: a clean-up of which each worker dies becomes poison like any other message.
func TestDeadlyCleanUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.acc.Queue("cleanups").EnqueueMessage(context.Background(), `{"v":1,"table":"staff","partition":"S","hour":"2026-01-01T00:00:00Z"}`, nil)
		check(err)
		deaths := 0
		for ; len(s.Messages("cleanups")) > 0 && deaths < 20; time.Sleep(2 * time.Minute) {
			ctx, buried := context.WithCancel(context.Background())
			m := &mortal{Service: s, buried: buried}
			o := openOffice(s.ConnectionString(), m, quick())
			h := o.handler()
			h.Sweep = func(ctx context.Context, _ keys.Enc, _ time.Time) error { return m.die(ctx) }
			opt := options()
			opt.CleanUp, opt.Attempts, opt.StopTimeout = o.acc.Queue("cleanups"), 2, time.Millisecond
			time.AfterFunc(time.Minute, buried)
			check(workerOf(o, h, opt).Run(ctx))
			if m.dead.Load() {
				deaths++
			}
		}
		if p := poisonOf(t, o); deaths != 4 || len(p) != 1 {
			t.Errorf("%d deaths, %v", deaths, p)
		}
	})
}

// The environment of a process of TestDeadlyProcess: where its account is.
const processEnv = "AZTABLEKIT_EVENTUAL_PROCESS"

// TestDeadlyProcess: processes that really end, by os.Exit, with others' messages in hand.
func TestDeadlyProcess(t *testing.T) {
	t.Parallel()
	opt := eventual.WorkerOptions{Common: quick(), Visibility: time.Second, Idle: 160 * time.Millisecond, Attempts: 2}
	if cs := os.Getenv(processEnv); cs != "" {
		o := openOffice(cs, nil, quick())
		ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
		defer stop()
		h := eventual.NewHandler("letter", o.plain, func(ctx context.Context, j eventual.Job, l letter) error {
			if l.ID == 0 {
				os.Exit(3)
			}
			return o.send(ctx, j, l)
		})
		w := workerOf(o, h, opt)
		go func() {
			for range time.Tick(100 * time.Millisecond) {
				if n, err := w.Backlog(ctx); n == 0 && err == nil {
					stop()
				}
			}
		}()
		check(w.Run(ctx))
		return
	}
	if testing.Short() {
		t.Skip("-short: takes some seconds")
	}
	ctx := context.Background()
	s := storagetest.New(nil)
	cs, err := s.Listen()
	check(err)
	defer s.Close()
	o := openOffice(s.ConnectionString(), s, quick())
	check(o.ensure(ctx))
	for i := range 12 {
		_, err := o.staff.Insert(ctx, &clerk{fmt.Sprint("S", i%5), i, "Jones"})
		check(err)
	}
	deaths := 0
	for ; deaths < 10; deaths++ {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDeadlyProcess$")
		cmd.Env = append(os.Environ(), processEnv+"="+cs)
		out, err := cmd.CombinedOutput()
		var ee *exec.ExitError
		if died := errors.As(err, &ee) && ee.ExitCode() == 3; !died && err != nil {
			t.Fatalf("%v: %s", err, out)
		} else if !died {
			break
		}
	}
	if p := poisonOf(t, o); deaths != 4 || len(p) != 1 || p[0].Class != eventual.ClassCrashes || p[0].Partition != "S0" {
		t.Errorf("%d deaths, %+v", deaths, p)
	}
	if got := len(s.Rows("sent")); got != 11 {
		t.Errorf("%d effects are executed, want 11", got)
	}
}
