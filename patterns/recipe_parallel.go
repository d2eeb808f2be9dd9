package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var parallel = recipe{
	name:  "parallel",
	title: "Work on all partitions at once",
	guide: []string{"G49"},
	problem: `A scan of the table reads one partition after the other, a thousand rows at a time. Partitions are served by
		different machines: work that is spread over them is as much faster as there are partitions. The list of partitions
		itself is found by jumping from one to the next, without reading what is in them.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			Age        int32
		}
		dept := keys.Tuple1(keys.Text())
		empid := keys.Tuple1(keys.Digits[int](6))
		age := table.FieldOf(func(e *Employee) *int32 { return &e.Age })
		staff, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Employee]{
			Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
			Row:       keys.Bind1(empid, func(e *Employee) *int { return &e.ID }),
		}, nil)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		if err := r.Do("100 employees into each of four departments, a transaction for each, all at once", func() error {
			var wg sync.WaitGroup
			errs := make(chan error, 4)
			for _, d := range []string{"Finance", "Marketing", "Sales", "Support"} {
				wg.Go(func() {
					var ops []table.Op
					for id := range 100 {
						ops = append(ops, staff.InsertOp(&Employee{d, id, int32(20 + (id+len(d))%45)}))
					}
					_, err := table.Transact(ctx, ops...)
					errs <- err
				})
			}
			wg.Wait()
			for range 4 {
				if err := <-errs; err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("which departments are there?", func() error {
			for pk, err := range staff.Partitions(ctx) {
				if err != nil {
					return err
				}
				r.Answer("%v", pk)
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("who is 60 or older? All departments at once", func() error {
			var mu sync.Mutex
			found := map[string]int{}
			err := staff.EachPartition(ctx, 0, func(ctx context.Context, partition keys.Enc) error {
				n, err := staff.Count(ctx, table.Query[Employee]{Partition: partition, Where: age.Ge(60)})
				mu.Lock()
				defer mu.Unlock()
				found[partition.String()] = n
				return err
			})
			r.Answer("%v", fmt.Sprint(found))
			return err
		}); err != nil {
			return err
		}
		return r.Naive("a table scan with small pages, one after the other", func() error {
			n, stats := 0, new(table.Stats)
			for _, err := range staff.List(ctx, table.Query[Employee]{TableScan: true, Where: age.Ge(60), PageSize: 10, Stats: stats}) {
				if err != nil {
					return err
				}
				n++
			}
			r.Answer("%d found; on the service every row of the table is read, page by page", n)
			return nil
		})
	},
}
