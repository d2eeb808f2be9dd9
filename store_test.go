package aztablekit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

type employee struct {
	Department string
	ID         int
	Name       string
	Email      string
	Salary     int64
}

type badge struct {
	Department string
	Number     int
}

var (
	dept  = keys.Partition(keys.Text(), func(e *employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *employee) *int { return &e.ID })

	badgeDept = keys.Partition(keys.Text(), func(b *badge) *string { return &b.Department })
	badgeNo   = keys.Row(keys.Digits[int](4).Named("badge"), func(b *badge) *int { return &b.Number })
)

func emailOf(e *employee) (string, bool) { return e.Email, e.Email != "" }

// newUnique returns a unique index of all departments.
func newUnique() *index.Unique[employee, string] {
	return index.NewUnique("email", keys.Fold(keys.Text()), emailOf, nil)
}

func isNew(c *eventual.Change[employee]) (string, bool) {
	if c.Old != nil || c.New == nil {
		return "", false
	}
	return c.New.Name, true
}

// TestStore: one declaration keeps everything that follows from an entity, in the writer and in the workers.
func TestStore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	service := storagetest.New(nil)
	company := aztablekit.Open(service, "company", nil)

	byEmail := newUnique()
	byName := index.NewGlobal("name", keys.Text(), func(e *employee) (string, bool) { return e.Name, true }, nil)
	payroll := index.NewSummary("payroll", keys.Text(), func(*employee) (string, bool) { return "all", true }, nil)
	var welcomed []string
	welcome := eventual.On("welcome", isNew, func(_ context.Context, _ eventual.Job, name string) error {
		welcomed = append(welcomed, name)
		return nil
	})
	directory := aztablekit.Table(company, "directory", dept, empid)
	listed := materialized.New("listed", directory, func(e *employee, _ keys.Key) (employee, bool) {
		return employee{Department: "all", ID: e.ID, Name: e.Name}, true
	})
	staff := aztablekit.Table(company, "staff", dept, empid, byEmail, byName, payroll, welcome, listed)

	if err := company.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	if got, want := service.TableNames(), []string{"companywork", "directory", "staff", "staffemail", "staffname"}; !slices.Equal(got, want) {
		t.Errorf("got tables %q; want %q", got, want)
	}
	if got, want := service.QueueNames(), []string{"company-poison", "company-writes"}; !slices.Equal(got, want) {
		t.Errorf("got queues %q; want %q", got, want)
	}
	if got, want := service.Count().Total(), 4+3+2*3; got != want {
		t.Errorf("Ensure: got %d requests; want %d, one for each table and queue, and 3 for each record", got, want)
	}

	if _, err := staff.Insert(ctx, &employee{"Sales", 223, "Jones", "JonesJ@contoso.com", 5}); err != nil {
		t.Fatal(err)
	}
	if _, err := staff.Insert(ctx, &employee{"Marketing", 1, "Jonas", "jonesj@contoso.com", 5}); !errors.Is(err, table.ErrTaken) {
		t.Errorf("a second owner: got %v; want ErrTaken", err)
	}
	if err := company.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	for what, get := range map[string]func() (*table.Entity[employee], error){
		"by e-mail": func() (*table.Entity[employee], error) {
			return byEmail.Get(ctx, staff, "JONESJ@contoso.com")
		},
		"by name": func() (*table.Entity[employee], error) { return byName.Get(ctx, staff, "Jones") },
		"in the view": func() (*table.Entity[employee], error) {
			return directory.Get(ctx, keys.At(dept.Of("all"), empid.Of(223)))
		},
	} {
		if e, err := get(); err != nil || e.Value.ID != 223 {
			t.Errorf("%s: got %v, %v; want employee 223", what, e, err)
		}
	}
	if g, err := payroll.Get(ctx, staff, dept.Of("Sales"), "all"); err != nil || g.Count != 1 {
		t.Errorf("payroll: got %v, %v; want 1 employee", g, err)
	}
	if want := []string{"Jones"}; !slices.Equal(welcomed, want) {
		t.Errorf("got %q welcomed; want %q", welcomed, want)
	}
	report, err := company.Verify(ctx, nil)
	if err != nil || report.Faults > 0 || report.Counts["derived rows"] != 4 {
		t.Errorf("Verify: got %+v, %v; want 4 sound rows: of an address, a name, a sum and a view", report, err)
	}
	if err := company.RunDaily(ctx); err != nil {
		t.Errorf("RunDaily: got %v; want none", err)
	}
}

