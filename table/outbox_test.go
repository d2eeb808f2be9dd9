package table_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// memoryOutbox is an outbox in memory that records its calls.
type memoryOutbox struct {
	calls     []string
	notifyErr error
	hangs     bool
	last      commit.Notification
}

func (d *memoryOutbox) Notify(ctx context.Context, a commit.Notification) (commit.SentNotification, error) {
	d.calls, d.last = append(d.calls, "notify"), a
	if d.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return memoryNotification{d}, d.notifyErr
}

type memoryNotification struct{ outbox *memoryOutbox }

func (s memoryNotification) Show(ctx context.Context) error {
	s.outbox.calls = append(s.outbox.calls, "show")
	if s.outbox.hangs {
		<-ctx.Done()
	}
	return errors.New("not shown")
}

func (s memoryNotification) Withdraw(context.Context) error {
	s.outbox.calls = append(s.outbox.calls, "withdraw")
	return errors.New("not withdrawn")
}

// townWithEffects returns a table of residents with letters and unique addresses, in a service of its own. It has no outbox if out
// is nil.
func townWithEffects(t testing.TB, out commit.Outbox) (*table.Table[resident], *testkit.Hooked) {
	t.Helper()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	o := noWaitOptions()
	o.Retry.Attempts = 4
	people, err := bare.NewTable(serviceOf(t, s), "people", peopleSchema, o)
	noError(t, err)
	noError(t, tabledoor.Ensure(context.Background(), people))
	if out == nil {
		people, err = bare.With(people, byEmail{}, letters{})
	} else {
		people, err = baretest.WithOutbox(people, out, byEmail{}, letters{})
	}
	noError(t, err)
	s.Count()
	return people, s
}

// TestOutboxRequests: a write with effects calls the outbox at the right moments.
func TestOutboxRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := &memoryOutbox{}
	people, s := townWithEffects(t, d)
	after := func(what, wantCalls, wantRequests string, err, want error) {
		t.Helper()
		calls, requests := strings.Join(d.calls, " "), s.Count().String()
		if !errors.Is(err, want) || err != nil && want == nil || calls != wantCalls || requests != wantRequests {
			t.Errorf("%s: got %v, the calls %q and %s; want %v, %q and %s", what, err, calls, requests, want, wantCalls, wantRequests)
		}
		d.calls = nil
	}
	e, err := people.Insert(ctx, &resident{"S", 1, "Jones", "a"})
	after("insert", "notify show", "1 transaction", err, nil)
	if d.last.Table != "people" || d.last.Partition != "S" || d.last.Hidden != time.Minute || len(d.last.OperationID) != 26 {
		t.Errorf(`got %+v; want d.last.Table == "people" and d.last.Partition == "S" and d.last.Hidden == time.Minute and len(d.last.OperationID) == 26`, d.last)
	}
	i, err := records.Of(people).Get(ctx, keys.RawPartition("S"), d.last.OperationID)
	if err != nil || i.State != commit.Pending || len(i.Effects) != 1 || i.Effects[0].Kind != "letter" || i.Effects[0].Version != 1 || i.Effects[0].RowKey != "p_000001" || !strings.Contains(string(i.Effects[0].Payload), `"Last":"Jones"`) {
		t.Errorf("got %+v %v; want no error and i.State == commit.Pending and len(i.Effects) == 1 and i.Effects[0].Kind == \"letter\" and i.Effects[0].Version == 1 and i.Effects[0].RowKey == \"p_000001\" and `\"Last\":\"Jones\"` in string(i.Effects[0].Payload)", i, err)
	}
	for range 2 {
		if err := records.Of(people).MarkDone(ctx, i); err != nil || i.State != commit.Done {
			t.Errorf("got %v; want no error and i.State == commit.Done", err)
		}
	}
	s.Count()
	e.Value.Email = "b"
	after("no effects", "", "1 transaction", people.Replace(ctx, e), nil)
	stale := *e
	e.Value.Last = "Smith"
	after("replace", "notify show", "1 transaction", people.Replace(ctx, e), nil)
	stale.Value.Last = "Other"
	after("changed", "notify withdraw", "1 transaction", people.Replace(ctx, &stale), table.ErrChanged)
	_, err = people.Insert(ctx, &resident{"S", 2, "Jones", "b"})
	after("taken", "notify withdraw", "1 get, 1 insert, 1 transaction", err, errTaken) // a read, in case the row is only reserved; and the abort record, since the address may be free when the request arrives again
	d.notifyErr = errors.New("the queue is full")
	_, err = people.Insert(ctx, &resident{"S", 3, "Jones", "c"})
	after("refused by the outbox", "notify", "none", err, table.ErrOutbox)
	if !errors.Is(err, d.notifyErr) || !strings.Contains(err.Error(), "the queue is full") {
		t.Errorf(`got %v; want d.notifyErr and "the queue is full" in the error`, err)
	}
	d.notifyErr = nil
	s.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.LostResponse()))
	_, err = people.Insert(ctx, &resident{"S", 3, "Jones", "c"})
	after("every response lost", "notify show", "2 get, 1 insert, 4 transaction", err, nil)
	s.SetFaults(storagetest.First(storagetest.OfKind(requests.Transaction, storagetest.LostRequest()), storagetest.OfKind(requests.Insert, storagetest.LostRequest())))
	short, cancel := context.WithCancel(ctx)
	n := 0
	s.BeforeRequest = func(*http.Request) {
		if n++; n == 6 {
			cancel()
		}
	}
	_, err = people.Insert(short, &resident{"S", 4, "Jones", "d"})
	if !errors.Is(err, table.ErrUnknownOutcome) || strings.Join(d.calls, " ") != "notify" {
		t.Errorf("got %v, calls %v; want ErrUnknownOutcome, and the notification left", err, d.calls)
	}
}

