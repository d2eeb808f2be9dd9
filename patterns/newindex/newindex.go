// Package newindex finds the employees of a department by e-mail address. The index is new: the table is in use without it.
package newindex

import (
	"context"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	Email      string // in any case of letters
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })

	byEmail = index.New("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, e.Email != "" }, &index.Options{Unique: true})
)

// Staff is the employees of a company.
type Staff struct {
	*aztablekit.Store
	Employees *table.Table[Employee] // writes the rows of the index from Fill on
}

// Open declares the table of the employees. Call Ensure of the result when the program starts. When all programs have this release, call
// Duplicates, give the employees that it returns another address, and call Fill once, in one program or in a command.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid, byEmail)}
}

// Duplicates returns the employees whose address another employee of the department has, and what Fill has to do. It writes nothing.
// Requests: those of a Fill that repairs nothing.
func (s *Staff) Duplicates(ctx context.Context) (all []verify.Fault, report table.Progress, err error) {
	o := &aztablekit.FillOptions{Fault: func(f verify.Fault) {
		if f.Kind == verify.DuplicateValue {
			all = append(all, f)
		}
	}}
	o.DryRun = true
	report, err = s.Fill(ctx, o)
	return all, report, err
}

// ByEmail returns the employee who has an address, table.ErrNotFound for none, table.ErrNotReadable until Fill has ended. 1 request, and once a
// minute 1 more, to read which indexes the table has.
func (s *Staff) ByEmail(ctx context.Context, department, address string) (*table.Entity[Employee], error) {
	return byEmail.Get(ctx, s.Employees, dept.Of(department), address)
}