// TestBulkOfStore: the handle of a table without definitions needs no place for a commit record, so its transactions have 100 operations.
func TestBulkOfStore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storagetest.New(nil)
	company := aztablekit.Open(s, "company", nil)
	staff := aztablekit.Table(company, "staff", dept, empid, &aztablekit.Settings[employee]{Options: table.Options{BlindWrites: true}})
	if err := errors.Join(company.Ensure(ctx), company.Ensure(ctx)); err != nil { // the second one reads the catalogue
		t.Fatal(err)
	}
	s.Count()
	result, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for id := range 1000 {
			if !yield(staff.UpsertOp(&employee{Department: "Sales", ID: id}, table.ReplaceExisting), nil) {
				return
			}
		}
	}, nil)
	if n := s.Count(); err != nil || result.Applied != 1000 || n.Total() != 10 {
		t.Errorf("got %+v, %v and %v; want 1,000 in 10 transactions", result, err, n)
	}
}

// TestPanickingEffect: a function of an effect that reads c.New of a delete panics. The delete fails with an error that names the effect, and the
// entity stays.
func TestPanickingEffect(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	mail := eventual.On("mail", func(c *eventual.Change[employee]) (string, bool) { return c.New.Name, c.Old == nil }, func(context.Context, eventual.Job, string) error { return nil })
	staff := aztablekit.Table(company, "staff", dept, empid, mail)
	if err := company.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	e, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := staff.Delete(ctx, e); err == nil || !strings.Contains(err.Error(), "effect mail") {
		t.Errorf("Delete: got %v; want an error that names the effect", err)
	}
	if _, err := staff.Get(ctx, e.Key); err != nil {
		t.Errorf("Get: got %v; want the entity", err)
	}
}

// TestNotifyPending: a name that is no table of the store is refused.
func TestNotifyPending(t *testing.T) {
	t.Parallel()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	aztablekit.Table(company, "staff", dept, empid)
	var wrong *table.ValueError
	if _, err := company.NotifyPending(t.Context(), "stuff", 0, nil); !errors.As(err, &wrong) || wrong.Field != "tableName" {
		t.Errorf("got %v; want a *table.ValueError for tableName", err)
	}
}

// TestVerify: a fault names its table and definition, and a repair ends it.
func TestVerify(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	service := storagetest.New(nil)
	company := aztablekit.Open(service, "company", nil)
	byName := index.New("name", keys.Text(), func(e *employee) (string, bool) { return e.Name, true }, nil)
	staff := aztablekit.Table(company, "staff", dept, empid, byName)
	if err := company.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	e, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 223, Name: "Jones"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.Tables().NewClient("staff").DeleteEntity(ctx, "Sales", rowOf(service, "name_"), nil); err != nil {
		t.Fatal(err)
	}
	var got []string
	report, err := company.Repair(ctx, &verify.Options{Fault: func(f verify.Fault) {
		got = append(got, fmt.Sprint(f.Table, " ", f.Definition, " ", f.Kind, " ", f.Entity, " ", f.Repaired))
	}})
	want := []string{fmt.Sprint("staff name missing ", e.Key, " true")}
	if err != nil || report.Faults > 0 || !slices.Equal(got, want) {
		t.Errorf("got %q, %+v, %v; want %q", got, report, err, want)
	}
	for field, pass := range map[string]table.Pass{
		"Partitions": {Partitions: dept.Of("Sales").Point()}, "Token": {Token: "2:x"},
		"Skip": {Skip: func(keys.Key, error) bool { return true }},
	} {
		var wrong *table.ValueError
		_, err := company.Verify(ctx, &verify.Options{Pass: pass})
		if !errors.As(err, &wrong) || !strings.HasSuffix(wrong.Field, "."+field) {
			t.Errorf("%s, of one table only: got error %v; want a *ValueError that names it", field, err)
		}
	}
}

