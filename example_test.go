package aztablekit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// Employee is a row of the table staff.
type Employee struct {
	Department string
	ID         int
	Email      string
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// An e-mail address that one employee of all departments may have, and a message to each new employee.
func Example() {
	ctx := context.Background()
	dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid := keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
	byEmail := index.NewUnique("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) {
		return e.Email, e.Email != ""
	}, nil)
	welcome := eventual.On("welcome", func(c *eventual.Change[Employee]) (string, bool) {
		return c.Key.RowKey(), c.Old == nil
	}, func(_ context.Context, _ eventual.Job, employee string) error {
		fmt.Println("welcome", employee)
		return nil
	})

	company := aztablekit.Open(storagetest.New(nil), "company", nil) // a program takes its account from package account
	staff := aztablekit.Table(company, "staff", dept, empid, byEmail, welcome)
	check(company.Ensure(ctx))

	_, err := staff.Insert(ctx, &Employee{"Sales", 223, "JonesJ@contoso.com"})
	check(err)
	_, err = staff.Insert(ctx, &Employee{"Marketing", 7, "jonesj@contoso.com"})
	fmt.Println("a second owner is refused:", errors.Is(err, table.ErrTaken))

	check(company.Drain(ctx)) // in tests; a program calls company.Run
	jones, err := byEmail.Get(ctx, staff, "JONESJ@contoso.com")
	check(err)
	fmt.Println("log in:", jones.Value.Department, jones.Value.ID)
	// Output:
	// a second owner is refused: true
	// welcome empid_000223
	// log in: Sales 223
}

// A program runs the worker beside its own work, and says whether it does.
func ExampleStore_Run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	acc := storagetest.New(nil)
	company := aztablekit.Open(acc, "company", &aztablekit.Options{
		Common: table.Common{Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))},
	})
	aztablekit.Table(company, "staff", dept, empid)
	check(company.Ensure(ctx))
	ended := make(chan error)
	go func() { ended <- company.Run(ctx) }()
	http.HandleFunc("/readyz", func(rw http.ResponseWriter, _ *http.Request) {
		if err := company.Ready(); err != nil {
			http.Error(rw, err.Error(), http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/livez", func(rw http.ResponseWriter, _ *http.Request) {
		if err := company.Ready(); errors.Is(err, eventual.ErrNotRunning) {
			http.Error(rw, err.Error(), http.StatusServiceUnavailable)
		}
	})
	cancel() // when the program is to end
	fmt.Println(<-ended)
	// Output: <nil>
}

// What a nightly job does.
func ExampleStore_Verify() {
	ctx := context.Background()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	byName := index.New("name", keys.Text(), func(e *employee) (string, bool) { return e.Name, true }, nil)
	staff := aztablekit.Table(company, "staff", dept, empid, byName)
	check(company.Ensure(ctx))
	_, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 223, Name: "Jones"})
	check(err)
	check(company.RunDaily(ctx))
	found, err := company.Verify(ctx, &verify.Options{Fault: func(f verify.Fault) {
		fmt.Println(f.Table, f.Definition, f.Kind)
	}})
	check(err)
	fmt.Println(found)
	// Output: 1 rows, 0 changed, 0 faults; 1 derived rows, 1 partitions
}

// Another program has deleted an index row.
func ExampleStore_Repair() {
	ctx := context.Background()
	service := storagetest.New(nil)
	company := aztablekit.Open(service, "company", nil)
	byName := index.New("name", keys.Text(), func(e *employee) (string, bool) { return e.Name, true }, nil)
	staff := aztablekit.Table(company, "staff", dept, empid, byName)
	check(company.Ensure(ctx))
	_, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 223, Name: "Jones"})
	check(err)
	row := service.Rows("staff")[1]
	_, err = service.Tables().NewClient("staff").DeleteEntity(ctx, row.PartitionKey, row.RowKey, nil)
	check(err)
	done, err := company.Repair(ctx, nil)
	check(err)
	fmt.Println(done)
	// Output: 1 rows, 1 changed, 0 faults; 1 missing, 1 partitions
}

// The effects that wait, and those that no attempt could execute.
func ExampleStore_Poison() {
	ctx := context.Background()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	refuse := func(context.Context, eventual.Job, int) error { return eventual.Poison(errors.New("no such address")) }
	mail := eventual.On("mail", func(c *eventual.Change[employee]) (int, bool) { return c.New.ID, true }, refuse)
	staff := aztablekit.Table(company, "staff", dept, empid, mail)
	check(company.Ensure(ctx))
	_, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 223})
	check(err)
	backlog, err := company.Backlog(ctx)
	check(err)
	fmt.Println(company.Drain(ctx))
	poison, err := company.Poison()
	check(err)
	for m, err := range poison.List(ctx) {
		check(err)
		fmt.Println(backlog, company.Stats().Poisoned, m.Kind, m.Class)
	}
	// Output:
	// eventual: Drain: table staff, partition "Sales": effect mail: poison: no such address
	// 1 1 mail handler
}