// TestHangingOutbox: an outbox that does not respond delays no call beyond its context, and no committed write beyond one
// attempt's time.
func TestHangingOutbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &memoryOutbox{hangs: true}
		people, _ := townWithEffects(t, d)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := people.Insert(ctx, &resident{"S", 1, "Jones", "a"})
		if took := time.Since(start); !errors.Is(err, table.ErrOutbox) || !errors.Is(err, context.DeadlineExceeded) || took > 1100*time.Millisecond {
			t.Errorf("got %v, %v; want ErrOutbox and context.DeadlineExceeded and took <= 1100*time.Millisecond", err, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := &hangingOutbox{}
		people, _ := townWithEffects(t, d)
		start := time.Now()
		_, err := people.Insert(context.Background(), &resident{"S", 1, "Jones", "a"})
		if took := time.Since(start); err != nil || took != engine.DefaultAttemptTimeout {
			t.Errorf("got %v, %v; want no error and took == engine.DefaultAttemptTimeout", err, took)
		}
	})
}

// hangingOutbox accepts notifications and then does not respond.
type hangingOutbox struct{ memoryOutbox }

func (d *hangingOutbox) Notify(ctx context.Context, a commit.Notification) (commit.SentNotification, error) {
	h, err := d.memoryOutbox.Notify(ctx, a)
	d.hangs = true
	return h, err
}

// TestOutboxAttachment: With accepts one outbox per table, and Transact one per transaction.
func TestOutboxAttachment(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := townWithEffects(t, nil)
	var ve *table.ValueError
	if _, err := people.Insert(ctx, &resident{"S", 1, "Jones", "a"}); !errors.As(err, &ve) || ve.Field != "outbox" || s.Count().String() != "none" {
		t.Errorf(`got %v; want a *ValueError of the outbox and s.Count().String() == "none"`, err)
	}
	service := serviceOf(t, s)
	people, err := bare.NewTable(service, "people", peopleSchema, noWaitOptions())
	noError(t, err)
	people, err = bare.With(people, letters{})
	noError(t, err)
	a, b := &memoryOutbox{}, &memoryOutbox{}
	one, err := baretest.WithOutbox(people, a)
	noError(t, err)
	if _, err := baretest.WithOutbox(one, a); err != nil {
		t.Error(err)
	}
	if _, err := baretest.WithOutbox(one, b); !errors.As(err, &ve) {
		t.Errorf("got %v; want a *ValueError", err)
	}
	two, err := baretest.WithOutbox(people, b)
	noError(t, err)
	_, err = table.Transact(ctx, one.InsertOp(&resident{"S", 1, "Jones", "a"}), two.InsertOp(&resident{"S", 2, "Jones", "b"}))
	var be *table.BatchError
	if !errors.As(err, &ve) || ve.Field != "outbox" || !errors.As(err, &be) || be.Index != 1 || s.Count().String() != "none" {
		t.Errorf(`got %v; want a *ValueError of the outbox and a *BatchError and be.Index == 1 and s.Count().String() == "none"`, err)
	}
	// A table without an outbox takes that of the transaction.
	rows, err := bare.NewTable(service, "people", table.Schema[table.Row]{}, nil)
	noError(t, err)
	if _, err := table.Transact(ctx, rows.InsertOp(&table.Row{Key: keys.At(keys.RawPartition("S"), keys.RawRow("x"))}), one.InsertOp(&resident{"S", 1, "Jones", "a"})); err != nil || len(a.calls) != 2 {
		t.Errorf("got %v, %v; want no error and len(a.calls) == 2", err, a.calls)
	}
	// The time of the notification follows from the options of the table with the outbox.
	unbounded := noWaitOptions()
	unbounded.WriteTimeout = -1
	rows, err = bare.NewTable(service, "people", table.Schema[table.Row]{}, unbounded)
	noError(t, err)
	if _, err := table.Transact(ctx, rows.InsertOp(&table.Row{Key: keys.At(keys.RawPartition("S"), keys.RawRow("y"))}), one.InsertOp(&resident{"S", 2, "Jones", "b"})); err != nil || a.last.Hidden != time.Minute {
		t.Errorf("got %v, %+v; want no error and a.last.Hidden == time.Minute", err, a.last)
	}
	for _, none := range []commit.Outbox{nil, (*memoryOutbox)(nil)} {
		if _, err := baretest.WithOutbox(people, none); !errors.As(err, &ve) || !strings.Contains(err.Error(), "outbox is nil") {
			t.Errorf("got %v; want a *ValueError about the nil outbox", err)
		}
	}
	if silent, err := baretest.WithOutbox(people, &nilOutbox{}); err != nil {
		t.Error(err)
	} else if _, err := silent.Insert(ctx, &resident{"S", 3, "Jones", "c"}); !errors.Is(err, table.ErrOutbox) {
		t.Errorf("got %v; want ErrOutbox", err)
	}
	if _, err := baretest.WithOutbox(people, uncomparable{nil}); !errors.As(err, &ve) {
		t.Errorf("got %v; want a *ValueError", err)
	}
	endless := noWaitOptions()
	endless.WriteTimeout = -1
	forever, err := bare.NewTable(serviceOf(t, s), "people", peopleSchema, endless)
	noError(t, err)
	if _, err := baretest.WithOutbox(forever, a); !errors.As(err, &ve) {
		t.Errorf("got %v; want a *ValueError", err)
	}
}