// rowOf returns the RowKey of the table's first row that begins with a text.
func rowOf(s *storagetest.Service, prefix string) string {
	for _, r := range s.Rows("staff") {
		if strings.HasPrefix(r.RowKey, prefix) {
			return r.RowKey
		}
	}
	return ""
}

// TestSeveralTypes: a table of several types is declared once for each, and created once.
func TestSeveralTypes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	service := storagetest.New(nil)
	company := aztablekit.Open(service, "company", &aztablekit.Options{Prefix: "test1"})
	done := make(chan string, 2)
	badges := aztablekit.Table(company, "staff", badgeDept, badgeNo, eventual.On("print", func(c *eventual.Change[badge]) (int, bool) { return c.New.Number, true },
		func(_ context.Context, _ eventual.Job, number int) error {
			done <- fmt.Sprint(number)
			return nil
		}))
	staff := aztablekit.Table(company, "Staff", dept, empid, newUnique(), eventual.On("welcome", isNew, func(_ context.Context, _ eventual.Job, name string) error {
		done <- name
		return nil
	}))
	if err := company.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	if got, want := service.TableNames(), []string{"test1Staffemail", "test1companywork", "test1staff"}; !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("got tables %q; want %q", got, want)
	}
	if got, want := service.QueueNames()[0], "test1company-poison"; got != want {
		t.Errorf("got queue %s; want %s", got, want)
	}
	if got, want := service.Count().Total(), 2+3+3; got != want {
		t.Errorf("Ensure: got %d requests; want %d, one for each table and queue, and 3 for the record of the types", got, want)
	}
	_, err1 := staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Name: "Jones", Email: "j@contoso.com"})
	_, err2 := badges.Insert(ctx, &badge{"Sales", 7})
	if err := errors.Join(err1, err2, company.Drain(ctx)); err != nil {
		t.Fatal(err)
	}
	got := []string{<-done, <-done}
	slices.Sort(got)
	if want := []string{"7", "Jones"}; !slices.Equal(got, want) {
		t.Errorf("got effects %q; want %q", got, want)
	}
}

// endedContext returns the context of a Run that ends at once if nothing is wrong.
func endedContext(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestEffectsElsewhere: the program that writes need not execute effects, and a worker does not run by accident without their handlers.
func TestEffectsElsewhere(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	service := storagetest.New(nil)
	open := func(o *aztablekit.Options, do func(context.Context, eventual.Job, string) error) (*aztablekit.Store, *table.Table[employee]) {
		s := aztablekit.Open(service, "company", o)
		return s, aztablekit.Table(s, "staff", dept, empid, eventual.On("mail", isNew, do))
	}
	writer, staff := open(nil, nil)
	if err := writer.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Name: "Jones"}); err != nil {
		t.Fatal(err)
	}
	want := "table staff: definition mail: do is nil"
	for _, err := range []error{writer.Run(endedContext(t)), writer.Drain(ctx)} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %q", err, want)
		}
	}
	var mailed []string
	worker, _ := open(nil, func(_ context.Context, _ eventual.Job, name string) error { mailed = append(mailed, name); return nil })
	if err := worker.Drain(ctx); err != nil || !slices.Equal(mailed, []string{"Jones"}) {
		t.Errorf("the worker: got %q mailed, %v; want Jones", mailed, err)
	}
	other, _ := open(&aztablekit.Options{NotHandled: []string{"mail"}}, nil)
	if err := other.Drain(ctx); err != nil {
		t.Errorf("a worker of other effects: got %v; want none", err)
	}
}

