// Package staffsearch finds the employees of a department by e-mail address, by the day of hiring, and by name.
package staffsearch

import (
	"context"
	"iter"
	"time"

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
	Email      string
	Hired      time.Time
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })

	lastName = table.FieldOf(func(e *Employee) *string { return &e.LastName })
	hired    = table.FieldOf(func(e *Employee) *time.Time { return &e.Hired })

	// A full copy under the address in any case of letters. No two employees of a department have the same address.
	byEmail = index.New("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, e.Email != "" }, &index.Options{Unique: true})
	// A copy of two fields, in the order of hiring.
	byHire = index.New("hired", keys.Date(), func(e *Employee) (time.Time, bool) { return e.Hired, true }, nil).Only(lastName, hired)
	// A row without fields, which names its employee.
	byName = index.New("last", keys.Ordered(), func(e *Employee) (string, bool) { return e.LastName, true }, nil).Only()
)

// Staff is the employees of a company.
type Staff struct {
	*aztablekit.Store
	employees *table.Table[Employee]
}

// Open declares the table of the employees. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid, byEmail, byHire, byName)}
}

// Hire stores new employees. An address that an employee of the department has fails with table.ErrTaken. 1 transaction for each.
func (s *Staff) Hire(ctx context.Context, all ...Employee) error {
	for _, e := range all {
		if _, err := s.employees.Insert(ctx, &e); err != nil {
			return err
		}
	}
	return nil
}

// ByEmail returns the employee who has an address, table.ErrNotFound for none. 1 request.
func (s *Staff) ByEmail(ctx context.Context, department, address string) (*table.Entity[Employee], error) {
	return byEmail.Get(ctx, s.employees, dept.Of(department), address)
}

// EmailPrefix yields the employees whose addresses begin with a text, in the order of the addresses. 1 request for each 1,000.
func (s *Staff) EmailPrefix(ctx context.Context, department, prefix string) iter.Seq2[*table.Entity[Employee], error] {
	return byEmail.Prefix(ctx, s.employees, dept.Of(department), prefix)
}

// Numbers yields the employees with IDs of a range, both ends included. 1 request for each 1,000.
func (s *Staff) Numbers(ctx context.Context, department string, from, to int) iter.Seq2[*table.Entity[Employee], error] {
	return s.employees.List(ctx, table.Query[Employee]{Partition: dept.Of(department), Rows: empid.Between(from, to)})
}

// HiredBetween yields ID, name and day of the employees hired from a day to another, in this order. 1 request for each 1,000.
func (s *Staff) HiredBetween(ctx context.Context, department string, from, to time.Time) iter.Seq2[*table.Entity[Employee], error] {
	return byHire.Between(ctx, s.employees, dept.Of(department), from, to)
}

// Named yields the employees of a last name. 1 request for each 1,000, and 1 for each employee, 10 at a time.
func (s *Staff) Named(ctx context.Context, department, name string) iter.Seq2[*table.Entity[Employee], error] {
	return byName.List(ctx, s.employees, dept.Of(department), name)
}

// Save stores a changed employee, with all rows of the indexes, unless another program has changed the employee (table.ErrChanged).
// 1 transaction; 1 request more for one that ByEmail has found, whose copy is compared with the row.
func (s *Staff) Save(ctx context.Context, e *table.Entity[Employee]) error {
	return s.employees.Replace(ctx, e)
}
