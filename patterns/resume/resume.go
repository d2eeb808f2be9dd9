// Package resume lists the employees of a department bit by bit. A token, which is text that can be stored, is the position in the list, for the
// same program and for another one.
package resume

import (
	"context"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department and ID.
type Employee struct {
	Department string
	ID         int
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

// Hire stores up to 100 new employees of a department, all or none. An ID that an employee of the department has fails with table.ErrExists.
// 1 transaction.
func (s *Staff) Hire(ctx context.Context, department string, ids ...int) error {
	var ops []table.Op
	for _, id := range ids {
		ops = append(ops, s.Employees.InsertOp(&Employee{department, id}))
	}
	_, err := table.Transact(ctx, ops...)
	return err
}

// Members is the query for the employees of a department from the position of a token on, "" for all. A loop can end at any employee, by an
// error too; the query's Cursor is then at the position. Store its token, unless the list is done:
//
//	q := resume.Members("Sales", token)
//	for e, err := range staff.Employees.List(ctx, q) { … }
//	token, done = q.Cursor.Token(), q.Cursor.Done()
//
// A list from the token of another query fails with a *table.ValueError. 1 request for each 1,000 employees.
func Members(department, token string) table.Query[Employee] {
	return table.Query[Employee]{Partition: dept.Of(department), Cursor: table.NewCursor(token)}
}

// Page returns n employees of a department from the position of a token on, "" for the first page. The last page may have fewer employees, or
// none. Token of the result is for the next page, "" for none. Errors: *table.ValueError for a token of another query. 1 request for each 1,000.
func (s *Staff) Page(ctx context.Context, department, token string, n int) (*table.Page[Employee], error) {
	return s.Employees.Page(ctx, table.Query[Employee]{Partition: dept.Of(department), Limit: n}, token)
}
