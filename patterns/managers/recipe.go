package managers

import (
	"context"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "denormalization",
	Title:       "Keep the manager's details in the department",
	Guide:       []string{"G24", "G10"},
	Related:     []string{"compound-keys", "several-types", "entity-types", "summary"},
	Consistency: "strong",
	Measured:    []string{"get the department with its manager"},
	Problem: `A page that shows a department with its manager takes two reads each time. Here the row of the department contains
		the manager's name and address, so that one read is enough. A write that changes the manager updates the department in
		the same transaction. A program that read the department before this change cannot overwrite it.`,
	Kept: "managers",
	Run: func(ctx context.Context, r *recipe.Run) error {
		email := table.FieldOf(func(e *Employee) *string { return &e.Email })
		isManager := table.FieldOf(func(e *Employee) *bool { return &e.Manager })
		company := Open(r.Account(), r.StoreOptions("company", "company"))
		if err := r.Ensure(ctx, company); err != nil {
			return err
		}
		if _, err := company.Departments.Insert(ctx, &Department{Name: "Sales", EmployeeCount: 2}); err != nil {
			return err
		}
		jones, err := company.Hire(ctx, Employee{Department: "Sales", ID: 223, LastName: "Jones", Email: "jonesj@contoso.com", Manager: true})
		if err != nil {
			return err
		}
		cao, err := company.Hire(ctx, Employee{Department: "Sales", ID: 300, LastName: "Cao", Email: "caoc@contoso.com"})
		if err != nil {
			return err
		}
		if err := r.Stored(ctx, "company"); err != nil {
			return err
		}
		before, err := company.Department(ctx, "Sales")
		if err != nil {
			return err
		}
		show := func() error {
			d, err := company.Department(ctx, "Sales")
			if err == nil {
				r.Answer("%s: %d employees, manager %s, %s", d.Value.Name, d.Value.EmployeeCount, d.Value.ManagerLastName, d.Value.ManagerEmail)
			}
			return err
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"get the department with its manager", show},
			{"change the address of the manager, Jones: both rows change in one transaction", func() error {
				return company.Employees.Merge(ctx, jones, email.Set("jones@contoso.com"))
			}},
			{"replace the department by an entity that was read before that change", func() error {
				before.Value.EmployeeCount++
				return r.Refused(company.Departments.Replace(ctx, before), table.ErrChanged)
			}},
			{"change the address of Cao, who is not the manager: only one row changes", func() error {
				return company.Employees.Merge(ctx, cao, email.Set("cao@contoso.com"))
			}},
			{"make Cao a manager while Jones is the manager", func() error {
				return r.Refused(company.Employees.Merge(ctx, cao, isManager.Set(true)), table.ErrTaken)
			}},
			{"insert a manager of a department that does not exist", func() error {
				_, err := company.Hire(ctx, Employee{Department: "Research", ID: 301, LastName: "Weber", Email: "weber@contoso.com", Manager: true})
				return r.Refused(err, index.ErrNoTarget)
			}},
			{"make Cao the manager in place of Jones, in one transaction", func() error { return company.ReplaceManager(ctx, jones, cao) }},
			{"get the department with its manager", show},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		return r.Naive("get the department, and then its manager", func() error {
			d, err := company.Department(ctx, "Sales")
			if err != nil {
				return err
			}
			m, err := company.Employees.Get(ctx, keys.Raw("Sales", d.Value.ManagerRowKey))
			if err == nil {
				r.Answer("%s, manager %s", d.Value.Name, m.Value.LastName)
			}
			return err
		})
	},
}
