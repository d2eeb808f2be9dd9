package main

import (
	"context"
	"errors"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/table"
)

// notifications is the queue that the outbox writes and the worker reads.
const notifications = "staff-notifications"

// company is the staff with everything that follows from it. It is safe for concurrent use.
type company struct {
	staff   *table.Table[Employee] // with all maintainers; each write uses this handle
	photos  *largeentity.Store
	changes *logtail.Log[Change]
	outbox  *eventual.Outbox
}

// open returns the company of an account. It sends no request.
func open(acc *account.Account, common table.Common) (*company, error) {
	// 1. The table.
	staff, err := table.New(acc.Tables(), "staff", schema, &table.Options{Common: common})
	if err != nil {
		return nil, err
	}

	// 2. The outbox, with the effects of each write. Table.Move and indexes with rows elsewhere need the outbox, so it comes before them.
	outbox, err := eventual.NewOutbox(acc.Queue(notifications), &eventual.OutboxOptions{Common: common})
	if err != nil {
		return nil, err
	}
	if staff, err = eventual.WithOutbox(staff, outbox, eventual.OnChange(changeKind, changeOf)); err != nil {
		return nil, err
	}

	// 3. The indexes and summaries.
	if staff, err = index.Attach(staff, byEmail, payroll); err != nil {
		return nil, err
	}

	// 4. The photos.
	photos, err := largeentity.NewStore(acc.Container("photos"), staff.Name(), &largeentity.Options{Common: common})
	if err != nil {
		return nil, err
	}
	if staff, err = largeentity.Attach(staff, photos); err != nil {
		return nil, err
	}

	// 5. The log of changes, which the worker writes.
	changes, err := logtail.New[Change](acc.Tables(), "changes", &logtail.Options{Common: common})
	if err != nil {
		return nil, err
	}
	return &company{staff, photos, changes, outbox}, nil
}

// ensure creates the tables, the queue of notifications and the container, unless they exist.
func (c *company) ensure(ctx context.Context) error {
	return errors.Join(
		c.staff.Ensure(ctx),
		index.Ensure(ctx, c.staff), // the table emails
		c.photos.Ensure(ctx),
		c.changes.Ensure(ctx),
		c.outbox.Ensure(ctx),
	)
}

// hire inserts an employee. It fails with table.ErrExists if the department has an employee with the ID, and with index.ErrTaken if an
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
	return byEmail.Get(ctx, c.staff, keys.PartitionKey{}, strings.TrimSpace(email))
}

// summary returns the number of employees of a department and the sum of their salaries: 1 request.
func (c *company) summary(ctx context.Context, department string) (employees, salaries int64, err error) {
	g, err := payroll.Get(ctx, c.staff, dept.Of(department), "all")
	if err != nil {
		return 0, 0, err
	}
	return g.Count, g.Measures["Salary"].Sum, nil
}
