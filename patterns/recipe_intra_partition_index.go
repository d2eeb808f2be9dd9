package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var intraPartitionIndex = recipe{
	name:        "intra-partition-index",
	title:       "Find employees by e-mail address, by hire date, and by name",
	guide:       []string{"G20", "G07", "G10"},
	related:     []string{"inter-partition-index", "compound-keys", "several-types", "entity-types", "new-index"},
	consistency: "strong",
	measured:    []string{"find jonesj@"},
	naiveGrows:  "1 per 1,000 rows",
	problem: `The service finds rows by their keys and by nothing else: to find an address, it reads the whole department. An
		index stores a copy of each employee under another RowKey, so that one request finds an address, and one range query
		lists employees in the order of the index. The copies change in the transaction of their employee, so they are never out
		of date. A write that takes the address of another employee fails.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
			Email      string
			Hired      time.Time
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
		lastName := table.FieldOf(func(e *Employee) *string { return &e.LastName })
		email := table.FieldOf(func(e *Employee) *string { return &e.Email })
		hired := table.FieldOf(func(e *Employee) *time.Time { return &e.Hired })
		day := func(year int, month time.Month, day int) time.Time {
			return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
		}

		// A full copy under the address in any case of letters. No two employees of a department have the same address.
		byEmail := index.New("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, e.Email != "" },
			&index.Options{Unique: true})
		// A copy of two properties, in the order of hiring.
		byHire := index.New("hired", keys.Date(), func(e *Employee) (time.Time, bool) { return e.Hired, true },
			nil).Only(lastName, hired)
		// A row without properties, which names its employee.
		byName := index.New("last", keys.Ordered(), func(e *Employee) (string, bool) { return e.LastName, true },
			&index.Options{Pointer: true})

		base, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, nil)
		if err != nil {
			return err
		}
		staff, err := index.Attach(base, byEmail, byHire, byName)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		if err := r.Do("insert four employees", func() error {
			for _, e := range []Employee{
				{"Sales", 100, "Brown", "brownb@contoso.com", day(2019, 5, 2)}, {"Sales", 152, "Jones", "jonesa@contoso.com", day(2024, 1, 15)},
				{"Sales", 199, "Cao", "", day(2018, 11, 1)}, {"Sales", 223, "Jones", "JonesJ@contoso.com", day(2021, 3, 1)},
			} {
				if _, err := staff.Insert(ctx, &e); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}

		sales := dept.Of("Sales")
		show := func(list iter.Seq2[*table.Entity[Employee], error]) error {
			for e, err := range list {
				if err != nil {
					return err
				}
				r.Answer("%d %s, %s, %s", e.Value.ID, e.Value.LastName, e.Value.Email, e.Value.Hired.Format(time.DateOnly))
			}
			return nil
		}
		var jones *table.Entity[Employee]
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"find jonesj@contoso.com", func() (err error) {
				if jones, err = byEmail.Get(ctx, staff, sales, "jonesj@contoso.com"); err != nil {
					return err
				}
				r.Answer("%d %s", jones.Value.ID, jones.Value.LastName)
				return nil
			}},
			{"list the addresses that begin with j", func() error { return show(byEmail.Prefix(ctx, staff, sales, "j")) }},
			{"list employees 100 to 199", func() error {
				return show(staff.List(ctx, table.Query[Employee]{Partition: sales, Rows: empid.Between(100, 199)}))
			}},
			{"list the employees hired from 2019 to 2023, in this order; these copies contain no address", func() error {
				return show(byHire.Between(ctx, staff, sales, day(2019, 1, 1), day(2023, 12, 31)))
			}},
			{"list the employees with the last name Jones: read the index, and then each employee", func() error { return show(byName.List(ctx, staff, sales, "Jones")) }},
			{"change the name and address of the employee found: all rows change in one transaction", func() error {
				jones.Value.LastName, jones.Value.Email = "Smith", "smithj@contoso.com"
				return staff.Replace(ctx, jones)
			}},
			{"take the address of Brown", func() error {
				err := staff.Merge(ctx, jones, email.Set("brownb@contoso.com"))
				if !errors.Is(err, index.ErrTaken) {
					return fmt.Errorf("got error %v, want: %w", err, index.ErrTaken)
				}
				r.Answer("refused: %v", err)
				return nil
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		return r.Naive("find smithj@contoso.com by a filter, which reads all rows of the department, 1 request for each 1,000, and finds this spelling only", func() error {
			return show(base.List(ctx, table.Query[Employee]{Partition: sales, Where: email.Eq("smithj@contoso.com")}))
		})
	},
}
