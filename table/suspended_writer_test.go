package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// settableClock is a clock that can be advanced.
type settableClock struct {
	mu  sync.Mutex
	off time.Duration
}

func (w *settableClock) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.off)
}

func (w *settableClock) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off += d
}

// suspendableWriter is a program that writes residents with letters and can be suspended. Beside it run a worker and a sweeper
// whose clocks are right.
type suspendableWriter struct {
	testing.TB
	s           *testkit.Hooked
	clock       *settableClock
	people      *table.Table[resident] // the writer's
	others      *table.Table[resident]
	out         *tableOutbox
	sent        *table.Table[table.Row]
	othersClock *settableClock // the clock of the worker and the sweeper
}

// newSuspendableWriter returns a writer with one resident whose letter is sent.
func newSuspendableWriter(t testing.TB) *suspendableWriter {
	t.Helper()
	ctx := context.Background()
	x := &suspendableWriter{TB: t, s: &testkit.Hooked{Service: storagetest.New(nil)}, clock: &settableClock{}, othersClock: &settableClock{}}
	mine, others := noWaitOptions(), noWaitOptions()
	options.SetNow(&mine.Common, x.clock.Now)
	options.SetNow(&others.Common, x.othersClock.Now)
	people := peopleOf(t, x.s, mine)
	service := serviceOf(t, x.s.Service)
	var err error
	x.out, err = newTableOutbox(service, noWaitOptions())
	noError(t, err)
	x.sent, err = bare.NewTable(service, "sent", table.Schema[table.Row]{}, noWaitOptions())
	noError(t, err)
	x.people, err = baretest.WithOutbox(people, x.out, letters{})
	noError(t, err)
	x.others, err = baretest.WithOutbox(peopleOf(t, x.s.Service, others), x.out, letters{})
	noError(t, err)
	noError(t, errors.Join(tabledoor.Ensure(ctx, people), tabledoor.Ensure(ctx, x.out.rows), tabledoor.Ensure(ctx, x.sent)))
	_, err = x.others.Insert(ctx, &resident{"S", 1, "Jones", ""})
	noError(t, err)
	noError(t, x.out.drain(ctx, x.others, x.sent))
	return x
}

// suspend suspends the writer for a time. Meanwhile the worker resolves all notifications and completes their effects, and
// at the end the sweeper runs. suspend returns the resolved states by operation ID.
func (x *suspendableWriter) suspend(d time.Duration) (resolved map[string]commit.State) {
	ctx := context.Background()
	resolved = map[string]commit.State{}
	for e, err := range x.out.rows.List(ctx, table.Query[table.Row]{TableScan: true}) {
		noError(x, err)
		i, err := records.Of(x.others).Resolve(ctx, e.Key.Partition(), e.Key.RowKey())
		noError(x, err)
		resolved[i.OperationID] = i.State
	}
	noError(x, x.out.drain(ctx, x.others, x.sent))
	x.othersClock.advance(d)
	x.s.Advance(d)
	_, err := baretest.SweepAll(ctx, x.others)
	noError(x, err)
	return resolved
}

// last returns the resident's last name and the row's operation ID.
func (x *suspendableWriter) last() (name string, op string) {
	for _, r := range x.s.Rows("people") {
		if r.RowKey == "p_000001" {
			return fmt.Sprint(r.Get("Last")), testkit.OperationID(r.Get("_op"))
		}
	}
	return "", ""
}

// atTransaction calls f once, before the n-th transaction of the writer.
func (x *suspendableWriter) atTransaction(n int, f func()) {
	x.s.BeforeRequest = func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/$batch") {
			if n--; n == 0 {
				f()
			}
		}
	}
}

// checkEnd returns an error if an applied write was resolved as aborted, if the writer's result was wrong, or if a letter is
// missing.
func (x *suspendableWriter) checkEnd(returned error, resolved map[string]commit.State) error {
	noError(x, x.out.drain(context.Background(), x.others, x.sent))
	name, op := x.last()
	switch applied := name == "Smith"; {
	case applied && resolved[op] == commit.Aborted:
		return fmt.Errorf("%s was applied, but resolved as aborted", op)
	case applied && returned != nil && !errors.Is(returned, table.ErrUnknownOutcome), !applied && returned == nil:
		return fmt.Errorf("applied: %v, but the write returned: %v", applied, returned)
	case applied:
		for _, r := range x.s.Rows("sent") {
			if r.RowKey == op {
				return nil
			}
		}
		return fmt.Errorf("got no letter of %s", op)
	}
	return nil
}

