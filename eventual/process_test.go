package eventual_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/storagetest"
)

// process is the transport of a simulated process: after a crash, no request reaches the service.
type process struct {
	*storagetest.Service
	crashed atomic.Bool
	cancel  context.CancelFunc
}

// newProcess returns a process and the context of its worker.
func newProcess(s *storagetest.Service) (*process, context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	return &process{Service: s, cancel: cancel}, ctx
}

var errCrashed = errors.New("the process has crashed")

func (p *process) Do(r *http.Request) (*http.Response, error) {
	if p.crashed.Load() {
		return nil, errCrashed
	}
	return p.Service.Do(r)
}

// crash ends the process, and returns, unlike os.Exit.
func (p *process) crash() {
	p.crashed.Store(true)
	p.cancel()
}

// crashIn ends the process within a handler, which returns when the worker has ended.
func (p *process) crashIn(ctx context.Context) error {
	p.crash()
	<-ctx.Done()
	return ctx.Err()
}

// processes runs one process after another, and counts their crashes and the calls of their handlers.
type processes struct {
	mu      sync.Mutex
	crashes int
	calls   map[int]int // by the ID of the clerk
}

// processHandler is the handler of letters of a process.
type processHandler func(ctx context.Context, p *process, o *office, j eventual.Job, l letter) error

// run runs processes, each with a worker, until the queue is empty, and at most limit.
func (ps *processes) run(t testing.TB, s *storagetest.Service, opt eventual.WorkerOptions, limit int, handle processHandler) {
	t.Helper()
	ps.calls = map[int]int{}
	for range limit {
		if len(s.Messages("notifications")) == 0 {
			return
		}
		p, ctx := newProcess(s)
		o := officeOn(t, s, p, noPauses())
		opt.StopTimeout = time.Millisecond
		w := o.worker(t, opt, bare.NewHandler("letter", o.base, func(ctx context.Context, j eventual.Job, l letter) error {
			ps.mu.Lock()
			ps.calls[l.ID]++
			ps.mu.Unlock()
			return handle(ctx, p, o, j, l)
		}))
		go func() {
			for len(s.Messages("notifications")) > 0 && !p.crashed.Load() {
				time.Sleep(time.Second)
			}
			p.cancel()
		}()
		noError(t, w.Run(ctx))
		if p.crashed.Load() {
			ps.crashes++
		}
		time.Sleep(opt.Visibility + time.Second)
	}
	t.Errorf("messages left after %d processes: got %d, want none", limit, len(s.Messages("notifications")))
}
