package archive_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/internal/host"
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

// Employee 456 leaves the company, and comes back.
func Example() {
	ctx := context.Background()
	dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	old := archive.ToTable(company, "Archive", nil)
	check(old.Err()) // the mistakes of this declaration; Ensure returns those of all
	mover := archive.Into[Employee]("staff/archive", old)
	current := aztablekit.Table(company, "Current", dept, empid, mover)
	check(company.Ensure(ctx))

	e, err := current.Insert(ctx, &Employee{"Sales", 456, "Jones"})
	check(err)
	check(mover.Archive(ctx, e))
	check(company.Drain(ctx)) // a program calls company.Run

	fmt.Println(mover.Name())
	find := func() {
		e, archived, err := mover.Find(ctx, e.Key)
		check(err)
		fmt.Println(e.Value.LastName, "archived:", archived)
	}
	find()
	for e, err := range mover.Archived(ctx, e.Key.Partition()) {
		check(err)
		fmt.Println("in the archive:", e.Value.ID)
	}
	for stored, err := range old.Incarnations(ctx, e.Key) {
		check(err)
		there, err := mover.Contains(ctx, e.Key, stored.Incarnation)
		check(err)
		fmt.Println("this incarnation is in the archive:", there)
	}
	_, err = mover.Restore(ctx, e.Key)
	check(err)
	check(company.Drain(ctx))
	find()
	// Output:
	// staff/archive
	// Jones archived: true
	// in the archive: 456
	// this incarnation is in the archive: true
	// Jones archived: false
}

// A destination stores a row for each incarnation of a key. A [archive.Mover] calls its methods; programs rarely do.
func ExampleTableDestination() {
	ctx := context.Background()
	acc := storagetest.New(nil)
	old := archive.ToTable(&host.Host{Tables: acc.Tables()}, "Archive", nil)
	err := old.Err()
	check(err)
	check(old.Ensure(ctx))
	k := keys.At(keys.RawPartition("Sales"), keys.RawRow("empid_000456"))
	row := &table.Row{Key: k}
	check(row.Set("LastName", "Jones"))
	id := archive.ID{Key: k, Incarnation: "0123456789ABCDEF"}
	r := &archive.ArchivedRow{ID: id, Row: row, Moves: []string{"01KAJ5ZVW0ABCDEFGHJKMNPQRS"}}
	check(old.Check(r)) // no request
	check(old.Put(ctx, r, ""))

	r, err = old.Get(ctx, id)
	check(err)
	name, _ := r.Row.Get("LastName")
	fmt.Println(name)
	for r, err := range old.Incarnations(ctx, k) {
		check(err)
		fmt.Println("incarnation", r.Incarnation)
	}
	for r, err := range old.List(ctx, k.Partition()) {
		check(err)
		fmt.Println("row", r.Key)
	}
	check(old.Put(ctx, &archive.ArchivedRow{ID: id}, r.Version))        // a tombstone
	check(old.Sweep(ctx, k.Partition(), time.Now().Add(-25*time.Hour))) // deletes old tombstones
	r, err = old.Get(ctx, id)
	check(err)
	fmt.Println("tombstone:", r.Row == nil)
	// Output:
	// Jones
	// incarnation 0123456789ABCDEF
	// row ('Sales','empid_000456')
	// tombstone: true
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
	former := archive.Into[order]("former", archive.ToTable(store, "former", nil))
	orders := aztablekit.Table(store, "orders", month, keys.Row(keys.Digits[int](6), func(o *order) *int { return &o.Number }), former)
	check(store.Ensure(ctx))
	for i := range 30 {
		_, err := orders.Insert(ctx, &order{fmt.Sprint(202601 + i%3), i})
		check(err)
	}
	report, err := former.ArchiveAll(ctx, table.Query[order]{Partitions: month.Before("202603")}, nil)
	check(err)
	fmt.Println(report.Archived)
	// Output: 20
}