// suspendingOutbox suspends the program after the notification of a write and before its request.
type suspendingOutbox struct {
	*tableOutbox
	suspend func()
}

func (o *suspendingOutbox) Notify(ctx context.Context, a commit.Notification) (commit.SentNotification, error) {
	h, err := o.tableOutbox.Notify(ctx, a)
	if f := o.suspend; f != nil {
		o.suspend = nil
		f()
	}
	return h, err
}

// TestSuspendedWriter: a writer is suspended between the notification of a write and its request. Meanwhile a worker finds no
// commit record and stores an abort record, which is then swept. The writer's clock is right or wrong when it resumes.
func TestSuspendedWriter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, slept := range []time.Duration{time.Minute, 2 * time.Hour, 23 * time.Hour, 26 * time.Hour, 30 * 24 * time.Hour} {
		for _, wrong := range []time.Duration{0, 10 * time.Second, -time.Minute, time.Hour, -time.Hour, 12 * time.Hour} {
			for _, before := range []time.Duration{0, 20 * time.Hour, -20 * time.Hour} { // the error of the clock when the write begins
				t.Run(fmt.Sprint(slept, wrong, before), func(t *testing.T) {
					t.Parallel()
					x := newSuspendableWriter(t)
					x.clock.advance(before)
					var resolved map[string]commit.State
					out := &suspendingOutbox{tableOutbox: x.out}
					mine := noWaitOptions()
					options.SetNow(&mine.Common, x.clock.Now)
					people, err := baretest.WithOutbox(peopleOf(t, x.s, mine), out, letters{})
					noError(t, err)
					e, err := people.Get(ctx, residentAt(1))
					noError(t, err)
					out.suspend = func() {
						resolved = x.suspend(slept)
						x.clock.advance(slept + wrong - before)
					}
					returned := people.Merge(ctx, e, lastName.Set("Smith"))
					if len(resolved) != 1 {
						t.Fatalf("got %v; want one operation resolved", resolved)
					}
					if err := x.checkEnd(returned, resolved); err != nil {
						t.Error(err)
					}
					if returned != nil {
						t.Errorf("got %v; want the write done under another ID", returned)
					}
				})
			}
		}
	}
}

// TestSuspendedBetweenAttempts: a writer is suspended after its first attempt, whose request or response was lost.
func TestSuspendedBetweenAttempts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		fault storagetest.Fault
		slept time.Duration
		done  bool
		want  error
	}{
		{"request lost, an hour", storagetest.LostRequest(), time.Hour, false, table.ErrGivenUp},
		{"request lost, beyond the retention", storagetest.LostRequest(), 30 * time.Hour, false, table.ErrUnknownOutcome},
		{"response lost, an hour", storagetest.LostResponse(), time.Hour, true, nil},
		{"response lost, beyond the retention", storagetest.LostResponse(), 30 * time.Hour, true, table.ErrUnknownOutcome},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newSuspendableWriter(t)
			e, err := x.people.Get(ctx, residentAt(1))
			noError(t, err)
			var resolved map[string]commit.State
			first := true
			x.s.SetFaults(func(q storagetest.Request) storagetest.Fault {
				if q.Kind != requests.Transaction || !first {
					return storagetest.Fault{}
				}
				first = false
				return c.fault
			})
			slept := false
			x.people = withClockHook(x, func() {
				if !first && !slept {
					slept = true
					resolved = x.suspend(c.slept)
					x.clock.advance(c.slept)
				}
			})
			returned := x.people.Merge(ctx, e, lastName.Set("Smith"))
			if !slept {
				t.Fatal("got no reading of the clock after the first attempt; want one")
			}
			if name, _ := x.last(); (name == "Smith") != c.done || !errors.Is(returned, c.want) || c.want == nil && returned != nil {
				t.Errorf("got %s, %v; want it done: %v, %v", name, returned, c.done, c.want)
			}
			if err := x.checkEnd(returned, resolved); err != nil {
				t.Error(err)
			}
		})
	}
}

// withClockHook opens the writer's table with a clock that calls f at each reading, which precedes each attempt.
func withClockHook(x *suspendableWriter, f func()) *table.Table[resident] {
	o := noWaitOptions()
	options.SetNow(&o.Common, func() time.Time {
		f()
		return x.clock.Now()
	})
	people, err := baretest.WithOutbox(peopleOf(x, x.s, o), x.out, letters{})
	noError(x, err)
	return people
}