// TestRun: Run executes effects and does the work of each day until its context ends.
func TestRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	service := storagetest.New(nil)
	company := aztablekit.Open(service, "company", &aztablekit.Options{Daily: time.Millisecond, Worker: eventual.WorkerOptions{Idle: 16 * time.Millisecond}})
	done, days := make(chan string, 1), make(chan string, 1000)
	staff := aztablekit.Table(company, "staff", dept, empid, eventual.On("mail", isNew, func(_ context.Context, _ eventual.Job, name string) error { done <- name; return nil }))
	aDay := func(context.Context) error {
		select {
		case days <- "a day":
		default:
		}
		return errors.New("a failure does not end Run")
	}
	if err := host.Of(company).Declare("a day", host.Parts{Daily: []host.Task{{Name: "a day", Do: aDay}}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := company.Ready(); !errors.Is(err, eventual.ErrNotRunning) {
		t.Errorf("before Run: got %v; want ErrNotRunning", err)
	}
	if err := company.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- company.Run(ctx) }()
	if _, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Name: "Jones"}); err != nil {
		t.Fatal(err)
	}
	if got := await(t, done); got != "Jones" {
		t.Errorf("got %q; want Jones", got)
	}
	await(t, days)
	await(t, days)
	if err := company.Ready(); err != nil {
		t.Errorf("while Run runs: got %v; want none", err)
	}
	if err := company.Run(ctx); !errors.As(err, new(*table.ValueError)) {
		t.Errorf("a second Run: got %v; want a *table.ValueError", err)
	}
	cancel()
	if err := await(t, ended); err != nil {
		t.Errorf("after the end of its context: got %v; want none", err)
	}
}

// await returns what comes next, and fails if nothing comes.
func await[V any](t *testing.T, from <-chan V) (v V) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(10 * time.Second):
		t.Fatal("got nothing within 10 s")
	}
	return v
}

// TestRunWithoutTables: a store of logs alone has no worker, and no queues.
func TestRunWithoutTables(t *testing.T) {
	t.Parallel()
	service := storagetest.New(nil)
	for _, daily := range []time.Duration{0, -1} {
		s := aztablekit.Open(service, "company", &aztablekit.Options{Daily: daily})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := errors.Join(s.Ensure(t.Context()), s.Drain(t.Context()), s.Run(ctx)); err != nil {
			t.Errorf("got %v; want no error", err)
		}
	}
	if n := service.Count().Total(); n != 0 {
		t.Errorf("got %d requests; want none", n)
	}
}

// withoutQueues is an account that has no endpoint for queues.
type withoutQueues struct {
	*storagetest.Service
	tables *account.Account
}

func (a withoutQueues) Queues() *azqueue.ServiceClient { return a.tables.Queues() }

// TestAccountWithoutQueues: tables without effects need no queues; what needs them says so.
func TestAccountWithoutQueues(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tables, err := account.FromSAS(account.Endpoints{Table: "http://127.0.0.1/tables"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	acc := withoutQueues{storagetest.New(nil), tables}
	plain := aztablekit.Open(acc, "company", nil)
	staff := aztablekit.Table(plain, "staff", dept, empid, index.New("email", keys.Text(), emailOf, nil))
	if err := plain.Ensure(ctx); err != nil {
		t.Errorf("Ensure of an index: got %v; want none", err)
	}
	if _, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1}); err != nil {
		t.Errorf("Insert: got %v; want none", err)
	}
	if err := plain.Run(ctx); !errors.Is(err, account.ErrNoEndpoint) {
		t.Errorf("Run: got %v; want ErrNoEndpoint", err)
	}
	eventually := aztablekit.Open(acc, "company", nil)
	staff = aztablekit.Table(eventually, "others", dept, empid, newUnique())
	if err := eventually.Ensure(ctx); !errors.Is(err, account.ErrNoEndpoint) {
		t.Errorf("Ensure of a unique index: got %v; want ErrNoEndpoint", err)
	}
	if _, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 2, Email: "a@contoso.com"}); !errors.Is(err, account.ErrNoEndpoint) {
		t.Errorf("Insert with a unique index: got %v; want ErrNoEndpoint", err)
	}
}

// TestEnsureFails: Ensure goes on after a failure, and names what it could not create.
func TestEnsureFails(t *testing.T) {
	t.Parallel()
	service := storagetest.New(&storagetest.Options{Faults: storagetest.OfKind(kinds.TableCreate, storagetest.Refuse(403, "AuthorizationFailure"))})
	company := aztablekit.Open(service, "company", nil)
	staff := aztablekit.Table(company, "staff", dept, empid)
	if err := company.Ensure(t.Context()); err == nil || !strings.Contains(err.Error(), "table staff: ") {
		t.Errorf("got %v; want an error about the table staff", err)
	}
	if got := len(service.QueueNames()); got != 2 {
		t.Errorf("got %d queues; want 2", got)
	}
	_, err := staff.Get(t.Context(), keys.At(dept.Of("Sales"), empid.Of(1)))
	if want := "Store.Ensure creates it"; !errors.Is(err, table.ErrNotCreated) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v; want ErrNotCreated that says %q", err, want)
	}
}

