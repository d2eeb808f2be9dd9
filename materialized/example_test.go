package materialized_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/verify"
)

// Employees are in a partition for each department. The view contains all of them in one partition, and a summary of the view
// counts the employees of each department.
func Example() {
	ctx := context.Background()
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}

	office := aztablekit.Open(storagetest.New(nil), "office", nil)
	heads := index.NewSummary("heads", perDept, func(m *member) (string, bool) { return m.Department, true }, nil)
	company := aztablekit.Table(office, "company", companySchema.Partition, companySchema.Row, heads)
	members := materialized.New("company", company, func(e *employee, k keys.Key) (member, bool) {
		return member{ID: e.ID, Department: e.Department, Salary: e.Salary}, true
	})
	staff := aztablekit.Table(office, "staff", staffSchema.Partition, staffSchema.Row, members)
	check(office.Ensure(ctx))

	for i, department := range []string{"Sales", "IT", "Sales"} {
		_, err := staff.Insert(ctx, &employee{Department: department, ID: i + 1})
		check(err)
	}
	check(office.Drain(ctx)) // a program calls Run
	for g, err := range heads.All(ctx, company, keys.RawPartition("company")) {
		check(err)
		fmt.Println(g.Value, g.Count)
	}

	report, err := verify.Repair(ctx, staff, nil, members)
	check(err)
	fmt.Println("view", members.Name(), "is sound:", report.Faults == 0, report.Counts[verify.Missing], verify.Missing)
	// Output:
	// IT 1
	// Sales 2
	// view company is sound: true 0 missing
}