// TestHeldRequest: the network delays the request of a write beyond the retention of commit records, and then delivers it. The
// writer sends the notification again, so that the letter is sent.
func TestHeldRequest(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := newSuspendableWriter(t)
	e, err := x.people.Get(ctx, residentAt(1))
	noError(t, err)
	x.atTransaction(1, func() {
		x.suspend(30 * time.Hour)
		x.clock.advance(30 * time.Hour)
	})
	returned := x.people.Merge(ctx, e, lastName.Set("Smith"))
	if name, _ := x.last(); returned != nil || name != "Smith" {
		t.Fatalf("got %s, %v; want it done", name, returned)
	}
	if err := x.checkEnd(returned, nil); err != nil {
		t.Error(err)
	}
}

// TestNotifiedAgain: the machine of a writer is suspended while the request of a write travels. The writer sends the notification again, also
// if only an earlier plan had effects: the commit record is pending, and nobody else may know of it. If that fails, the writer shows the
// first notification.
func TestNotifiedAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	town := func() (*table.Table[resident], *testkit.Hooked, *memoryOutbox, func()) {
		s, out, clock := &testkit.Hooked{Service: storagetest.New(nil)}, &memoryOutbox{}, &settableClock{}
		o := noWaitOptions()
		o.Retry.Attempts = 4
		options.SetNow(&o.Common, clock.Now)
		people := peopleOf(t, s, o)
		noError(t, tabledoor.Ensure(ctx, people))
		people, err := baretest.WithOutbox(people, out, byEmail{}, letters{})
		noError(t, err)
		return people, s, out, func() { clock.advance(30 * time.Hour) }
	}

	people, s, out, suspend := town()
	beforeBatch(s, func(int) {
		suspend()
		out.notifyErr = errors.New("no queue")
	})
	_, err := people.Insert(ctx, &resident{"S", 1, "Smith", "x"})
	noError(t, err)
	testkit.Expect(t, "calls, if the second notification fails", out.calls, []string{"notify", "notify", "show"})

	// The first request, with an effect, is late. A concurrent writer changes the row, so the second plan has no effects.
	// Then the first request is applied.
	people, s, out, suspend = town()
	s.SetFaults(batchFault(1, storagetest.Late(1000)))
	beforeBatch(s, func(n int) {
		switch n {
		case 2:
			_, err := residentRows(t, s).Insert(ctx, residentRow(t, "p_000001", map[string]any{"Last": "Smith", "Email": ""}))
			noError(t, err)
		case 3:
			noError(t, residentRows(t, s).DeleteAny(ctx, residentAt(1)))
			s.Deliver()
			suspend()
		}
	})
	_, err = people.Upsert(ctx, &resident{"S", 1, "Smith", "x"}, table.ReplaceExisting)
	noError(t, err)
	testkit.Expect(t, "calls, if an earlier plan had effects", out.calls, []string{"notify", "notify", "show"})

	// An exact write without effects has a commit record, and notifies nobody.
	people, s, out, suspend = town()
	beforeBatch(s, func(int) { suspend() })
	e, err := people.Exact().Insert(ctx, &resident{"S", 1, "Smith", "x"})
	noError(t, err)
	out.calls = nil
	err = people.Exact().Merge(ctx, e, eMail.Set("y"))
	noError(t, err)
	testkit.Expect(t, "calls for a write without effects", out.calls, []string(nil))
}

// TestSuspendedExact: the clock of an exact write without effects jumps during the write. The outcome is ErrGivenUp if the
// write can still be aborted, else unknown.
func TestSuspendedExact(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, back := range []time.Duration{30 * time.Hour, -30 * time.Hour, -time.Hour} {
		staff, e, s := staffInMemory(t, noWaitOptions())
		clock := &settableClock{}
		o := noWaitOptions()
		options.SetNow(&o.Common, clock.Now)
		jumped := false
		s.SetFaults(func(q storagetest.Request) storagetest.Fault {
			if q.Kind == requests.Transaction && !jumped {
				jumped = true
				clock.advance(back)
				return storagetest.LostRequest()
			}
			return storagetest.Fault{}
		})
		mine, err := bare.NewTable(serviceOf(t, s), staff.Name(), staffSchema, o)
		noError(t, err)
		err = mine.Exact().Merge(ctx, e, age.Set(50))
		done := s.Rows("staff")[0].Get("Age") == int32(50)
		want := table.ErrUnknownOutcome
		if back == -time.Hour {
			want = table.ErrGivenUp // the write can still be aborted
		}
		if done || !errors.Is(err, want) {
			t.Errorf("%v: got %v, done %v; want %v", back, err, done, want)
		}
	}
}

