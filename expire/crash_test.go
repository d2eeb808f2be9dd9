package expire_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

var schedules = testkit.Count("schedules", 75, "schedules of entities that end, of each of two tests, and four times as many of one")

// office is a store of a process, whose mail addresses have one session each.
type office struct {
	*aztablekit.Store
	ends     *expire.Ends[session]
	byMail   *index.Unique[session, string]
	sessions *table.Table[session]
	service  *storagetest.Service
	options  *expire.Options
}

func openOffice(p *crashtest.Process, o *expire.Options, ahead time.Duration) (*office, error) {
	acc, err := account.FromTransport(p, nil)
	if err != nil {
		return nil, err
	}
	f := &office{service: p.Service(), options: o}
	f.ends = expire.At(func(s *session) time.Time { return s.Ends }, o)
	f.byMail = index.NewUnique("mail", keys.Text(), mailOf, nil)
	definitions := []extend.Definition[session]{f.ends}
	if o == nil || o.ManyPartitions {
		definitions = append(definitions, f.byMail)
	}
	now := func() time.Time { return time.Now().Add(ahead) }
	f.Store = aztablekit.Open(acc, "office", &aztablekit.Options{Daily: -1, Now: now})
	f.sessions = aztablekit.Table(f.Store, "sessions", user, id, definitions...)
	return f, nil
}

// sweepAhead is a sweep by a program whose clock is ahead, so that it looks into the hour that it
// is. Notes go by the service's clock.
func sweepAhead(ctx context.Context, p *crashtest.Process, o *expire.Options) error {
	if o != nil && o.ManyPartitions {
		time.Sleep(72 * time.Minute)
	}
	f, err := openOffice(p, o, 2*time.Hour)
	if err == nil {
		_, err = f.ends.Sweep(ctx, f.sessions, nil)
	}
	return err
}

// inOffice makes a function of a workload of one for a store.
func inOffice(o *expire.Options, do func(context.Context, *crashtest.Process, *office) error) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		f, err := openOffice(p, o, 0)
		if err != nil {
			return err
		}
		return do(ctx, p, f)
	}
}

// passed returns nil for errors by which a call of a program may end beside others.
func passed(err error) error {
	for _, may := range []error{table.ErrNotFound, table.ErrExists, table.ErrChanged, table.ErrContended, table.ErrTaken} {
		if errors.Is(err, may) {
			return nil
		}
	}
	return err
}

// drainOffice ends what crashed programs have begun, and finds no fault.
func drainOffice(ctx context.Context, _ *crashtest.Process, f *office) error {
	time.Sleep(2 * time.Minute)
	if err := f.Drain(ctx); err != nil {
		return err
	}
	report, err := verify.Check(ctx, f.sessions, nil)
	if err == nil && len(derived.Kinds(report)) > 0 {
		err = fmt.Errorf("got faults %v; want none", report)
	}
	return err
}

// everyStep is what a program does with sessions, one of which is over. It tells what has become of a Take that no other program competes with.
func everyStep(ctx context.Context, p *crashtest.Process, f *office, tell func(taken error)) error {
	time.Sleep(2 * time.Minute)
	now := time.Now()
	insert := func(u, i, mail string) error {
		_, err := f.sessions.Insert(ctx, &session{User: u, ID: i, Mail: mail, Ends: time.Now().Add(5 * time.Hour)})
		return passed(err)
	}
	_, read := f.sessions.Get(ctx, at("ann", "read"))
	_, extended := f.ends.Extend(ctx, f.sessions, at("ann", "alive"), func(v *session) error { v.Ends = now.Add(2 * time.Hour); return nil })
	_, taken := f.ends.Take(ctx, f.sessions, at("ann", "alive"))
	tell(taken)
	swept := sweepAhead(ctx, p, f.options)
	return errors.Join(
		passed(read),
		insert("ann", "insert", "insert@x"), // the place of one that is over
		insert("bob", "claims", "claimed@x"),
		passed(extended), passed(taken), passed(swept))
}

