// Package interpartitionindex finds employees by e-mail address in the whole company, and by the year of hiring.
package interpartitionindex

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	LastName   string
	Email      string // in any case of letters
	Hired      int    // the year
}

var (
	dept      = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid     = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
	hiredDept = keys.Text().Named("hired")

	// A full copy of each employee in the partition of the address, in a table of all addresses.
	byEmail = index.NewGlobal("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, e.Email != "" },
		&index.GlobalOptions{Table: "emails"})
	// A pointer, which names its employee, in a second partition for each department: at every instant, without a worker.
	byYear = index.NewGlobal("hired", keys.Digits[int](4), func(e *Employee) (int, bool) { return e.Hired, true },
		&index.GlobalOptions{Table: "staff"}).Only().In(func(e *Employee) keys.PartitionKey { return hiredDept.PartitionKey(e.Department) })
)

// Staff is the employees of a company.
type Staff struct {
	*aztablekit.Store
	Employees *table.Table[Employee] // a worker changes the copies by address a moment after each write
}

// Open declares the table of the employees. Call Ensure of the result when the program starts, and Run in one program.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid, byEmail, byYear)}
}

// ByEmail returns the employee who has an address, table.ErrNotFound for none, another error for several. 1 request.
func (s *Staff) ByEmail(ctx context.Context, address string) (*table.Entity[Employee], error) {
	return byEmail.Get(ctx, s.Employees, address)
}

// HiredBetween yields the employees of a department hired from a year to another, in this order. 1 request for each 1,000, and 1 for each
// employee, 10 at a time.
func (s *Staff) HiredBetween(ctx context.Context, department string, from, to int) iter.Seq2[*table.Entity[Employee], error] {
	return byYear.Between(ctx, s.Employees, hiredDept.PartitionKey(department), from, to)
}
