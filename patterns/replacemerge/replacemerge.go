// Package replacemerge keeps employees, and writes them in four ways, which differ in the properties that they delete.
package replacemerge

import (
	"context"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	LastName   string
	Age        *int32 // nil: the row has no such property
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })

	lastName = table.FieldOf(func(e *Employee) *string { return &e.LastName })

	// No entity has derived rows, so writes need not read the row first.
	blind = &aztablekit.Settings[Employee]{Options: table.Options{BlindWrites: true}}
)

// Staff is the employees of a company.
type Staff struct {
	*aztablekit.Store
	employees *table.Table[Employee]
}

// Open declares the table of the employees. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid, blind)}
}

// Get returns an employee, table.ErrNotFound for none. 1 request.
func (s *Staff) Get(ctx context.Context, department string, id int) (*table.Entity[Employee], error) {
	return s.employees.Get(ctx, keys.At(dept.Of(department), empid.Of(id)))
}

// Rename sets the last name, and keeps all other properties; table.ErrNotFound if there is no such employee. 1 request.
func (s *Staff) Rename(ctx context.Context, department string, id int, name string) error {
	return s.employees.MergeAny(ctx, keys.At(dept.Of(department), empid.Of(id)), lastName.Set(name))
}

// Save stores a changed employee, and deletes the properties of the fields that are nil. It keeps the properties that the type Employee does
// not have, such as those of a newer program. It fails with table.ErrChanged if another program has changed the employee. 1 request, 2 for
// a refusal.
func (s *Staff) Save(ctx context.Context, e *table.Entity[Employee]) error {
	return s.employees.Replace(ctx, e)
}

// Add stores the fields of an employee that are not nil, and keeps all other properties. It inserts the employee if there is none. 1 request.
func (s *Staff) Add(ctx context.Context, e Employee) error {
	_, err := s.employees.Upsert(ctx, &e, table.MergeExisting)
	return err
}

// Overwrite stores an employee, and deletes all other properties, also those of a newer program. It inserts the employee if there is none.
// 1 request.
func (s *Staff) Overwrite(ctx context.Context, e Employee) error {
	_, err := s.employees.Upsert(ctx, &e, table.ReplaceExisting)
	return err
}
