package main

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

var materializedView = recipe{
	name:        "materialized-view",
	title:       "Keep a view of all partitions, with counts, in one partition",
	guide:       []string{"G33", "G21"},
	related:     []string{"inter-partition-index", "summary", "search-index"},
	consistency: "eventual",
	measured:    []string{"count the employees"},
	naiveGrows:  "1 per 1,000 rows",
	problem: `Employees are stored in a partition for each department. To list or to count the employees of the whole company, a
		program would read all partitions. A materialized view stores what this question needs in another table, in one partition,
		with a summary by department. Each write of an employee notifies a worker, which brings the view up to date a moment
		later. The summary changes in the transaction of the view's row, so that a repeated message changes no count.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			Name       string
			Phone      string
		}
		type Member struct { // what the view contains
			ID         int
			Department string
			Name       string
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
		member := keys.Row(keys.Digits[int](6), func(m *Member) *int { return &m.ID }).Named("member")
		company, err := table.New(r.Tables(), r.TableName("company"), table.Schema[Member]{
			Partition: keys.OnePartition[Member]("company"),
			Row:       member,
		}, nil)
		if err != nil {
			return err
		}
		heads := index.NewSummary("heads", keys.Text(), func(m *Member) (string, bool) { return m.Department, true }, nil)
		if company, err = index.Attach(company, heads); err != nil {
			return err
		}
		members := materialized.New("members", company, func(e *Employee, _ keys.Key) (Member, bool) {
			return Member{ID: e.ID, Department: e.Department, Name: e.Name}, true
		}, nil)
		base, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, nil)
		if err != nil {
			return err
		}
		outbox, err := eventual.NewOutbox(r.Queue("views"), nil)
		if err != nil {
			return err
		}
		staff, err := eventual.WithOutbox(base, outbox)
		if err != nil {
			return err
		}
		if staff, err = materialized.Attach(staff, members); err != nil {
			return err
		}
		worker, err := eventual.NewWorker(r.Queue("views"), r.Queue("poison"), []eventual.Handler{materialized.Handler(staff)}, &eventual.WorkerOptions{Concurrency: 1})
		if err != nil {
			return err
		}
		if err := errors.Join(base.Ensure(ctx), company.Ensure(ctx), worker.Ensure(ctx)); err != nil {
			return err
		}
		count := func() error {
			for g, err := range heads.All(ctx, company, keys.RawPartition("company")) {
				if err != nil {
					return err
				}
				r.Answer("%s: %d", g.Value, g.Count)
			}
			return nil
		}

		var jones *table.Entity[Employee]
		if err := r.Do("insert two employees of two departments: each write also sends a notification and shows it", func() error {
			if _, err := staff.Insert(ctx, &Employee{"IT", 7, "Cao", "1234"}); err != nil {
				return err
			}
			jones, err = staff.Insert(ctx, &Employee{"Sales", 223, "Jones", "5678"})
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("a worker brings the view and its summary up to date", func() error { return worker.Drain(ctx) }); err != nil {
			return err
		}
		if err := r.Stored(ctx, "company"); err != nil {
			return err
		}
		if err := r.Do("change a phone number, which is not in the view: no notification", func() error {
			jones.Value.Phone = "9999"
			return staff.Replace(ctx, jones)
		}); err != nil {
			return err
		}
		if err := r.Do("another program has inserted an employee without the view: compare the view with the entities, and repair it", func() error {
			if _, err := base.Insert(ctx, &Employee{"Sales", 300, "Kerr", "1111"}); err != nil {
				return err
			}
			report, err := verify.Run(ctx, staff, &verify.Options{Repair: true})
			r.Answer("missing: %d; repaired: %d", report.Faults[verify.Missing], report.Repaired)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("count the employees of each department of the company", count); err != nil {
			return err
		}
		if err := r.Do("Jones leaves, and the worker brings the view up to date", func() error {
			if err := staff.Delete(ctx, jones); err != nil {
				return err
			}
			return worker.Drain(ctx)
		}); err != nil {
			return err
		}
		if err := r.Do("count again", count); err != nil {
			return err
		}
		return r.Naive("read all employees of all partitions, and count them", func() error {
			counts := map[string]int{}
			for e, err := range base.List(ctx, table.Query[Employee]{TableScan: true}) {
				if err != nil {
					return err
				}
				counts[e.Value.Department]++
			}
			for _, d := range []string{"IT", "Sales"} {
				r.Answer("%s: %d", d, counts[d])
			}
			return nil
		})
	},
}
