package aztablekit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/internal/work"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// reminder is an entity with an effect.
type reminder struct {
	Group, Text string
	ID          int
}

var (
	reminderGroup = keys.Partition(keys.Text(), func(r *reminder) *string { return &r.Group })
	reminderID    = keys.Row(keys.Digits[int](6), func(r *reminder) *int { return &r.ID })
)

// reminders is a process of a store with an effect of each insert.
type reminders struct {
	store *aztablekit.Store
	table *table.Table[reminder]
	calls *atomic.Int64
}

// openReminders opens the store in a process, whose handler is do.
func openReminders(service *storagetest.Service, o aztablekit.Options, do func(context.Context, eventual.Job, int) error) *reminders {
	r := &reminders{store: aztablekit.Open(service, "reminders", &o), calls: new(atomic.Int64)}
	handler := func(ctx context.Context, j eventual.Job, id int) error {
		r.calls.Add(1)
		return do(ctx, j, id)
	}
	remind := eventual.On("remind", func(c *eventual.Change[reminder]) (int, bool) {
		if c.Old != nil || c.New == nil {
			return 0, false
		}
		return c.New.ID, true
	}, handler)
	r.table = aztablekit.Table(r.store, "reminders", reminderGroup, reminderID, remind)
	return r
}

// running runs processes of a store until the end of the test's bubble.
func running(t *testing.T, stores ...*aztablekit.Store) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, len(stores))
	for _, s := range stores {
		go func() { done <- s.Run(ctx) }()
	}
	return func() {
		cancel()
		for range stores {
			if err := <-done; err != nil {
				t.Errorf("Run: got %v, want nil", err)
			}
		}
	}
}

// slowly are options of workers that ask an empty queue seldom, for tests of days.
func slowly() aztablekit.Options {
	return aztablekit.Options{Worker: eventual.WorkerOptions{Idle: 4 * time.Minute}}
}

// notBefore is a handler whose effects are due at a time.
func notBefore(due time.Time) func(context.Context, eventual.Job, int) error {
	return func(context.Context, eventual.Job, int) error {
		if left := time.Until(due); left > 0 {
			return eventual.RetryAfter(left, errors.New("not yet"))
		}
		return nil
	}
}

// TestDeferredForDays: 50 effects that wait for six days have 50 messages and 100 calls, with any number of processes that run.
func TestDeferredForDays(t *testing.T) {
	t.Parallel()
	for _, processes := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			ctx := context.Background()
			service := storagetest.New(nil)
			due := time.Now().Add(6 * 24 * time.Hour)
			var stores []*aztablekit.Store
			var all []*reminders
			for range processes {
				r := openReminders(service, slowly(), notBefore(due))
				all, stores = append(all, r), append(stores, r.store)
			}
			testkit.NoError(t, stores[0].Ensure(ctx))
			for i := range 50 {
				_, err := all[0].table.Insert(ctx, &reminder{Group: fmt.Sprint("G", i%5), ID: i})
				testkit.NoError(t, err)
			}
			service.Count()
			stop := running(t, stores...)
			time.Sleep(6*24*time.Hour + time.Hour)
			stop()
			calls := int64(0)
			for _, r := range all {
				calls += r.calls.Load()
			}
			testkit.Expect(t, fmt.Sprint("calls by ", processes, " processes"), calls, 100)
			testkit.Expect(t, fmt.Sprint("further messages by ", processes, " processes"), service.Count()[kinds.MessagePut], 0)
			testkit.Expect(t, "messages left", len(service.Messages("reminders-writes")), 0)
		})
	}
}