// TestConcurrentUse: the methods of a store are safe for concurrent use, and settings may be those of two tables.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s := aztablekit.Open(storagetest.New(nil), "company", nil)
	settings := &aztablekit.Settings[employee]{Schema: table.Schema[employee]{Version: 2}}
	aztablekit.Table(s, "staff", dept, empid, settings)
	aztablekit.Table(s, "former", dept, empid, settings)
	var g errgroup.Group
	g.Go(func() error { return s.Ensure(t.Context()) })
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		g.Go(func() error { return s.Ensure(t.Context()) })
		g.Go(func() error { return s.RunDaily(t.Context()) })
		g.Go(func() error { _, err := s.Poison(); return err })
	}
	if err := g.Wait(); err != nil {
		t.Errorf("got %v; want none", err)
	}
}

// TestReadyWithoutTables: a store of logs alone is ready while Run runs.
func TestReadyWithoutTables(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := aztablekit.Open(storagetest.New(nil), "company", nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		if err := s.Ready(); err != nil {
			t.Errorf("while Run runs: got %v; want none", err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: got %v; want none", err)
		}
		if err := s.Ready(); !errors.Is(err, eventual.ErrNotRunning) {
			t.Errorf("after Run: got %v; want ErrNotRunning", err)
		}
		if _, err := s.Poison(); !errors.As(err, new(*table.ValueError)) {
			t.Errorf("Poison: got %v; want a *table.ValueError", err)
		}
	})
}

// TestEnsureFailsForQueues: Ensure names each queue that it could not create.
func TestEnsureFailsForQueues(t *testing.T) {
	t.Parallel()
	service := storagetest.New(&storagetest.Options{Faults: storagetest.OfKind(kinds.QueueCreate, storagetest.Refuse(403, "AuthorizationFailure"))})
	company := aztablekit.Open(service, "company", nil)
	aztablekit.Table(company, "staff", dept, empid)
	err := company.Ensure(t.Context())
	for _, queue := range []string{"the queue of notifications: ", "the poison queue: "} {
		if err == nil || !strings.Contains(err.Error(), queue) {
			t.Errorf("got %v; want an error about %s", err, queue)
		}
	}
}

// TestSettings: settings reach the schema and the options of the table, with the names of the store.
func TestSettings(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	service := storagetest.New(nil)
	s := aztablekit.Open(service, "company", &aztablekit.Options{Prefix: "t"})
	former := aztablekit.Table(s, "former", dept, empid)
	staff := aztablekit.Table(s, "staff", dept, empid, &aztablekit.Settings[employee]{Schema: table.Schema[employee]{Type: "employee"}})
	if err := s.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	e, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := service.Rows("tstaff")[0].Get("_type"); got != "employee" {
		t.Errorf("got type %v; want employee", got)
	}
	if err := staff.MoveTo(ctx, former, e); err != nil {
		t.Errorf("MoveTo: got %v; want none, also under a prefix", err)
	}
}

// TestWorkerCommon: the options that a worker has of its own count, and the others are those of the store.
func TestWorkerCommon(t *testing.T) {
	t.Parallel()
	log := func(text *bytes.Buffer) *slog.Logger {
		return slog.New(slog.NewTextHandler(text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	var ofStore, ofWorker bytes.Buffer
	for own, common := range map[*bytes.Buffer]table.Common{&ofWorker: {Logger: log(&ofWorker)}, &ofStore: {}} {
		o := aztablekit.Options{Common: table.Common{Logger: log(&ofStore)}, Worker: eventual.WorkerOptions{Common: common}}
		r := openReminders(storagetest.New(nil), o, notBefore(time.Time{}))
		testkit.NoError(t, r.store.Ensure(t.Context()))
		_, err := r.table.Insert(t.Context(), &reminder{Group: "A", ID: 1})
		testkit.NoError(t, err)
		testkit.NoError(t, r.store.Drain(t.Context()))
		if text := own.String(); !strings.Contains(text, "completed") {
			t.Errorf("log of the worker: got %q; want its message", text)
		}
		ofStore.Reset()
	}
}
