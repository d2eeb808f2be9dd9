// Package entitytypes keeps the employees and contractors of departments in one table. It reads rows of an older form, and changes rows of
// types that it does not know.
package entitytypes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is of version 1. Version 0 had both names in one property, Name.
type Employee struct {
	Department  string
	ID          int
	First, Last string
}

// Contractor has RowKeys of the same form.
type Contractor struct {
	Department   string
	ID           int
	Name, Agency string
}

var (
	dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })

	upgrades = map[int]func(*table.Row) error{0: splitName}
	employee = &aztablekit.Settings[Employee]{Schema: table.Schema[Employee]{Type: "employee", Version: 1, Upgrade: upgrades}}

	client = keys.Partition(keys.Text(), func(c *Contractor) *string { return &c.Department })
	number = keys.Row(keys.Digits[int](6), func(c *Contractor) *int { return &c.ID })

	contractor = &aztablekit.Settings[Contractor]{Schema: table.Schema[Contractor]{Type: "contractor"}}
)

// splitName changes an employee of version 0 to version 1.
func splitName(row *table.Row) error {
	name, _ := row.Get("Name")
	first, last, _ := strings.Cut(fmt.Sprint(name), " ")
	row.Delete("Name")
	return errors.Join(row.Set("First", first), row.Set("Last", last))
}

// Staff is the employees and contractors of a company. Insert and change them by the handles: an employee of version 0 that changes is stored as
// version 1, and properties that a type does not have are kept.
type Staff struct {
	*aztablekit.Store
	Employees   *table.Table[Employee]
	Contractors *table.Table[Contractor]
}

// Open declares one table of two types. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Staff {
	s := aztablekit.Open(acc, "company", o)
	return &Staff{s, aztablekit.Table(s, "staff", dept, empid, employee), aztablekit.Table(s, "staff", client, number, contractor)}
}

// Directory is the rows of a department by their types.
type Directory struct {
	Employees   []Employee
	Contractors []Contractor
	Others      []table.Row // of types that this program does not know
}

// Query finds all rows of a department.
func Query(department string) table.Query[table.Row] {
	return table.Query[table.Row]{Partition: dept.Of(department)}
}

// Reader reads each row as its own type. Its method Rows returns a handle for rows of any type.
func (s *Staff) Reader() (*table.Mixed, error) { return table.NewMixed(s.Employees, s.Contractors) }

// List returns all rows of a department. 1 request for each 1,000.
func (s *Staff) List(ctx context.Context, department string) (d Directory, err error) {
	reader, err := s.Reader()
	if err != nil {
		return d, err
	}
	for x, err := range reader.List(ctx, Query(department)) {
		if err != nil {
			return d, err
		}
		switch x := x.(type) {
		case *table.Entity[Employee]:
			d.Employees = append(d.Employees, x.Value)
		case *table.Entity[Contractor]:
			d.Contractors = append(d.Contractors, x.Value)
		case *table.Entity[table.Row]:
			d.Others = append(d.Others, x.Value)
		}
	}
	return d, nil
}

// SetBadges gives a badge to each row of a department, whatever its type. 1 request for each 1,000 rows, and 1 for each row.
func (s *Staff) SetBadges(ctx context.Context, department string, badge int) error {
	reader, err := s.Reader()
	if err != nil {
		return err
	}
	for row, err := range reader.Rows().List(ctx, Query(department)) {
		if err != nil {
			return err
		}
		if err := row.Value.Set("Badge", badge); err != nil {
			return err
		}
		if err := reader.Rows().Replace(ctx, row); err != nil {
			return err
		}
	}
	return nil
}
