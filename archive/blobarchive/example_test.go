package blobarchive_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/archive/blobarchive"
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

// Employee 456 leaves the company: a worker moves the entity from the table to a blob.
func Example() {
	ctx := context.Background()
	acc := storagetest.New(nil)
	company := aztablekit.Open(acc, "company", nil)
	dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
	old := blobarchive.New(company, "archive", nil)
	check(old.Err()) // which the store's Ensure returns, too
	mover := archive.Into[Employee]("former", old)
	staff := aztablekit.Table(company, "staff", dept, empid, mover)
	check(company.Ensure(ctx)) // also the container

	e, err := staff.Insert(ctx, &Employee{"Sales", 456, "Jones"})
	check(err)
	check(mover.Archive(ctx, e))
	check(company.Drain(ctx)) // in a service: Run

	found, archived, err := mover.Find(ctx, e.Key)
	check(err)
	fmt.Println(found.Value.LastName, "archived:", archived)
	for _, b := range acc.StoredBlobs("archive") {
		fmt.Println(b.Type, len(b.Name), b.Name[:19])
	}
	_, err = mover.Restore(ctx, e.Key)
	check(err)
	check(company.Drain(ctx))
	_, archived, err = mover.Find(ctx, e.Key)
	check(err)
	fmt.Println("archived:", archived)
	// Output:
	// Jones archived: true
	// BlockBlob 40 Sales/empid_000456/
	// archived: false
}

// A destination stores a blob for each incarnation of a key. A [archive.Mover] calls its methods; programs rarely do.
func ExampleDestination() {
	ctx := context.Background()
	acc := storagetest.New(nil)
	old := blobarchive.New(&host.Host{Account: acc}, "archive", nil)
	check(old.Ensure(ctx))

	id := archive.ID{Key: keys.Raw("Sales", "empid_000456"), Incarnation: "01KAJ5ZVW0ABCDEF"}
	row := &table.Row{Key: id.Key}
	check(row.Set("LastName", "Jones"))
	r := &archive.ArchivedRow{ID: id, Row: row, Kind: "staff/archive"}
	check(old.Check(r))
	check(old.Put(ctx, r, "")) // nothing is stored yet

	stored, err := old.Get(ctx, id)
	check(err)
	name, _ := stored.Row.Get("LastName")
	fmt.Println(name)
	for _, err := range old.Incarnations(ctx, id.Key) {
		check(err)
	}
	for r, err := range old.List(ctx, keys.RawPartition("Sales")) {
		check(err)
		fmt.Println(r.Key)
	}
	check(old.Put(ctx, &archive.ArchivedRow{ID: id}, stored.Version)) // a tombstone
	check(old.Sweep(ctx, keys.RawPartition("Sales"), time.Now().Add(-25*time.Hour)))
	fmt.Println(acc.StoredBlobs("archive")[0].Name)
	// Output:
	// Jones
	// ('Sales','empid_000456')
	// Sales/empid_000456/01KAJ5ZVW0ABCDEF.json
}
