package integration

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// elsewhere: copies, pointers and unique values in other partitions and tables follow the employees, also to another department.
func elsewhere(e *env) {
	ctx := context.Background()
	byMail := index.NewUnique("mail", keys.Fold(keys.Text()), func(w *employee) (string, bool) { return w.Email, w.Email != "" },
		nil)
	byLast := index.NewGlobal("last", keys.Ordered(), func(w *employee) (string, bool) { return w.Last, true },
		nil).In(func(*employee) keys.PartitionKey { return keys.RawPartition("company") })
	names := index.NewGlobal("name", keys.Text(), func(w *employee) (string, bool) { return w.Last, true }, nil).Only()
	base := newTable(e, staffSchema, nil)
	queue := e.acc.Queues().NewQueueClient(base.Name() + "q")
	out, err := bareworker.NewOutbox(queue, nil)
	e.must(err)
	staff, err := baretest.WithOutbox(base, out)
	e.must(err)
	staff, err = baretest.Attach(staff, byMail, byLast, names)
	e.must(err)
	w, err := bareworker.New(queue, e.acc.Queues().NewQueueClient(base.Name()+"p"), baretest.Handlers(staff), &eventual.WorkerOptions{Concurrency: 1})
	e.must(err)
	e.must(errors.Join(w.Ensure(ctx), baretest.Ensure(ctx, staff)))

	brien, err := staff.Insert(ctx, &employee{"Sales", 1, "Pat", "O'Brien", 30, "O'Brien@x"})
	e.must(err)
	jones, err := staff.Insert(ctx, &employee{"Marketing", 2, "Jo", "Jones", 44, "jones%27@x"})
	e.must(err)
	if _, err := staff.Insert(ctx, &employee{"Marketing", 3, "Al", "O'Brien", 30, "o'brien@X"}); !errors.Is(err, table.ErrTaken) {
		e.Errorf("an address of another department: got %v; want ErrTaken", err)
	}
	found := func(want string, list func(func(*table.Entity[employee], error) bool)) {
		e.Helper()
		var got []string
		for w, err := range list {
			e.must(err)
			got = append(got, w.Value.First+" of "+w.Value.Department)
		}
		if joined(got) != want {
			e.Errorf("look-up: got %q; want %q", got, want)
		}
	}
	logIn := func(mail, want string) {
		e.Helper()
		e.counter.Take()
		w, err := byMail.Get(ctx, staff, mail)
		if e.must(err); w.Value.First+" of "+w.Value.Department != want {
			e.Errorf("log-in: got %+v; want %s", w.Value, want)
		}
		e.wantRequests("2 get")
	}
	check := func() {
		e.Helper()
		report, err := verify.Check(ctx, staff, nil)
		if e.must(err); report.Faults > 0 || report.Counts["pending"] > 0 {
			e.Errorf("got %+v; want a sound report", report)
		}
	}
	logIn("o'brien@X", "Pat of Sales")
	e.must(w.Drain(ctx))
	found("Jo of Marketing Pat of Sales", byLast.Between(ctx, staff, keys.RawPartition("company"), "J", "P"))
	found("Pat of Sales", names.List(ctx, staff, "O'Brien")) // at every instant
	check()

	e.counter.Take()
	jones.Value.Department = "Sales"
	e.must(staff.Move(ctx, jones))
	logIn("JONES%27@x", "Jo of Sales")
	jones.Value.Email, jones.Value.Last = "jo@x", "Smith"
	e.must(staff.Replace(ctx, jones))
	logIn("jo@x", "Jo of Sales")
	if _, err := byMail.Get(ctx, staff, "jones%27@x"); !errors.Is(err, table.ErrNotFound) {
		e.Errorf("the old address: got %v; want ErrNotFound", err)
	}
	e.must(staff.Delete(ctx, brien))
	e.must(w.Drain(ctx))
	found("Jo of Sales", byLast.Prefix(ctx, staff, keys.RawPartition("company"), "S"))
	found("", byLast.List(ctx, staff, keys.RawPartition("company"), "O'Brien"))
	check()
}
