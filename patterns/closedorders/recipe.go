package closedorders

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "archive-by-query",
	Title:       "Move what a query finds: the closed orders of past months",
	Guide:       []string{"G22"},
	Related:     []string{"archive", "bulk", "table-by-day", "range-query"},
	Consistency: "eventual",
	Measured:    []string{"move the closed orders"},
	NaiveGrows:  "10 per order",
	Problem: `The orders of a month are in one partition. Those of past months that are closed move to another table, some thousand each
		month, while programs write. A range of PartitionKeys names the months, and a condition the orders. They are moved as many
		together as a transaction holds, with the guarantees of a single move: after a crash, a worker ends what was begun, and the
		call begins again. Each order is in one of the two tables at every instant.`,
	Kept: "closedorders",
	Run: func(ctx context.Context, r *recipe.Run) error {
		orders := Open(r.Account(), r.StoreOptions("orders", "orders", "closed"))
		if err := r.Ensure(ctx, orders); err != nil {
			return err
		}
		const n = 40
		if err := r.Do("store 40 orders of two months by bulk", func() error {
			_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
				for i := range n {
					o := Order{Month: fmt.Sprint(202601 + i/(n/2)), Number: i, Customer: "Acme", Open: i%10 == 9}
					if !yield(orders.Current.InsertOp(&o), nil) {
						return
					}
				}
			}, nil)
			return err
		}); err != nil {
			return err
		}
		archive := func(before string) func() error {
			return func() error {
				moved, err := orders.ArchiveBefore(ctx, before)
				r.Answer("orders: %d", moved)
				return err
			}
		}
		find := func(i int) func() error {
			return func() error {
				e, archived, err := orders.Find(ctx, "202601", i)
				if err == nil {
					r.Answer("order %d, archived: %v", e.Value.Number, archived)
				}
				return err
			}
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"move the closed orders before February: 1 query, and 7 requests for up to 99 orders", archive("202602")},
			{"move them again: nothing is left", archive("202602")},
			{"find a closed order", find(3)},
			{"find an open one", find(9)},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		return r.Naive("move the orders of February one by one: 3 requests each, and 7 of a worker", func() error {
			for e, err := range orders.Current.List(ctx, table.Query[Order]{Partition: orders.Current.Key(Order{Month: "202602"}).Partition()}) {
				if err != nil {
					return err
				}
				if e.Value.Open {
					continue
				}
				if err := Closed.Archive(ctx, orders.Current, e); err != nil {
					return err
				}
			}
			return orders.Drain(ctx)
		})
	},
}