func setUpOffice(ctx context.Context, _ *crashtest.Process, f *office) error {
	if err := f.Ensure(ctx); err != nil {
		return err
	}
	for _, i := range []string{"read", "insert", "claimed", "swept"} {
		if _, err := f.sessions.Insert(ctx, &session{User: "ann", ID: i, Mail: i + "@x", Ends: time.Now().Add(time.Minute)}); err != nil {
			return err
		}
	}
	_, err := f.sessions.Insert(ctx, &session{User: "ann", ID: "alive", Mail: "alive@x", Ends: time.Now().Add(3 * time.Hour)})
	return err
}

// TestEveryFault: with each fault at each request, what is over goes with everything that follows from it, and nothing else.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for _, o := range []*expire.Options{nil, {ManyPartitions: true}} {
		t.Run(fmt.Sprint(o != nil), func(t *testing.T) {
			t.Parallel()
			build := func() crashtest.Workload {
				var taken error
				told := false
				work := func(ctx context.Context, p *crashtest.Process, f *office) error {
					return everyStep(ctx, p, f, func(err error) { taken, told = err, true })
				}
				return crashtest.Workload{
					Setup:     inOffice(o, setUpOffice),
					Processes: []func(context.Context, *crashtest.Process) error{inOffice(o, work)},
					Drain: inOffice(o, func(ctx context.Context, p *crashtest.Process, f *office) error {
						if err := sweepAhead(ctx, p, o); err != nil {
							return err
						}
						return drainOffice(ctx, p, f)
					}),
					Check: func(s *storagetest.Service) error {
						there := false
						for _, r := range s.Rows("sessions") {
							there = there || r.RowKey == "id_alive"
							if slices.Contains([]string{"id_read", "id_swept"}, r.RowKey) {
								return fmt.Errorf("got the row of %s; want that it is deleted", r.RowKey)
							}
						}
						if told && (taken == nil && there || taken != nil && passed(taken) == nil && !there) {
							return fmt.Errorf("Take returned %v, and the session is there: %v", taken, there)
						}
						return nil
					},
				}
			}
			crashtest.Enumerate(t, build, testkit.Crash(crashtest.Options{PairLimit: -1, Sample: testkit.Sample(15), Timeout: 4 * time.Hour})).Require(t)
		})
	}
}

// TestSchedules: programs that insert, extend, take, read and sweep the same few sessions, whose addresses are unique. In the end nothing is left of what is over, and each living session has what follows from it.
func TestSchedules(t *testing.T) {
	t.Parallel()
	work := func(ctx context.Context, p *crashtest.Process, f *office) error {
		for range 5 {
			time.Sleep(time.Duration(p.Rand().IntN(90)) * time.Second)
			k := at([]string{"ann", "bob"}[p.Rand().IntN(2)], fmt.Sprint(p.Rand().IntN(2)))
			mail, end := fmt.Sprint(p.Rand().IntN(2)), time.Now().Add(time.Duration(p.Rand().IntN(120))*time.Second)
			var err error
			switch p.Rand().IntN(8) {
			case 0, 1:
				_, err = f.sessions.Insert(ctx, &session{User: k.PartitionKey(), ID: strings.TrimPrefix(k.RowKey(), "id_"), Mail: mail, Ends: end})
			case 2:
				_, err = f.ends.Extend(ctx, f.sessions, k, func(s *session) error { s.Ends = end; return nil })
			case 3:
				_, err = f.ends.Take(ctx, f.sessions, k)
			case 4:
				_, err = f.sessions.Get(ctx, k)
			case 5:
				_, err = f.byMail.Get(ctx, f.sessions, mail)
			case 6:
				_, err = f.ends.Sweep(ctx, f.sessions, nil)
			case 7:
				var e *table.Entity[session]
				if e, err = f.sessions.Get(ctx, k); err == nil {
					e.Value.User = map[string]string{"ann": "bob", "bob": "ann"}[e.Value.User]
					err = f.sessions.Move(ctx, e)
				}
			}
			if passed(err) != nil && ctx.Err() != nil {
				return err
			}
		}
		return nil
	}
	build := func() crashtest.Workload {
		w := crashtest.Workload{
			Setup: inOffice(nil, func(ctx context.Context, _ *crashtest.Process, f *office) error { return f.Ensure(ctx) }),
			Drain: inOffice(nil, func(ctx context.Context, p *crashtest.Process, f *office) error {
				if err := drainOffice(ctx, p, f); err != nil {
					return err
				}
				if err := sweepAhead(ctx, p, nil); err != nil {
					return err
				}
				return drainOffice(ctx, p, f)
			}),
			Check: func(s *storagetest.Service) error {
				for _, of := range []string{"sessions", "sessionsmail"} {
					for _, r := range s.Rows(of) {
						if r.PartitionKey != "~c" && !strings.HasPrefix(r.RowKey, "~i|") && !strings.HasPrefix(r.RowKey, "~t|") && !strings.HasPrefix(r.RowKey, "~g|") {
							return fmt.Errorf("got the row %s %s of %s; want nothing: everything is over", r.PartitionKey, r.RowKey, of)
						}
					}
				}
				return nil
			},
		}
		for range 3 {
			w.Processes = append(w.Processes, inOffice(nil, work))
		}
		return w
	}
	r := crashtest.Schedules(t, build, testkit.Crash(crashtest.Options{Runs: *schedules, FaultRate: 0.1}))
	r.Require(t)
	t.Log(r)
}

