package main

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var partitionScan = recipe{
	name:        "scans",
	title:       "Filter a partition, and refuse a table scan",
	guide:       []string{"G03", "G04"},
	related:     []string{"range-query", "typed-filters", "intra-partition-index"},
	consistency: "strong",
	measured:    []string{"list the employees of Sales aged"},
	naiveGrows:  "1 per 1,000 rows",
	problem: `A filter on a property that is in neither key makes the service read rows to find matches: one partition if the
		filter gives a PartitionKey, and otherwise the whole table, whatever else the filter says. A table scan is slow,
		expensive, and easily written by mistake. The library refuses to scan a table unless Query.TableScan is set.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
			Age        int32
		}
		age := table.FieldOf(func(e *Employee) *int32 { return &e.Age })
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })
		staff, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, nil)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		for _, e := range []Employee{{"Marketing", 1, "Hall", 34}, {"Marketing", 2, "Cao", 47}, {"Sales", 10, "Kwok", 23}, {"Sales", 123, "Jones", 44}} {
			if _, err := staff.Insert(ctx, &e); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		q := table.Query[Employee]{Partition: dept.Of("Sales"), Where: age.Ge(40)}
		show := func() error {
			for e, err := range staff.List(ctx, q) {
				if err != nil {
					return err
				}
				r.Answer("%s %d %s, %d", e.Value.Department, e.Value.ID, e.Value.LastName, e.Value.Age)
			}
			return nil
		}
		ex, err := staff.Explain(q)
		if err != nil {
			return err
		}
		if err := r.Ask("list the employees of Sales aged 40 or over", ex, show); err != nil {
			return err
		}
		q.Partition = keys.PartitionKey{}
		if err := r.Do("the same query without a department", func() error {
			return r.Refused(show(), table.ErrTableScan)
		}); err != nil {
			return err
		}
		q.TableScan = true
		if ex, err = staff.Explain(q); err != nil {
			return err
		}
		return r.NaiveQuery("the same query with TableScan set", ex, show)
	},
}
