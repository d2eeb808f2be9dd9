package archive_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

type Employee struct {
	Department string
	ID         int
	LastName   string
}

var (
	dept2 = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })

	former = archive.Into[Employee]("former", archive.ToTable("Archive", nil))
)

// Employee 456 leaves the company, and comes back.
func Example() {
	ctx := context.Background()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	current := aztablekit.Table(company, "Current", dept2, empid, former)
	check(company.Ensure(ctx))

	e, err := current.Insert(ctx, &Employee{"Sales", 456, "Jones"})
	check(err)
	check(former.Archive(ctx, current, e))
	check(company.Drain(ctx)) // a program calls company.Run

	fmt.Println(former.Name())
	find := func() {
		e, archived, err := former.Find(ctx, current, e.Key)
		check(err)
		fmt.Println(e.Value.LastName, "archived:", archived)
	}
	find()
	for e, err := range former.Archived(ctx, current, e.Key.Partition()) {
		check(err)
		fmt.Println("in the archive:", e.Value.ID)
	}
	_, err = former.Restore(ctx, current, e.Key)
	check(err)
	check(company.Drain(ctx))
	find()
	// Output:
	// former
	// Jones archived: true
	// in the archive: 456
	// Jones archived: false
}

// A destination that makes paths of IDs calls Err first.
func ExampleID_Err() {
	key := keys.At(keys.RawPartition("Sales"), keys.RawRow("empid_000456"))
	fmt.Println(archive.ID{Key: key, Incarnation: "7ZK3M9Q0W1E2R4T5"}.Err())
	fmt.Println(archive.ID{Key: key, Incarnation: "../../etc/cron.d"}.Err() != nil)
	// Output:
	// <nil>
	// true
}

// The closed orders of past months go to another table, many together.
func ExampleMover_ArchiveAll() {
	ctx := context.Background()
	store := aztablekit.Open(storagetest.New(nil), "shop", nil)
	type order struct {
		Month  string
		Number int
	}
	month := keys.Partition(keys.Ordered(), func(o *order) *string { return &o.Month })
	closed := archive.Into[order]("closed", archive.ToTable("closed", nil))
	orders := aztablekit.Table(store, "orders", month, keys.Row(keys.Digits[int](6), func(o *order) *int { return &o.Number }), closed)
	check(store.Ensure(ctx))
	for i := range 30 {
		_, err := orders.Insert(ctx, &order{fmt.Sprint(202601 + i%3), i})
		check(err)
	}
	done, err := closed.ArchiveAll(ctx, orders, table.Query[order]{Partitions: month.Before("202603")}, nil)
	check(err)
	fmt.Println(done.Changed)
	// Output: 20
}
