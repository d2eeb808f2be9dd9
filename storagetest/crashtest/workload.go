package crashtest

import (
	"bytes"
	"context"
	"errors"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// Workload is what is tested. A function that returns one makes it anew for every run, with whatever its functions share, such
// as what each process was told.
type Workload struct {
	// Setup fills the account before anything can fail. May be nil.
	Setup func(ctx context.Context, p *Process) error

	// Processes are what may fail, die, and run at once, so what they share needs a lock. What they return is ignored but in the run without faults, where an
	// error is a violation: what a process was told is for the workload to remember, and for Check to judge. A panic is a
	// violation always.
	Processes []func(ctx context.Context, p *Process) error

	// Drain is what comes after: workers and sweepers, until nothing is left to do. It runs without faults, in a process of
	// its own, while late requests arrive, and once more when all have. An error is a violation. May be nil.
	Drain func(ctx context.Context, p *Process) error

	// Always must be true after Setup, and from then on after everything that reaches the account. May be nil. It looks at
	// the account and must send no requests.
	Always func(s *storagetest.Service) error

	// Check must be true in the end. May be nil.
	Check func(s *storagetest.Service) error
}

// Process is a program that uses the account: the Transport of its clients. It is safe for concurrent use.
//
// Clients should not repeat requests at random times of their own (the SDK's retries wait for times of chance), nor make
// random names that decide what comes next, or a seed does not repeat a run: [Process.Rand] is chance that does.
type Process struct {
	name   string
	run    *run
	tested bool // things happen to it
	ctx    context.Context
	kill   context.CancelCauseFunc
	rng    *rand.Rand

	mu   sync.Mutex
	dead bool
}

// ErrDead is the error of every request of a process that has died.
var ErrDead = errors.New("crashtest: the process is dead")

// ConnectionString is that of the account.
func (p *Process) ConnectionString() string { return p.run.service.ConnectionString() }

// Service is the account.
func (p *Process) Service() *storagetest.Service { return p.run.service }

// Rand is a source of chance that is the same in each run with the same seed. It is not for concurrent use.
func (p *Process) Rand() *rand.Rand { return p.rng }

// Do sends a request, if the process lives: Process is a policy.Transporter. A request ends with its process's context, also
// where its own goes on.
func (p *Process) Do(r *http.Request) (*http.Response, error) {
	if p.isDead() {
		return nil, ErrDead
	}
	q, r, err := p.run.service.Describe(r)
	if err != nil {
		return nil, err
	}
	ctx, end := joined(r.Context(), p.ctx)
	defer end()
	h := &held{process: p, request: q, sum: sum(q, r), free: make(chan struct{})}
	if err := p.run.hold(ctx, h); err != nil {
		return nil, err
	}
	switch {
	case h.dies:
		p.die()
		ctx = context.WithoutCancel(ctx) // the request goes its way without the process
	case p.isDead():
		return nil, ErrDead
	}
	resp, err := p.run.send(h, r.WithContext(ctx))
	if h.dies {
		return nil, ErrDead
	}
	return resp, err
}

// joined is a context that ends with either of two.
func joined(a, b context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(a)
	stop := context.AfterFunc(b, func() { cancel(context.Cause(b)) })
	return ctx, func() { stop(); cancel(nil) }
}

// sum tells requests for the same row or message apart by what they bring.
func sum(q storagetest.Request, r *http.Request) uint64 {
	h := fnv.New64a()
	if q.Queue != "" {
		io.WriteString(h, r.URL.RawQuery)
	}
	io.WriteString(h, r.Header.Get("If-Match"))
	if r.Body != nil {
		b, _ := io.ReadAll(r.Body) // of memory
		h.Write(b)
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
	return h.Sum64()
}

func (p *Process) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	p.kill(ErrDead)
}

func (p *Process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// Options of a test. The zero value is ready for use.
type Options struct {
	// Service are the options of the account, but for its plan of faults, which is the test's. Where it shuffles the messages
	// of queues, each schedule does so in its own way.
	Service storagetest.Options

	// Faults are what can happen to a request, besides that it arrives late and that its process dies. Defaults to Faults.
	Faults func(storagetest.Request) []storagetest.Fault

	// Late is after how many other requests one that writes may still arrive, for the first time or once more: Enumerate
	// tries each number up to it, and the end; Schedules any time. Defaults to 16; below 0 none is late.
	Late int

	// Timeout bounds each process, Setup and Drain, on the account's clock. Defaults to 10 minutes.
	Timeout time.Duration

	// Pairs is how many requests a workload may have for Enumerate to try two mishaps in a run. Defaults to 8; below 0 it
	// never does.
	Pairs int

	// Runs is how many schedules are run. Defaults to 2,000.
	Runs int

	// Seed is that of the first schedule; the next have the numbers that follow. Defaults to 1.
	Seed uint64

	// Mishaps is how often a schedule lets something go wrong with a request, and Deaths how often with that its process dies.
	// Default to 0.1 and 0.2; below 0 never, and Enumerate lets no process die either.
	Mishaps, Deaths float64
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	def(&out.Late, 16)
	def(&out.Timeout, 10*time.Minute)
	def(&out.Pairs, 8)
	def(&out.Runs, 2000)
	def(&out.Seed, 1)
	def(&out.Mishaps, 0.1)
	def(&out.Deaths, 0.2)
	if out.Faults == nil {
		out.Faults = Faults
	}
	return out
}

func def[T comparable](v *T, d T) {
	if *v == *new(T) {
		*v = d
	}
}

// Faults is every fault that a request can have, but for those that Options add, and responses that are cut as if they were
// whole (CutClean), on some of which the SDK's SubmitTransaction panics.
func Faults(r storagetest.Request) []storagetest.Fault {
	all := []storagetest.Fault{
		storagetest.NotSent(), storagetest.LostRequest(), storagetest.LostResponse(), storagetest.Hang(), storagetest.Slow(time.Minute), storagetest.Cut(0),
		storagetest.Refuse(503, "ServerBusy"), storagetest.Refuse(500, "OperationTimedOut"), storagetest.Refuse(408, "RequestTimeout"),
	}
	switch {
	case r.Kind == "query":
		return append(all, storagetest.Cut(40), storagetest.ShortPage(0), storagetest.ShortPage(1))
	case reads(r):
		return append(all, storagetest.Cut(40))
	}
	all = append(all, storagetest.ExecuteThenHang(), storagetest.Twice(),
		storagetest.ExecuteThenRefuse(503, "ServerBusy"), storagetest.ExecuteThenRefuse(500, "OperationTimedOut"), storagetest.ExecuteThenRefuse(408, "RequestTimeout"))
	if r.Kind == "transaction" {
		all = append(all, storagetest.RefuseInTransaction(409, "EntityAlreadyExists"), storagetest.RefuseInTransaction(412, "UpdateConditionNotSatisfied"), storagetest.RefuseInTransaction(503, "ServerBusy"),
			storagetest.Cut(-1), storagetest.Cut(300))
	}
	return all
}

// reads tells whether a request changes nothing, whenever and however often it arrives. One that gets messages hides them.
func reads(r storagetest.Request) bool {
	switch r.Kind {
	case "get", "query", "table-query", "message-peek", "queue-get", "queue-list":
		return true
	}
	return false
}