// A program stops its worker from receiving messages for a while, such as during a release.
func ExampleStore_Pause() {
	ctx := context.Background()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	aztablekit.Table(company, "staff", dept, empid)
	check(company.Ensure(ctx))
	company.Pause()
	running, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- company.Run(running) }()
	company.Resume()
	stop()
	fmt.Println(<-ended)
	// Output: <nil>
}

// An operator has cleared the queue. The effects are still stored with their writes.
func ExampleStore_NotifyPending() {
	ctx := context.Background()
	acc := storagetest.New(nil)
	company := aztablekit.Open(acc, "company", nil)
	mail := eventual.On("mail", func(c *eventual.Change[employee]) (int, bool) { return c.New.ID, true }, func(_ context.Context, _ eventual.Job, id int) error {
		fmt.Println("welcome", id)
		return nil
	})
	staff := aztablekit.Table(company, "staff", dept, empid, mail)
	check(company.Ensure(ctx))
	_, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 223})
	check(err)
	_, err = acc.Queues().NewQueueClient("company-writes").ClearMessages(ctx, nil)
	check(err)

	done, err := company.NotifyPending(ctx, "staff", -1, nil) // RunDaily leaves out the writes of the last minutes
	check(err)
	fmt.Println("notified:", done.Changed)
	check(company.Drain(ctx))
	// Output:
	// notified: 1
	// welcome 223
}

// A mistake is found before anything is sent.
func ExampleStore_Err() {
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	staff := aztablekit.Table(company, "my_staff", dept, empid)
	fmt.Println(company.Err() != nil)
	_, err := staff.Get(context.Background(), keys.At(dept.Of("Sales"), empid.Of(223)))
	var wrong *table.ValueError
	fmt.Println(errors.As(err, &wrong), strings.Contains(err.Error(), "my_staff"))
	// Output:
	// true
	// true true
}

// Rows that say of which version they are.
func ExampleSettings() {
	ctx := context.Background()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	settings := &aztablekit.Settings[employee]{Schema: table.Schema[employee]{Type: "employee", Version: 2}}
	staff := aztablekit.Table(company, "staff", dept, empid, settings)
	check(company.Ensure(ctx))
	e, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 223})
	check(err)
	row, err := e.Row()
	check(err)
	version, _ := row.Get("_v")
	fmt.Println(settings.Name(), version)
	// Output: settings 2
}

// A release adds an index to a table in use.
func ExampleStore_Fill() {
	ctx := context.Background()
	service := storagetest.New(nil)
	before := aztablekit.Open(service, "company", &aztablekit.Options{CatalogueAge: 100 * time.Millisecond}) // 66 s, but in tests
	staff := aztablekit.Table(before, "staff", dept, empid)
	check(before.Ensure(ctx))
	_, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 223, Email: "JonesJ@contoso.com"})
	check(err)

	byEmail := newUnique()
	company := aztablekit.Open(service, "company", nil)
	staff = aztablekit.Table(company, "staff", dept, empid, byEmail)
	check(company.Ensure(ctx))
	_, err = byEmail.Get(ctx, staff, "JonesJ@contoso.com")
	fmt.Println(errors.Is(err, table.ErrNotReadable))

	report, err := company.Fill(ctx, nil) // when all programs have the release
	check(err)
	jones, err := byEmail.Get(ctx, staff, "JonesJ@contoso.com")
	check(err)
	fmt.Println(report.Changed, jones.Value.ID)
	// Output:
	// true
	// 1 223
}

// An index is taken out of use.
func ExampleStore_Retire() {
	ctx := context.Background()
	service := storagetest.New(nil)
	byEmail := newUnique()
	company := aztablekit.Open(service, "company", &aztablekit.Options{CatalogueAge: 100 * time.Millisecond}) // 66 s, but in tests
	staff := aztablekit.Table(company, "staff", dept, empid, byEmail)
	check(company.Ensure(ctx))
	_, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 223, Email: "JonesJ@contoso.com"})
	check(err)
	check(company.Retire(ctx, "staff", "email", &table.Pass{Progress: func(p table.Progress) {
		fmt.Println(p.Table, p.State, p.Wait, p.Changed)
	}}))
	_, err = byEmail.Get(ctx, staff, "JonesJ@contoso.com")
	fmt.Println(errors.Is(err, table.ErrNotReadable))
	// Output:
	// staff retiring 150ms 0
	// staff retired 150ms 0
	// staff retired 0s 1
	// staff unfilled 0s 1
	// true
}
