package main

import (
	"context"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var denormalization = recipe{
	name:        "denormalization",
	title:       "Keep the manager's details in the department",
	guide:       []string{"G24", "G10"},
	related:     []string{"compound-keys", "several-types", "entity-types", "summary"},
	consistency: "strong",
	measured:    []string{"get the department with its manager"},
	problem: `A page that shows a department with its manager takes two reads each time. Here the row of the department contains
		the manager's name and address, so that one read is enough. A write that changes the manager updates the department in
		the same transaction. A program that read the department before this change cannot overwrite it.`,
	run: func(ctx context.Context, r *Run) error {
		type Department struct {
			Name          string
			EmployeeCount int

			ManagerRowKey   string `table:",omitempty"`
			ManagerLastName string `table:",omitempty"`
			ManagerEmail    string `table:",omitempty"`
		}
		type Employee struct {
			Department string
			ID         int
			LastName   string
			Email      string
			Manager    bool
		}
		dept := keys.Text()
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
		departmentRow := keys.RawRow("department")
		lastName := table.FieldOf(func(e *Employee) *string { return &e.LastName })
		email := table.FieldOf(func(e *Employee) *string { return &e.Email })
		isManager := table.FieldOf(func(e *Employee) *bool { return &e.Manager })
		manager := index.NewDetails("manager", "Manager", func(e *Employee) (keys.RowKey, bool) { return departmentRow, e.Manager }, lastName, email)

		departments, err := table.New(r.Tables(), r.TableName("company"), table.Schema[Department]{
			Partition: keys.Partition(dept, func(d *Department) *string { return &d.Name }),
			Row:       keys.OneRow[Department](departmentRow.String()),
		}, nil)
		if err != nil {
			return err
		}
		employees, err := table.New(r.Tables(), r.TableName("company"), table.Schema[Employee]{
			Partition: keys.Partition(dept, func(e *Employee) *string { return &e.Department }),
			Row:       empid,
		}, nil)
		if err != nil {
			return err
		}
		staff, err := index.Attach(employees, manager)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		if _, err := departments.Insert(ctx, &Department{Name: "Sales", EmployeeCount: 2}); err != nil {
			return err
		}
		jones, err := staff.Insert(ctx, &Employee{"Sales", 223, "Jones", "jonesj@contoso.com", true})
		if err != nil {
			return err
		}
		cao, err := staff.Insert(ctx, &Employee{"Sales", 300, "Cao", "caoc@contoso.com", false})
		if err != nil {
			return err
		}
		if err := r.Stored(ctx, "company"); err != nil {
			return err
		}
		sales := keys.At(dept.PartitionKey("Sales"), departmentRow)
		show := func() error {
			d, err := departments.Get(ctx, sales)
			if err == nil {
				r.Answer("%s: %d employees, manager %s, %s", d.Value.Name, d.Value.EmployeeCount, d.Value.ManagerLastName, d.Value.ManagerEmail)
			}
			return err
		}
		if err := r.Do("get the department with its manager", show); err != nil {
			return err
		}
		before, err := departments.Get(ctx, sales)
		if err != nil {
			return err
		}
		if err := r.Do("change the address of the manager, Jones: both rows change in one transaction", func() error {
			return staff.Merge(ctx, jones, email.Set("jones@contoso.com"))
		}); err != nil {
			return err
		}
		if err := r.Do("replace the department by an entity that was read before that change", func() error {
			before.Value.EmployeeCount++
			return r.Refused(departments.Replace(ctx, before), table.ErrChanged)
		}); err != nil {
			return err
		}
		if err := r.Do("change the address of Cao, who is not the manager: only one row changes", func() error {
			return staff.Merge(ctx, cao, email.Set("cao@contoso.com"))
		}); err != nil {
			return err
		}
		if err := r.Do("make Cao a manager while Jones is the manager", func() error {
			return r.Refused(staff.Merge(ctx, cao, isManager.Set(true)), index.ErrTaken)
		}); err != nil {
			return err
		}
		if err := r.Do("insert a manager of a department that does not exist", func() error {
			_, err := staff.Insert(ctx, &Employee{"Research", 301, "Weber", "weber@contoso.com", true})
			return r.Refused(err, index.ErrNoTarget)
		}); err != nil {
			return err
		}
		if err := r.Do("make Cao the manager in place of Jones, in one transaction", func() error {
			jones.Value.Manager, cao.Value.Manager = false, true
			_, err := table.Transact(ctx, staff.ReplaceOp(jones), staff.ReplaceOp(cao))
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("get the department with its manager", show); err != nil {
			return err
		}
		return r.Naive("get the department, and then its manager", func() error {
			d, err := departments.Get(ctx, sales)
			if err != nil {
				return err
			}
			m, err := employees.Get(ctx, keys.At(dept.PartitionKey("Sales"), keys.RawRow(d.Value.ManagerRowKey)))
			if err == nil {
				r.Answer("%s, manager %s", d.Value.Name, m.Value.LastName)
			}
			return err
		})
	},
}