// TestWaitsOnPurpose: the work of a day, done a hundred times by four processes, sends nothing and executes nothing beside effects that
// wait: after RetryAfter, of a kind that another release has, as poison, in a queue whose workers pause, and in a queue that is behind.
func TestWaitsOnPurpose(t *testing.T) {
	t.Parallel()
	for what, do := range map[string]func(context.Context, eventual.Job, int) error{
		"RetryAfter":                func(context.Context, eventual.Job, int) error { return eventual.RetryAfter(3*24*time.Hour, nil) },
		"poison":                    func(context.Context, eventual.Job, int) error { return eventual.Poison(nil) },
		"a kind of another program": nil,
		"pause":                     func(context.Context, eventual.Job, int) error { return nil },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				service := storagetest.New(nil)
				var all []*reminders
				for range 4 {
					o := slowly()
					if do == nil {
						o.NotHandled = []string{"remind"}
					}
					all = append(all, openReminders(service, o, do))
				}
				if do == nil { // the workers do not have the kind
					all = nil
					for range 4 {
						all = append(all, withoutHandler(service))
					}
				}
				testkit.NoError(t, all[0].store.Ensure(ctx))
				for i := range 10 {
					_, err := all[0].table.Insert(ctx, &reminder{Group: "G", ID: i})
					testkit.NoError(t, err)
				}
				if what != "pause" {
					for n := range 5 { // messages come back when their records are old enough to be found
						if err := all[0].store.Drain(ctx); (err != nil) != (what == "poison" && n == 0) {
							t.Errorf("got error %v of Drain; want one of poison alone", err)
						}
						time.Sleep(6 * time.Minute)
					}
				}
				time.Sleep(time.Hour)
				calls := all[0].calls.Load()
				service.Count()
				for n := range 100 {
					testkit.NoError(t, all[n%4].store.RunDaily(ctx))
				}
				counts := service.Count()
				testkit.Expect(t, "messages sent", counts[kinds.MessagePut], 0)
				testkit.Expect(t, "messages received", counts[kinds.MessageGet], 0)
				testkit.Expect(t, "calls", all[0].calls.Load(), calls)
			})
		})
	}
}

// withoutHandler opens the store in a process of another program, which has no handler of its effects.
func withoutHandler(service *storagetest.Service) *reminders {
	r := &reminders{store: aztablekit.Open(service, "reminders", &aztablekit.Options{NotHandled: []string{"remind"}, Worker: slowly().Worker}), calls: new(atomic.Int64)}
	remind := eventual.On[reminder, int]("remind", func(c *eventual.Change[reminder]) (int, bool) {
		return 0, c.Old == nil && c.New != nil
	}, nil)
	r.table = aztablekit.Table(r.store, "reminders", reminderGroup, reminderID, remind)
	return r
}

// TestDayOnce: of four processes that run for a week, one does the work of each day.
func TestDayOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		service := storagetest.New(nil)
		var stores []*aztablekit.Store
		for range 4 {
			stores = append(stores, openReminders(service, slowly(), notBefore(time.Now())).store)
		}
		testkit.NoError(t, stores[0].Ensure(ctx))
		stop := running(t, stores...)
		time.Sleep(7*24*time.Hour + time.Hour)
		peeks := service.Count()[kinds.MessagePeek] // one for each run, and one for the look into all partitions
		stop()
		testkit.Expect(t, "runs of the work of a day in a week", peeks-1, 7)
	})
}

// TestDayOverdue: if a store has a worker for one hour of each day only, a lost notification is found within two days.
func TestDayOverdue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		service := storagetest.New(nil)
		first := openReminders(service, slowly(), notBefore(time.Now()))
		testkit.NoError(t, first.store.Ensure(ctx))
		hour := func() int64 {
			r := openReminders(service, slowly(), notBefore(time.Now()))
			stop := running(t, r.store)
			time.Sleep(time.Hour)
			stop()
			time.Sleep(23 * time.Hour)
			return r.calls.Load()
		}
		hour()
		_, err := first.table.Insert(ctx, &reminder{Group: "G", ID: 1})
		testkit.NoError(t, err)
		_, err = service.Queues().NewQueueClient("reminders-writes").ClearMessages(ctx, nil)
		testkit.NoError(t, err)
		began := time.Now()
		for range 10 {
			if hour() > 0 {
				break
			}
		}
		if took := time.Since(began); took > 2*24*time.Hour {
			t.Errorf("the effect of a lost notification was executed after %v; want within 2 days", took)
		}
	})
}

// TestDayHandedOver: a process that stops in the middle of the work of a day leaves the rest to another one, and what is done is not
// done again.
func TestDayHandedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		service := storagetest.New(nil)
		process := func() *aztablekit.Store {
			return openReminders(service, slowly(), notBefore(time.Now())).store
		}
		s := process()
		testkit.NoError(t, s.Ensure(ctx))
		stop := running(t, s)
		time.Sleep(23 * time.Hour)
		// The second task, which reads the catalogue, hangs: the process is ended then.
		hangs := make(chan struct{})
		begins := sync.OnceFunc(func() { close(hangs) })
		service.SetFaults(func(q storagetest.Request) storagetest.Fault {
			if q.Kind != requests.Get || q.RowKey != "~c" {
				return storagetest.Fault{}
			}
			begins()
			return storagetest.Hang()
		})
		<-hangs
		stop()
		service.SetFaults(nil)
		first := service.Count()[kinds.MessagePeek]
		stop = running(t, process())
		time.Sleep(2 * time.Hour)
		stop()
		testkit.Expect(t, "runs of the first task", first+service.Count()[kinds.MessagePeek], 1)
		row := service.Rows("reminderswork")
		if len(row) != 1 || fmt.Sprint(row[0].Get("Done")) != "" || fmt.Sprint(row[0].Get("Owner")) != "" {
			t.Errorf("got row %v, want one of work that is done", row)
		}
	})
}

