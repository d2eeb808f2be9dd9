// Package uniqueemail keeps employees who log in by an e-mail address. An address belongs to one employee of the company, at every instant.
package uniqueemail

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored by department.
type Employee struct {
	Department string
	ID         int
	Email      string // for logins, in any case
}

var (
	dept    = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid   = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
	byEmail = index.NewUnique("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, e.Email != "" }, nil)
)

// ErrTaken: another employee has the address.
var ErrTaken = errors.New("the address belongs to another employee")

// Staff is the employees of a company.
type Staff struct {
	*aztablekit.Store
	employees *table.Table[Employee]
}

// Open declares the table of the employees. Call Ensure of the result when the program starts, and Run in one program.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid, byEmail)}
}

// Hire stores a new employee. 3 transactions, and 2 requests for a message.
func (s *Staff) Hire(ctx context.Context, e Employee) error {
	_, err := s.employees.Insert(ctx, &e)
	if errors.Is(err, table.ErrTaken) {
		return ErrTaken
	}
	return err
}

// LogIn returns the employee who has an address, table.ErrNotFound for none. 2 requests.
func (s *Staff) LogIn(ctx context.Context, address string) (Employee, error) {
	e, err := byEmail.Get(ctx, s.employees, address)
	if err != nil {
		return Employee{}, err
	}
	return e.Value, nil
}

// ChangeAddress gives an employee another address, and reads the employee first. 1 request, 5 transactions, and 2 for a message.
func (s *Staff) ChangeAddress(ctx context.Context, department string, id int, address string) error {
	_, err := s.employees.Update(ctx, keys.At(dept.Of(department), empid.Of(id)), func(e *Employee) error {
		e.Email = address
		return nil
	})
	if errors.Is(err, table.ErrTaken) {
		return ErrTaken
	}
	return err
}
