package main

import (
	"context"

	"github.com/aztablekit/aztablekit/patterns/rangequery"
)

var rangeQuery = recipe{
	name:        "range-query",
	title:       "Read a range of rows",
	guide:       []string{"G02", "G06"},
	related:     []string{"point-query", "sorted-keys", "scans"},
	consistency: "strong",
	measured:    []string{"list employees 100 to 199"},
	problem: `The rows of a partition are sorted by RowKey, so a query for a range of RowKeys reads only the rows of that range.
		RowKeys are text: numbers are in order only if they have leading zeros (000123, not 123).`,
	kept: "rangequery",
	run: func(ctx context.Context, r *Run) error {
		staff := rangequery.Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		for id, name := range map[int]string{9: "Hall", 99: "Cao", 100: "Kwok", 123: "Jones", 199: "Smith", 200: "Weber"} {
			if _, err := staff.Employees.Insert(ctx, &rangequery.Employee{Department: "Sales", ID: id, LastName: name}); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		q := rangequery.Numbers("Sales", 100, 199)
		ex, err := staff.Employees.Explain(q)
		if err != nil {
			return err
		}
		return r.Ask("list employees 100 to 199 of Sales", ex, func() error {
			for e, err := range staff.Employees.List(ctx, q) {
				if err != nil {
					return err
				}
				r.Answer("%d %s", e.Value.ID, e.Value.LastName)
			}
			return nil
		})
	},
}
