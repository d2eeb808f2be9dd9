package aztablekit_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// logged is a program that writes a log.
type logged struct {
	store *aztablekit.Store
	staff *table.Table[employee]
	log   bytes.Buffer
}

// loggedOf returns a program with a definition of each kind, whose functions return fold(name).
func loggedOf(acc aztablekit.Account, fold func(string) string) *logged {
	return loggedBy(acc, fold, nil)
}

// loggedBy returns one with a clock.
func loggedBy(acc aztablekit.Account, fold func(string) string, now func() time.Time) *logged {
	p := &logged{}
	o := &aztablekit.Options{Daily: -1}
	o.Now = now
	o.Common.Logger = slog.New(slog.NewTextHandler(&p.log, nil))
	p.store = aztablekit.Open(acc, "company", o)
	name := func(e *employee) (string, bool) { return fold(e.Name), true }
	names := func(e *employee) []string { return []string{fold(e.Name), e.Name} }
	salary := index.Measure[employee]{Name: "Salary", Of: func(e *employee) (int64, bool) { return e.Salary, true }}
	target := func(e *employee) (keys.RowKey, bool) { return keys.RawRow("to" + fold(e.Name)), e.ID < 0 }
	derive := func(e *employee, _ keys.Key) (badge, bool) { return badge{fold(e.Name), e.ID}, true }
	badges := aztablekit.Table(p.store, "badges", badgeDept, badgeNo)
	p.staff = aztablekit.Table(p.store, "staff", dept, empid,
		index.New("new", keys.Text(), name, nil), index.New("pointer", keys.Text(), name, nil).Only(),
		index.New("reserved", keys.Text(), name, &index.Options{Reserved: true}),
		index.NewMulti("multi", keys.Text(), 2, names, nil),
		index.NewGlobal("in", keys.Text(), name, nil).In(func(*employee) keys.PartitionKey { return keys.RawPartition("there") }),
		index.NewGlobal("global", keys.Text(), name, nil), index.NewUnique("unique", keys.Text(), name, nil),
		index.NewLists("lists", keys.Text(), name, nil), index.NewGlobal("globalpointers", keys.Text(), name, nil).Only(),
		index.NewSummary("summary", keys.Text(), name, nil, salary),
		index.NewDetails("details", "Of", target, table.FieldOf(func(e *employee) *int64 { return &e.Salary })),
		materialized.New("view", badges, derive))
	return p
}

// warned returns the definitions of which the log warns by some words.
func (p *logged) warned(words string) (all []string) {
	for line := range strings.Lines(p.log.String()) {
		_, name, _ := strings.Cut(line, "definition=")
		if name, _, _ = strings.Cut(name, " "); strings.Contains(line, words) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	p.log.Reset()
	return all
}

// TestChangedFunctions: Ensure warns of each definition whose function returns other keys for
// stored entities, and of no other one, for one request.
func TestChangedFunctions(t *testing.T) {
	t.Parallel()
	service := storagetest.New(nil)
	same := func(s string) string { return s }
	first := loggedOf(service, same)
	if err := first.store.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		if _, err := first.staff.Insert(t.Context(), &employee{"Sales", i, fmt.Sprint("Name", i), "", 1}); err != nil {
			t.Fatal(err)
		}
	}
	const words = "makes other rows"
	counts := map[bool]int{}
	for changed, fold := range map[bool]func(string) string{false: same, true: strings.ToLower} {
		p := loggedOf(service, fold)
		service.Count()
		if err := p.store.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		counts[changed] = service.Count().Total()
		var want []string
		if changed {
			want = []string{"global", "globalpointers", "in", "lists", "multi", "new", "pointer", "reserved", "summary",
				"unique", "view.view"}
		}
		if got := p.warned(words); !slices.Equal(got, want) {
			t.Errorf("changed %v: got warnings of %q; want %q", changed, got, want)
		}
	}
	silent := quiet(service)
	aztablekit.Table(silent, "staff", dept, empid)
	service.Count()
	if err := silent.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	tables, queues, catalogues := 6, 3, 2
	if want := tables + queues + catalogues + 2; counts[false] != want || counts[true] != want {
		t.Errorf("got %v requests; want %d, one of them for entities and one for the first message", counts, want)
	}
	if got, want := service.Count().Total(), 1+queues+1; got != want {
		t.Errorf("without definitions: got %d requests; want %d", got, want)
	}
}