// TestSuspendedResolver: a worker is suspended while its abort record is on its way. Meanwhile the write is committed, its
// effects are completed, and the commit record is swept. The abort record is then stored, but proves nothing.
func TestSuspendedResolver(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, lost := range []bool{false, true} { // the first abort record is lost, and another one follows
		x := newSuspendableWriter(t)
		out := &suspendingOutbox{tableOutbox: x.out}
		people, err := baretest.WithOutbox(peopleOf(t, x.s, noWaitOptions()), out, letters{})
		noError(t, err)
		e, err := people.Get(ctx, residentAt(1))
		noError(t, err)
		named, goesOn, ended := make(chan bool), make(chan bool), make(chan error)
		out.suspend = func() { close(named); <-goesOn }
		go func() { ended <- people.Merge(ctx, e, lastName.Set("Smith")) }()
		<-named

		clock := &settableClock{}
		o := noWaitOptions()
		options.SetNow(&o.Common, clock.Now)
		s := &testkit.Hooked{Service: x.s.Service}
		s.BeforeRequest = func(r *http.Request) {
			if r.Method != http.MethodPost {
				return
			}
			s.BeforeRequest = nil
			close(goesOn)
			noError(t, <-ended)
			x.suspend(30 * time.Hour)
			clock.advance(30 * time.Hour)
			if lost {
				n := len(x.s.Requests()) + 1
				x.s.SetFaults(storagetest.AtRequest(n, storagetest.LostRequest()))
			}
		}
		op := x.s.Rows("notifications")[0].RowKey
		i, err := records.Of(peopleOf(t, s, o)).Resolve(ctx, dept.PartitionKey("S"), op)
		if name, is := x.last(); name != "Smith" || is != op {
			t.Fatalf("got %s, %s; want the write done as %s", name, is, op)
		}
		if !errors.Is(err, errs.ErrExpired) {
			t.Errorf("lost %v: got %+v, %v; want ErrExpired, since the write was applied", lost, i, err)
		}
	}
}

// TestClocksAhead: an operation ID of a clock that is less than a day ahead or behind is resolved as any other. An ID of a
// later day is refused.
func TestClocksAhead(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		ahead time.Duration
		want  error // nil: resolved
	}{{0, nil}, {time.Second, nil}, {time.Minute, nil}, {time.Hour, nil}, {23 * time.Hour, nil}, {-time.Hour, nil}, {-23 * time.Hour, nil}, {25 * time.Hour, errors.ErrUnsupported}, {-25 * time.Hour, errs.ErrExpired}} {
		synctest.Test(t, func(t *testing.T) {
			staff, e, s := staffInMemory(t, noWaitOptions())
			clock := &settableClock{}
			o := blindOptions() // with pauses, which pass at once in the bubble
			options.SetNow(&o.Common, clock.Now)
			clock.advance(c.ahead)
			mine, err := bare.NewTable(serviceOf(t, s), staff.Name(), staffSchema, o)
			noError(t, err)
			s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind == requests.Transaction || q.Kind == requests.Insert }, storagetest.Refuse(503, "ServerBusy")))
			var ue *table.UnknownError
			if err := mine.Exact().Merge(ctx, e, age.Set(50)); !errors.As(err, &ue) {
				t.Fatalf("%v: got %v; want an *UnknownError", c.ahead, err)
			}
			s.SetFaults(nil)
			clock.advance(-c.ahead) // the clock is right again
			i, err := records.Of(staff).Resolve(ctx, e.Key.Partition(), ue.OperationID)
			var ve *table.ValueError
			switch {
			case c.want == nil && (err != nil || i.State != commit.Aborted),
				c.want == errs.ErrExpired && !errors.Is(err, c.want),
				c.want == errors.ErrUnsupported && !errors.As(err, &ve):
				t.Errorf("%v: got %+v, %v; want %v", c.ahead, i, err, c.want)
			}
			if done, err := ue.Resolve(ctx); c.want == nil && (done || err != nil) || c.want != nil && err == nil {
				t.Errorf("%v: got done %v, %v; want not done, and an error only if %v is one", c.ahead, done, err, c.want)
			}
		})
	}
}