// nilOutbox is an outbox that returns nothing. The values of uncomparable cannot be compared.
type (
	nilOutbox    struct{}
	uncomparable []commit.SentNotification
)

func (*nilOutbox) Notify(context.Context, commit.Notification) (commit.SentNotification, error) {
	return nil, nil
}

func (uncomparable) Notify(context.Context, commit.Notification) (commit.SentNotification, error) {
	return nil, nil
}

// TestEffectsRequests: a write with effects to an outbox that is a table makes 3 requests if the version is loaded, and 4 if
// not. A refused write makes as many.
func TestEffectsRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	service := serviceOf(t, s)
	people, err := bare.NewTable(service, "people", peopleSchema, noWaitOptions())
	noError(t, err)
	out, err := newTableOutbox(service, noWaitOptions())
	noError(t, err)
	noError(t, errors.Join(tabledoor.Ensure(ctx, people), tabledoor.Ensure(ctx, out.rows)))
	people, err = baretest.WithOutbox(people, out, byEmail{}, letters{})
	noError(t, err)
	s.Count()
	cost := func(what string, err, want error, requests string) {
		t.Helper()
		if !errors.Is(err, want) || err != nil && want == nil {
			t.Errorf("%s: got %v; want %v", what, err, want)
		}
		if got := s.Count().String(); got != requests {
			t.Errorf("%s: got %s; want %s", what, got, requests)
		}
	}
	e, err := people.Insert(ctx, &resident{"S", 1, "Jones", "a"})
	cost("insert", err, nil, "1 insert, 1 merge, 1 transaction")
	cost("from a loaded version", people.Merge(ctx, e, lastName.Set("Smith")), nil, "1 insert, 1 merge, 1 transaction")
	stale := *e
	cost("without effects", people.Merge(ctx, e, eMail.Set("b")), nil, "1 transaction")
	_, err = people.Update(ctx, e.Key, func(v *resident) error { return changeResident(v, "Jones", "c") })
	cost("from a key", err, nil, "1 get, 1 insert, 1 merge, 1 transaction")
	cost("by key", people.MergeAny(ctx, e.Key, lastName.Set("Cao")), nil, "1 get, 1 insert, 1 merge, 1 transaction")
	cost("changed meanwhile", people.Merge(ctx, &stale, lastName.Set("X")), table.ErrChanged, "1 delete, 1 insert, 1 transaction")
	_, err = people.Insert(ctx, &resident{"S", 2, "Jones", "c"})
	cost("taken", err, errTaken, "1 delete, 1 get, 2 insert, 1 transaction") // the row may only be reserved; and the abort record
	i := 0
	for record, err := range records.Of(people).List(ctx, keys.RawPartition("S"), time.Now().Add(time.Minute)) {
		noError(t, err)
		if i++; record.State != commit.Pending && record.State != commit.Aborted {
			t.Errorf("got %+v; want record.State == commit.Pending or record.State == commit.Aborted", record)
		}
	}
	if i != 5 {
		t.Errorf("got %v; want 5", i)
	}
}
