package materialized_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// Employees are in a partition for each department. The view contains all of them in one partition, and a summary of the view
// counts the employees of each department.
func Example() {
	ctx := context.Background()
	account := storagetest.New(nil)
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}

	company, err := table.New(account.Tables(), "company", companySchema, nil)
	check(err)
	heads := index.NewSummary("heads", perDept, func(m *member) (string, bool) { return m.Department, true }, nil)
	company, err = index.Attach(company, heads)
	check(err)
	members := materialized.New("company", company, func(e *employee, k keys.Key) (member, bool) {
		return member{ID: e.ID, Department: e.Department, Salary: e.Salary}, true
	}, nil)

	base, err := table.New(account.Tables(), "staff", staffSchema, nil)
	check(err)
	queue := account.Queue("effects")
	outbox, err := eventual.NewOutbox(queue, nil)
	check(err)
	staff, err := eventual.WithOutbox(base, outbox)
	check(err)
	staff, err = materialized.Attach(staff, members)
	check(err)
	worker, err := eventual.NewWorker(queue, account.Queue("poison"), []eventual.Handler{materialized.Handler(staff)}, nil)
	check(err)
	check(base.Ensure(ctx))
	check(company.Ensure(ctx))
	check(worker.Ensure(ctx))

	for i, department := range []string{"Sales", "IT", "Sales"} {
		_, err := staff.Insert(ctx, &employee{Department: department, ID: i + 1})
		check(err)
	}
	check(worker.Drain(ctx)) // a program calls Run
	for g, err := range heads.All(ctx, company, keys.RawPartition("company")) {
		check(err)
		fmt.Println(g.Value, g.Count)
	}

	report, err := verify.Run(ctx, staff, &verify.Options{Repair: true}, members)
	check(err)
	fmt.Println("view", members.Name(), "is sound:", report.Sound(), report.Faults[verify.Missing], verify.Missing)
	// Output:
	// IT 1
	// Sales 2
	// view company is sound: true 0 missing
}
