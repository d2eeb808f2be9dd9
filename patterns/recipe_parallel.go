package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var parallel = recipe{
	name:        "parallel",
	title:       "Work on all partitions at the same time",
	guide:       []string{"G49"},
	related:     []string{"several-points", "bulk", "spread-log"},
	consistency: "by part",
	measured:    []string{"count the employees aged 60"},
	problem: `A table scan reads one partition after another, at most 1,000 rows in each request. The service can serve
		partitions from different machines, so a program that works on several partitions at the same time is faster. Partitions
		lists the PartitionKeys: it jumps from each partition to the next without reading the rows in between.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			Age        int32
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })
		age := table.FieldOf(func(e *Employee) *int32 { return &e.Age })
		staff, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, nil)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		if err := r.Do("insert 100 employees into each of four departments: four transactions at the same time", func() error {
			departments := []string{"Finance", "Marketing", "Sales", "Support"}
			errs := make([]error, len(departments))
			var wg sync.WaitGroup
			for i, d := range departments {
				wg.Go(func() {
					var ops []table.Op
					for id := range 100 {
						ops = append(ops, staff.InsertOp(&Employee{d, id, int32(20 + (id+len(d))%45)}))
					}
					_, errs[i] = table.Transact(ctx, ops...)
				})
			}
			wg.Wait()
			return errors.Join(errs...)
		}); err != nil {
			return err
		}
		if err := r.Do("list the departments", func() error {
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
		if err := r.Do("count the employees aged 60 or over in all departments at the same time", func() error {
			var mu sync.Mutex
			found := map[string]int{}
			err := staff.EachPartition(ctx, 0, func(ctx context.Context, partition keys.PartitionKey) error {
				n, err := staff.Count(ctx, table.Query[Employee]{Partition: partition, Where: age.Ge(60)})
				mu.Lock()
				defer mu.Unlock()
				found[partition.String()] = n
				return err
			})
			for _, d := range slices.Sorted(maps.Keys(found)) {
				r.Answer("%s: %d", d, found[d])
			}
			return err
		}); err != nil {
			return err
		}
		return r.Naive("a table scan, in pages of up to 10 employees, one after another", func() error {
			n := 0
			for _, err := range staff.List(ctx, table.Query[Employee]{TableScan: true, Where: age.Ge(60), PageSize: 10}) {
				if err != nil {
					return err
				}
				n++
			}
			r.Answer("%d found; the service reads every row of the table", n)
			return nil
		})
	},
}
