package index_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// wholeCompany is a table of employees whose definitions have their rows elsewhere, and the worker that writes these rows.
func wholeCompany(ctx context.Context, definitions ...index.Definition[Employee]) (*table.Table[Employee], *eventual.Worker) {
	s := storagetest.New(nil)
	base := openTable(s, table.Schema[Employee]{
		Partition: keys.Partition(dept, func(e *Employee) *string { return &e.Department }),
		Row:       empid,
	})
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	outbox, err := eventual.NewOutbox(s.Queue("index"), nil)
	must(err)
	staff, err := eventual.WithOutbox(base, outbox)
	must(err)
	staff, err = index.Attach(staff, definitions...)
	must(err)
	worker, err := eventual.NewWorker(s.Queue("index"), s.Queue("poison"), []eventual.Handler{index.Handler(staff)}, nil)
	must(err)
	must(staff.Ensure(ctx))
	must(index.Ensure(ctx, staff)) // the tables of the index rows
	must(worker.Ensure(ctx))
	for _, e := range []Employee{
		{"Sales", 223, "Jones", "jonesj@contoso.com", 44, nil}, {"Marketing", 152, "Jones", "jonesa@contoso.com", 38, nil}, {"Sales", 300, "Brown", "brownb@contoso.com", 51, nil},
	} {
		_, err := staff.Insert(ctx, &e)
		must(err)
	}
	return staff, worker
}

// Look-ups over all departments, by an index that a worker keeps.
func ExampleElsewhere() {
	ctx := context.Background()
	mail := index.New("mail", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, true },
		&index.Options[Employee]{Elsewhere: &index.Elsewhere[Employee]{}})
	staff, worker := wholeCompany(ctx, mail)
	if err := worker.Drain(ctx); err != nil { // in a service: Run
		log.Fatal(err)
	}
	e, err := mail.Get(ctx, staff, keys.PartitionKey{}, "JonesA@contoso.com")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Key, e.Value.LastName)
	// Output: ('Marketing','empid_000152') Jones
}

// With Inline, the rows are right when the write returns. One partition for all rows allows ranges of values.
func ExampleElsewhere_inline() {
	ctx := context.Background()
	byName := index.New("name", keys.Ordered(), func(e *Employee) (string, bool) { return e.LastName, true }, &index.Options[Employee]{
		Only:      []table.AnyField[Employee]{lastName},
		Elsewhere: &index.Elsewhere[Employee]{Partition: func(*Employee) keys.PartitionKey { return keys.RawPartition("names") }, Inline: true},
	})
	staff, _ := wholeCompany(ctx, byName)
	for e, err := range byName.Between(ctx, staff, keys.RawPartition("names"), "A", "K") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Value.LastName, e.Key)
	}
	// Output:
	// Brown ('Sales','empid_000300')
	// Jones ('Marketing','empid_000152')
	// Jones ('Sales','empid_000223')
}

// A page of an index whose values have partitions of their own.
func ExampleIndex_PartitionOf() {
	ctx := context.Background()
	byName := index.New("name", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true },
		&index.Options[Employee]{Pointer: true, Elsewhere: &index.Elsewhere[Employee]{Inline: true}})
	staff, _ := wholeCompany(ctx, byName)
	page, err := byName.Page(ctx, staff, table.Query[Employee]{Partition: byName.PartitionOf("Jones"), Limit: 1}, "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(page.Entities), page.Token != "")
	// Output: 1 true
}

// Lists in a table of their own: one row for each last name, with the keys of all employees who have the name.
func ExampleHandler() {
	ctx := context.Background()
	names := index.NewLists("names", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true },
		&index.ListOptions[Employee]{Elsewhere: &index.Elsewhere[Employee]{Table: "EmployeeDetails"}})
	staff, worker := wholeCompany(ctx, names) // its worker has the handler
	if err := worker.Drain(ctx); err != nil {
		log.Fatal(err)
	}
	all, err := names.Keys(ctx, staff, keys.PartitionKey{}, "Jones")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(all)
	// Output: [('Marketing','empid_000152') ('Sales','empid_000223')]
}
