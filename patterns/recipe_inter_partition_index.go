package main

import (
	"context"
	"errors"
	"iter"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

var interPartitionIndex = recipe{
	name:        "inter-partition-index",
	title:       "Find an employee by e-mail address in the whole company",
	guide:       []string{"G21"},
	related:     []string{"search-index", "intra-partition-index", "several-types", "entity-types", "unique-email"},
	consistency: "eventual",
	measured:    []string{"find jonesj@contoso.com without"},
	naiveGrows:  "1 per 1,000 rows",
	problem: `An index in the partition of its employees finds an address only if the department is known, and shares the
		2,000 rows a second of the partition. Here the copies are in other partitions, one for each address, of a table of their
		own. No transaction covers two partitions: each write stores a commit record in its own transaction, and a worker then
		makes the copies follow the employee, whatever crashes or is repeated. The pointers by hire year are in other partitions of
		the table itself, and the writer changes them before its method returns (Inline). A copy that is out of date becomes a
		tombstone (~ in _sys), which look-ups leave out; it is deleted a day later.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
			Email      string
			Hired      int
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
		lastName := table.FieldOf(func(e *Employee) *string { return &e.LastName })
		email := table.FieldOf(func(e *Employee) *string { return &e.Email })

		byEmail := index.NewGlobal("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, e.Email != "" },
			&index.Options{Table: r.TableName("emails")})
		byYear := index.New("hired", keys.Digits[int](4), func(e *Employee) (int, bool) { return e.Hired, true },
			&index.Options{Pointer: true, Table: r.TableName("staff"), Inline: true}).In(func(e *Employee) keys.PartitionKey { return keys.RawPartition("hired_" + e.Department) })

		base, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, nil)
		if err != nil {
			return err
		}
		outbox, err := eventual.NewOutbox(r.Queue("copies"), nil)
		if err != nil {
			return err
		}
		withOutbox, err := eventual.WithOutbox(base, outbox)
		if err != nil {
			return err
		}
		byWorker, err := index.Attach(withOutbox, byEmail)
		if err != nil {
			return err
		}
		both, err := index.Attach(withOutbox, byEmail, byYear)
		if err != nil {
			return err
		}
		// The worker knows all definitions.
		worker, err := eventual.NewWorker(r.Queue("copies"), r.Queue("poison"), []eventual.Handler{index.Handler(both)}, &eventual.WorkerOptions{Concurrency: 1})
		if err != nil {
			return err
		}
		if err := errors.Join(base.Ensure(ctx), index.Ensure(ctx, both), worker.Ensure(ctx)); err != nil {
			return err
		}
		var jones *table.Entity[Employee]
		show := func(list iter.Seq2[*table.Entity[Employee], error]) error {
			for e, err := range list {
				if err != nil {
					return err
				}
				r.Answer("%s %d %s, %s", e.Value.Department, e.Value.ID, e.Value.LastName, e.Value.Email)
			}
			return nil
		}
		find := func(address string) error {
			e, err := byEmail.Get(ctx, byWorker, address)
			if errors.Is(err, table.ErrNotFound) {
				r.Answer("%s: not found", address)
				return nil
			}
			if err == nil {
				r.Answer("%s: %s %d %s", address, e.Value.Department, e.Value.ID, e.Value.LastName)
			}
			return err
		}
		for _, step := range []struct {
			what   string
			run    func() error
			stored string
		}{
			{"insert an employee: put a hidden notification, write the employee and a commit record, make the notification visible", func() (err error) {
				jones, err = byWorker.Insert(ctx, &Employee{"Sales", 223, "Jones", "JonesJ@contoso.com", 2021})
				return err
			}, ""},
			{"the worker reads the commit record, the row of the copy and the employee, writes the copy, and marks the record as done", func() error { return worker.Drain(ctx) }, "emails"},
			{"find jonesj@contoso.com without the department", func() error { return find("jonesj@contoso.com") }, ""},
			{"change the address", func() error { return byWorker.Merge(ctx, jones, email.Set("smithj@contoso.com")) }, ""},
			{"until the worker has run, the old address finds her", func() error { return errors.Join(find("jonesj@contoso.com"), find("smithj@contoso.com")) }, ""},
			{"the worker writes the new copy, and a tombstone over the old one", func() error { return worker.Drain(ctx) }, "emails"},
			{"now the new address finds her", func() error { return errors.Join(find("jonesj@contoso.com"), find("smithj@contoso.com")) }, ""},
			{"change the name, with the pointers by year, too: the writer itself changes the copy and inserts the missing pointer", func() error {
				e, err := both.Get(ctx, jones.Key)
				if err != nil {
					return err
				}
				return both.Merge(ctx, e, lastName.Set("Smith"))
			}, "staff"},
			{"list who was hired from 2020 to 2022 in Sales: read the pointers, and then each employee", func() error {
				return show(byYear.Between(ctx, both, keys.RawPartition("hired_Sales"), 2020, 2022))
			}, ""},
			{"an employee from before the index: insert by a handle without it, and let verify find and add the missing rows", func() error {
				if _, err := base.Insert(ctx, &Employee{"Marketing", 152, "Brown", "brownb@contoso.com", 2019}); err != nil {
					return err
				}
				report, err := verify.Run(ctx, both, &verify.Options{Repair: true})
				r.Answer("%d missing rows, %d repaired", report.Faults[verify.Missing], report.Repaired)
				return err
			}, "emails"},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
			if step.stored != "" {
				if err := r.Stored(ctx, step.stored); err != nil {
					return err
				}
			}
		}
		return r.Naive("find smithj@contoso.com by a filter, which reads the whole table, 1 request for each 1,000 rows", func() error {
			return show(base.List(ctx, table.Query[Employee]{TableScan: true, Where: email.Eq("smithj@contoso.com")}))
		})
	},
}