// TestTakers: of programs that take one session, beside faults and crashes, one has it. Nobody has it only if it was lost with a program that has crashed, or that was not told.
func TestTakers(t *testing.T) {
	t.Parallel()
	build := func() crashtest.Workload {
		var mu sync.Mutex
		has, unknown := 0, 0
		plain := &expire.Options{Name: "plain"} // without unique values, because of which each write has a commit record
		takes := inOffice(plain, func(ctx context.Context, _ *crashtest.Process, f *office) error {
			e, err := f.ends.Take(ctx, f.sessions, at("ann", "alive"))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && e.Value.Mail == "alive@x":
				has++
			case passed(err) != nil:
				unknown++
			}
			return passed(err)
		})
		return crashtest.Workload{
			Setup:     inOffice(plain, setUpOffice),
			Processes: []func(context.Context, *crashtest.Process) error{takes, takes, takes},
			Drain:     inOffice(plain, drainOffice),
			Check: func(s *storagetest.Service) error {
				mu.Lock()
				defer mu.Unlock()
				gone := !slices.ContainsFunc(s.Rows("sessions"), func(r storagetest.Row) bool { return r.RowKey == "id_alive" })
				if has > 1 || has == 1 && !gone || has+unknown == 0 && gone {
					return fmt.Errorf("got %d with the session and %d that do not know, and it is gone: %v", has, unknown, gone)
				}
				return nil
			},
		}
	}
	r := crashtest.Schedules(t, build, testkit.Crash(crashtest.Options{Runs: *schedules, FaultRate: 0.1}))
	r.Require(t)
	t.Log(r)
}

// code is a code that is stored under one key: its number, which no other has, and the second of its end.
type code struct{ n, end int64 }

// codeCall is a call on the code, and codeResult its result. The service's clock was at from or later when the call began, and at to or earlier when it ended.
type (
	codeCall struct {
		method string // get, list, insert, extend, take
		code   code   // that is inserted, or the new end
	}
	codeResult struct {
		outcome  string // done, missing, exists, refused, unknown
		n        int64  // of the code that was found
		from, to int64
	}
)

// codeModel returns the codes that may be stored after a call. A call that finds a code over finds none, and then the code is gone.
var codeModel = testkit.Model(code{}, func(now code, a codeCall, r codeResult) []code {
	absent := now == code{}
	mayBeOver, mayBeAlive := !absent && r.to >= now.end, !absent && r.from < now.end
	switch r.outcome {
	case "missing":
		switch {
		case absent, mayBeOver && a.method == "list":
			return []code{now}
		case mayBeOver:
			return []code{{}}
		}
		return nil
	case "exists":
		if mayBeAlive {
			return []code{now}
		}
		return nil
	case "refused", "no answer":
		return []code{now}
	}
	var after code
	switch a.method {
	case "insert":
		after = a.code
	case "extend":
		after = code{now.n, a.code.end}
	case "get", "list":
		after = now
	}
	possible := mayBeAlive && (r.n == now.n || r.outcome == "unknown")
	if a.method == "insert" {
		possible = absent || mayBeOver
	}
	switch {
	case r.outcome == "done" && possible:
		return []code{after}
	case r.outcome == "unknown" && possible && mayBeOver:
		return []code{now, after, {}}
	case r.outcome == "unknown" && possible:
		return []code{now, after}
	case r.outcome == "unknown":
		return []code{now, {}}
	}
	return nil
})

