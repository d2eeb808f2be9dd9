// Package severalpoints reads several employees of a department by their IDs.
package severalpoints

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department and ID.
type Employee struct {
	Department string
	ID         int
	LastName   string
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })
)

// Staff is the employees of a company.
type Staff struct {
	*aztablekit.Store
	Employees *table.Table[Employee]
}

// Open declares the table of the employees. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid)}
}

// Numbered yields the employees of a department with these IDs, in the order of ids, and table.ErrNotFound in place of each that does not
// exist. 1 request for each ID, 10 at a time.
func (s *Staff) Numbered(ctx context.Context, department string, ids ...int) iter.Seq2[*table.Entity[Employee], error] {
	var all []keys.Key
	for _, id := range ids {
		all = append(all, keys.At(dept.Of(department), empid.Of(id)))
	}
	return s.Employees.GetMany(ctx, all...)
}
