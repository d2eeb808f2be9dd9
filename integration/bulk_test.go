package integration

import (
	"context"

	"github.com/aztablekit/aztablekit/table"
)

// bulkWrites: Bulk and DeleteQuery apply a thousand operations in few requests, on existing and on missing rows.
func bulkWrites(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, blindWrites())
	e.counter.Take()
	load := func(op func(i int) table.Op) table.Progress {
		r, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
			for i := range 1000 {
				if !yield(op(i), nil) {
					return
				}
			}
		}, nil)
		e.must(err)
		return r
	}
	r := load(func(i int) table.Op {
		return staff.UpsertOp(&employee{Department: []string{"Sales", "O'Neil"}[i%2], ID: i, Age: int32(i)}, table.ReplaceExisting)
	})
	e.wantRequests("10 transaction")
	if r.Changed != 1000 || r.Rows != 1000 || r.Token != "" {
		e.Errorf("upserts: got %+v; want 1000 done", r)
	}
	deleted, err := table.BulkDelete(ctx, staff, table.Query[employee]{Partition: dept.PartitionKey("O'Neil"), Where: age.Lt(500)}, nil)
	e.must(err)
	if deleted.Changed != 250 {
		e.Errorf("DeleteQuery: got %+v; want 250 done", deleted)
	}
	e.counter.Take()
	r = load(func(i int) table.Op { return staff.DeleteAnyOp(at([]string{"Sales", "O'Neil"}[i%2], i)) })
	if r.Changed != 750 || r.Counts["missing"] != 250 || r.Token != "" {
		e.Errorf("deletes: got %+v; want 750 done and 250 missing", r)
	}
	n, err := staff.Count(ctx, table.Query[employee]{TableScan: true})
	e.must(err)
	if n != 0 {
		e.Errorf("got %d entities; want none", n)
	}
}