// codeHistory records the calls of several programs with their results.
type codeHistory struct {
	testkit.History[codeCall, codeResult]
	codes atomic.Int64
}

// do makes a call and records its result.
func (h *codeHistory) do(ctx context.Context, f *office, a codeCall) {
	if a.method == "insert" {
		a.code.n = h.codes.Add(1)
	}
	h.Do(a, func() (codeResult, bool) {
		r := codeResult{from: f.service.Now().Unix()}
		e, err := a.call(ctx, f)
		switch {
		case err == nil:
			r.outcome = "done"
			if e != nil {
				r.n = int64(e.Value.Hits)
			}
		case errors.Is(err, table.ErrNotFound):
			r.outcome = "missing"
		case a.method == "get", a.method == "list":
			r.outcome = "no answer"
		case errors.Is(err, table.ErrExists):
			r.outcome = "exists"
		case errors.Is(err, table.ErrGivenUp), errors.Is(err, table.ErrChanged), errors.Is(err, table.ErrContended):
			r.outcome = "refused"
		default:
			r.outcome = "unknown"
		}
		r.to = f.service.Now().Unix()
		if r.outcome == "unknown" {
			r.to = math.MaxInt64
		}
		return r, r.outcome != "unknown"
	})
}

// call makes a call. The entity is nil for an insert.
func (a codeCall) call(ctx context.Context, f *office) (e *table.Entity[session], err error) {
	k := at("ann", "code")
	switch a.method {
	case "insert":
		_, err = f.sessions.Insert(ctx, &session{User: "ann", ID: "code", Hits: int(a.code.n), Ends: time.Unix(a.code.end, 0)})
	case "extend":
		e, err = f.ends.Extend(ctx, f.sessions, k, func(s *session) error { s.Ends = time.Unix(a.code.end, 0); return nil })
	case "take":
		e, err = f.ends.Take(ctx, f.sessions, k)
	case "get":
		e, err = f.sessions.Get(ctx, k)
	case "list":
		err = table.ErrNotFound
		for found, failed := range f.sessions.List(ctx, table.Query[session]{Partition: user.Of("ann")}) {
			e, err = found, failed
		}
	}
	return e, err
}

// TestLinearizable: programs insert, extend, take and read a code that ends. The results are those of calls one after the other: one caller takes a code, and none finds it after another was told that it is over.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	once := &expire.Options{Once: true}
	build := func() crashtest.Workload {
		h := &codeHistory{}
		w := crashtest.Workload{
			Setup: inOffice(once, func(ctx context.Context, _ *crashtest.Process, f *office) error { return f.Ensure(ctx) }),
			Drain: inOffice(once, func(ctx context.Context, _ *crashtest.Process, f *office) error {
				time.Sleep(2 * time.Minute)
				h.do(ctx, f, codeCall{method: "get"})
				return nil
			}),
			Check: func(*storagetest.Service) error { return h.Check(codeModel) },
		}
		for range 3 {
			w.Processes = append(w.Processes, inOffice(once, func(ctx context.Context, p *crashtest.Process, f *office) error {
				for range 5 {
					time.Sleep(time.Duration(p.Rand().IntN(20)) * time.Second)
					end := time.Now().Add(time.Duration(p.Rand().IntN(40)) * time.Second).Unix()
					h.do(ctx, f, codeCall{[]string{"insert", "insert", "get", "list", "extend", "take"}[p.Rand().IntN(6)], code{end: end}})
				}
				return nil
			}))
		}
		return w
	}
	r := crashtest.Schedules(t, build, testkit.Crash(crashtest.Options{Runs: 4 * *schedules, FaultRate: 0.1}))
	r.Require(t)
	t.Log(r)
}