// openPlain opens a store with one table, for exact writes.
func openPlain(acc aztablekit.Account) (*aztablekit.Store, *table.Table[reminder]) {
	o := slowly()
	store := aztablekit.Open(acc, "notes", &o)
	return store, aztablekit.Table(store, "plain", reminderGroup, reminderID)
}

// notesOf returns the notes of the store of openPlain, as texts with their day and partition.
func notesOf(s *storagetest.Service) (all []string) {
	for _, r := range s.Rows("noteswork") {
		if r.RowKey != "day" {
			all = append(all, fmt.Sprint(r.PartitionKey[:8], " ", r.Get("Table"), " ", r.Get("Partition")))
		}
	}
	slices.Sort(all)
	return all
}

// TestNotes: a process stores one note for each partition and day, beside other requests of the write, and none for a write without a
// commit record.
func TestNotes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		service := storagetest.New(nil)
		store, plain := openPlain(service)
		testkit.NoError(t, store.Ensure(ctx))
		insert := func(to *table.Table[reminder], group string, id int) {
			t.Helper()
			_, err := to.Insert(ctx, &reminder{Group: group, ID: id})
			testkit.NoError(t, err)
		}
		insert(plain, "C", 1)
		service.Count()
		for id := range 3 {
			insert(plain.Exact(), "A", id)
			insert(plain.Exact(), "B", id)
		}
		testkit.Expect(t, "requests of a day", service.Count().String(), "2 insert-or-replace, 6 transaction")
		time.Sleep(24 * time.Hour)
		service.Count()
		insert(plain.Exact(), "A", 4)
		counts := service.Count()
		testkit.Expect(t, "notes of the next day", counts[kinds.InsertOrReplace], 1)
		testkit.Expect(t, "notes", notesOf(service), []string{"20000101 plain A", "20000101 plain B", "20000102 plain A"})
	})
}

// TestNoteFirst: no commit record and no abort record is stored before its note, whichever request of a write is the last one.
func TestNoteFirst(t *testing.T) {
	t.Parallel()
	for last := 1; last <= 4; last++ {
		for what, refuse := range map[string]bool{"an exact insert": false, "one that ends with an abort record": true} {
			synctest.Test(t, func(t *testing.T) {
				ctx, crash := context.WithCancel(context.Background())
				defer crash()
				service := storagetest.New(nil)
				store, plain := openPlain(service)
				testkit.NoError(t, store.Ensure(ctx))
				n := 0
				service.SetFaults(func(q storagetest.Request) storagetest.Fault {
					if n++; n > last {
						crash()
						return storagetest.LostRequest()
					}
					if refuse && q.Kind == requests.Transaction {
						return storagetest.LostRequest()
					}
					return storagetest.Fault{}
				})
				_, err := plain.Exact().Insert(ctx, &reminder{Group: "A", ID: 1})
				service.SetFaults(nil)
				records := 0
				for _, r := range service.Rows("plain") {
					if strings.HasPrefix(r.RowKey, "~i|") {
						records++
					}
				}
				if notes := len(notesOf(service)); records > notes {
					t.Errorf("%s, cut off after request %d (%v): got %d records and %d notes", what, last, err, records, notes)
				}
			})
		}
	}
	// A program that only resolves an operation stores the note of its abort record.
	service := storagetest.New(nil)
	store, plain := openPlain(service)
	testkit.NoError(t, store.Ensure(t.Context()))
	now, err := plain.Exact().Insert(t.Context(), &reminder{Group: "A", ID: 1})
	testkit.NoError(t, err)
	_, err = records.Of(plain).Resolve(t.Context(), reminderGroup.Of("B"), operationIDOf(t, service, now))
	testkit.NoError(t, err)
	testkit.Expect(t, "notes", len(notesOf(service)), 2)
}

