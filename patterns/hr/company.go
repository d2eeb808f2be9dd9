package main

import (
	"context"
	"log/slog"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/table"
)

// company is the staff with everything that follows from it, and the worker. It is safe for concurrent use.
type company struct {
	*aztablekit.Store
	staff   *table.Table[Employee]
	changes *logtail.Log[Change]
}

// open returns the company of an account. It sends no request.
func open(acc aztablekit.Account, logger *slog.Logger) *company {
	s := aztablekit.Open(acc, "staff", &aztablekit.Options{Common: table.Common{Logger: logger}})
	c := &company{Store: s, changes: logtail.New[Change](s, "changes", nil)}
	c.staff = aztablekit.Table(s, "staff", dept, empid, byEmail, payroll, photos, eventual.On("change", changeOf, c.appendChange))
	return c
}

// hire inserts an employee. It fails with table.ErrExists if the department has an employee with the ID, and with table.ErrTaken if an
// employee of any department has the e-mail address.
func (c *company) hire(ctx context.Context, e *Employee) (*table.Entity[Employee], error) {
	e.Email = strings.TrimSpace(e.Email)
	return c.staff.Insert(ctx, e)
}

// setSalary changes a salary and returns the new ETag. It fails with table.ErrChanged if the employee has another ETag.
func (c *company) setSalary(ctx context.Context, k keys.Key, etag azcore.ETag, cents int64) (azcore.ETag, error) {
	e := &table.Entity[Employee]{Key: k, ETag: etag}
	err := c.staff.Merge(ctx, e, salary.Set(cents))
	return e.ETag, err
}

// login returns the employee with an e-mail address, in any case of letters: 2 requests.
func (c *company) login(ctx context.Context, email string) (*table.Entity[Employee], error) {
	return byEmail.Get(ctx, c.staff, strings.TrimSpace(email))
}

// summary returns the number of employees of a department and the sum of their salaries: 1 request.
func (c *company) summary(ctx context.Context, department string) (employees, salaries int64, err error) {
	g, err := payroll.Get(ctx, c.staff, dept.Of(department), "all")
	if err != nil {
		return 0, 0, err
	}
	return g.Count, g.Measures["Salary"].Sum, nil
}
