package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var denormalization = recipe{
	name:  "denormalization",
	title: "Keep the manager's details in the department",
	guide: []string{"G24", "G10"},
	problem: `Who shows a department shows its manager, too: two reads, each time. Her name and address in the department's own row
		make it one. They are kept right by the transaction that changes the manager, whatever program changes her; and whoever has
		read the department before finds that it has changed.`,
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
		dept := keys.Tuple1(keys.Text())
		empid := keys.Tuple1(keys.Digits[int](6)).Named("empid")
		row := keys.Raw("department")
		lastName := table.FieldOf(func(e *Employee) *string { return &e.LastName })
		email := table.FieldOf(func(e *Employee) *string { return &e.Email })
		isManager := table.FieldOf(func(e *Employee) *bool { return &e.Manager })
		manager := index.NewDetails("manager", "Manager", func(e *Employee) (keys.Enc, bool) { return row, e.Manager }, lastName, email)

		departments, err := table.New(r.Tables(), r.Table("company"), table.Schema[Department]{
			Partition: keys.Bind1(dept, func(d *Department) *string { return &d.Name }),
			Row:       keys.Const[Department](row.String()),
		}, nil)
		if err != nil {
			return err
		}
		plain, err := table.New(r.Tables(), r.Table("company"), table.Schema[Employee]{
			Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
			Row:       keys.Bind1(empid, func(e *Employee) *int { return &e.ID }),
		}, nil)
		if err != nil {
			return err
		}
		staff, err := index.Attach(plain, nil, manager)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		if err := insert(ctx, departments, &Department{Name: "Sales", EmployeeCount: 2}); err != nil {
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
		at := keys.At(dept.Of("Sales"), row)
		show := func() error {
			d, err := departments.Get(ctx, at)
			if err == nil {
				r.Answer("%s: %d employees, manager %s, %s", d.Value.Name, d.Value.EmployeeCount, d.Value.ManagerLastName, d.Value.ManagerEmail)
			}
			return err
		}
		if err := r.Do("the department with its manager", show); err != nil {
			return err
		}
		before, err := departments.Get(ctx, at)
		if err != nil {
			return err
		}
		if err := r.Do("Jones gets another address: both rows in one transaction", func() error {
			return staff.Merge(ctx, jones, email.Set("jones@contoso.com"))
		}); err != nil {
			return err
		}
		if err := r.Do("who has read the department before cannot write it back over that", func() error {
			before.Value.EmployeeCount++
			err := departments.Replace(ctx, before)
			if !errors.Is(err, table.ErrChanged) {
				return fmt.Errorf("it was written: %w", err)
			}
			r.Answer("refused: %v", table.ErrChanged)
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("Cao gets another: the department does not care", func() error {
			return staff.Merge(ctx, cao, email.Set("cao@contoso.com"))
		}); err != nil {
			return err
		}
		if err := r.Do("Cao cannot be manager while Jones is", func() error {
			err := staff.Merge(ctx, cao, isManager.Set(true))
			if !errors.Is(err, index.ErrTaken) {
				return fmt.Errorf("there are two: %w", err)
			}
			r.Answer("refused: %v", index.ErrTaken)
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("and nobody of a department that does not exist", func() error {
			_, err := staff.Insert(ctx, &Employee{"Research", 301, "Weber", "weber@contoso.com", true})
			if !errors.Is(err, index.ErrNoTarget) {
				return fmt.Errorf("she is manager of nothing: %w", err)
			}
			r.Answer("refused: %v", index.ErrNoTarget)
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("Cao takes over from Jones, in one transaction", func() error {
			jones.Value.Manager, cao.Value.Manager = false, true
			_, err := table.Transact(ctx, staff.ReplaceOp(jones), staff.ReplaceOp(cao))
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("the department with its manager", show); err != nil {
			return err
		}
		return r.Naive("the department, and then its manager", func() error {
			d, err := departments.Get(ctx, at)
			if err != nil {
				return err
			}
			m, err := plain.Get(ctx, keys.At(dept.Of("Sales"), keys.Raw(d.Value.ManagerRowKey)))
			if err == nil {
				r.Answer("%s, manager %s", d.Value.Name, m.Value.LastName)
			}
			return err
		})
	},
}