// operationIDOf returns the operation ID of the commit record of a table with one record.
func operationIDOf(t *testing.T, s *storagetest.Service, _ *table.Entity[reminder]) string {
	t.Helper()
	for _, r := range s.Rows("plain") {
		if id, is := strings.CutPrefix(r.RowKey, "~i|"); is {
			return id
		}
	}
	t.Fatal("got no commit record, want one")
	return ""
}

// TestNoteOfPending: a note stays while a record of its day is pending, and nothing is swept before its time.
func TestNoteOfPending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		service := storagetest.New(nil)
		r := openReminders(service, slowly(), notBefore(time.Now().Add(4*24*time.Hour)))
		testkit.NoError(t, r.store.Ensure(ctx))
		_, err := r.table.Insert(ctx, &reminder{Group: "A", ID: 1})
		testkit.NoError(t, err)
		rows := func() int { return len(service.Rows("reminders")) + len(service.Rows("reminderswork")) }
		stored := rows()
		for day := range 7 {
			testkit.NoError(t, r.store.Drain(ctx))
			service.Count()
			testkit.NoError(t, r.store.RunDaily(ctx))
			if day == 0 { // the notes, the first message, the pending records of the partition, the catalogue, and the row of the day
				testkit.Expect(t, "requests on the first day", service.Count().String(), "2 get, 1 insert, 1 message-peek, 2 query")
			}
			want := stored + 1 // the row of the day
			if day == 6 {      // done on the fourth day, and more than a day older
				want -= 2
			}
			testkit.Expect(t, fmt.Sprint("rows on day ", day), rows(), want)
			time.Sleep(24*time.Hour + time.Minute)
		}
	})
}

// TestDayTaken: while a process does the work of a day, no other process takes it; and of two that take it at once, one does.
func TestDayTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		service := storagetest.New(nil)
		tables := func() *work.Table {
			w, err := work.New(service.Tables(), "daywork", engine.WithDefaults(options.Common{}))
			testkit.NoError(t, err)
			return w
		}
		one, other := tables(), tables()
		testkit.NoError(t, one.Ensure(ctx))
		take := func(w *work.Table, want bool) *work.Day {
			t.Helper()
			day, again, err := w.TakeDay(ctx, 24*time.Hour)
			testkit.NoError(t, err)
			if got := day != nil; got != want {
				t.Fatalf("takes the work: got %v; want %v (again after %v)", got, want, again)
			}
			return day
		}
		take(one, false)
		time.Sleep(25 * time.Hour)
		day := take(one, true)
		for range 5 {
			time.Sleep(8 * time.Minute)
			take(other, false)
			testkit.NoError(t, day.Renew(ctx))
		}
		time.Sleep(11 * time.Minute)
		second := take(other, true)
		if err := day.Renew(ctx, "task"); err == nil {
			t.Error("a process whose work was taken renews it; want an error")
		}
		if day.Left() > 0 {
			t.Errorf("a process that has not renewed for 11 minutes believes for %v more; want none", day.Left())
		}
		testkit.NoError(t, second.Renew(ctx, "task"))
		testkit.Expect(t, "task of the second process is done", second.IsDone("task"), true)
		testkit.NoError(t, second.End(ctx))
		take(one, false)

		// Both read the row before either takes it.
		time.Sleep(24 * time.Hour)
		service.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind == requests.Get }, storagetest.Slow(time.Second)))
		days := make(chan *work.Day, 2)
		for _, w := range []*work.Table{one, other} {
			go func() {
				day, _, err := w.TakeDay(ctx, 24*time.Hour)
				testkit.NoError(t, err)
				days <- day
			}()
		}
		a, b := <-days, <-days
		testkit.Expect(t, "one of two takes the work", (a != nil) != (b != nil), true)
	})
}

// TestNotesDenied: a client that may not write the table of notes writes all the same, and asks once a day.
func TestNotesDenied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		service := storagetest.New(nil)
		store, plain := openPlain(service)
		testkit.NoError(t, store.Ensure(ctx))
		service.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Table == "noteswork" }, storagetest.Refuse(403, "AuthorizationFailure")))
		service.Count()
		for day := range 2 {
			for id := range 3 {
				_, err := plain.Exact().Insert(ctx, &reminder{Group: fmt.Sprint("G", id), ID: day})
				testkit.NoError(t, err)
			}
			counts := service.Count()
			testkit.Expect(t, fmt.Sprint("notes that are refused on day ", day), counts[kinds.InsertOrReplace], 1)
			time.Sleep(24 * time.Hour)
		}
		testkit.NoError(t, store.RunDaily(ctx))
	})
}