// TestUnreadable: Ensure, and the work of each day, warn of each definition that is not readable.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	service := storagetest.New(nil)
	var log bytes.Buffer // of a release without the definitions
	o := &aztablekit.Options{Daily: -1}
	o.Common.Logger = slog.New(slog.NewTextHandler(&log, nil))
	old := aztablekit.Open(service, "company", o)
	aztablekit.Table(old, "badges", badgeDept, badgeNo)
	aztablekit.Table(old, "staff", dept, empid)
	p := loggedOf(service, strings.ToLower)
	if err := old.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	const words = "is not readable"
	for what, do := range map[string]func() error{
		"Ensure":   func() error { return p.store.Ensure(t.Context()) },
		"RunDaily": func() error { return p.store.RunDaily(t.Context()) },
	} {
		_ = p.store.Ensure(t.Context())
		p.log.Reset()
		if err := do(); err != nil {
			t.Errorf("%s: got %v", what, err)
		}
		if got := p.warned(words); len(got) != 12 {
			t.Errorf("%s: got warnings of %q; want those of 12 definitions", what, got)
		}
	}
	if err := old.Ensure(t.Context()); err != nil || log.Len() > 0 {
		t.Errorf("a release without the definitions: got %v and the log %s; want none", err, log.String())
	}
}

// TestPendingWarned: Ensure warns of effects that have waited and that no worker has received, with the
// time since when, for one request. It does not warn while they are young, nor once a worker received them.
func TestPendingWarned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		service := storagetest.New(nil)
		p := loggedOf(service, strings.ToLower)
		ahead := loggedBy(service, strings.ToLower, func() time.Time { return time.Now().Add(time.Hour) })
		const words = "effects are pending"
		expect := func(when string, want bool) {
			t.Helper()
			service.Count()
			p.log.Reset()
			if err := p.store.Ensure(ctx); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(p.log.String(), words); got != want {
				t.Errorf("%s: got a warning: %v; want one: %v\n%s", when, got, want, p.log.String())
			}
			testkit.Expect(t, "peeks", service.Count()[kinds.MessagePeek], 1)
		}
		expect("without effects", false)
		if _, err := p.staff.Insert(ctx, &employee{"Sales", 1, "Jones", "", 1}); err != nil {
			t.Fatal(err)
		}
		since := time.Now().UTC().Format("2006-01-02T15:04")
		expect("at once", false)
		if err := ahead.store.Ensure(ctx); err != nil || strings.Contains(ahead.log.String(), words) {
			t.Errorf("by a clock that is ahead: got %v and the log %s; want no warning, since the service's clock counts", err, ahead.log.String())
		}
		time.Sleep(11 * time.Minute)
		expect("later", true)
		if !strings.Contains(p.log.String(), "since="+since) || !strings.Contains(p.log.String(), "queue=company-writes") {
			t.Errorf("got the log\n%s\nwant since=%s and the queue", p.log.String(), since)
		}
		if err := p.store.Drain(ctx); err != nil {
			t.Fatal(err)
		}
		expect("after the worker", false)
		if _, err := p.staff.Insert(ctx, &employee{"Sales", 2, "Smith", "", 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := service.Queues().NewQueueClient("company-writes").DequeueMessage(ctx, nil); err != nil { // by a worker that crashes
			t.Fatal(err)
		}
		time.Sleep(11 * time.Minute)
		expect("received before", false)
	})
}
