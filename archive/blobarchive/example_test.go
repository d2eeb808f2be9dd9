package blobarchive_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/archive/blobarchive"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
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
	empid := keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
	former := archive.Into[Employee]("former", blobarchive.New("archive", nil))
	staff := aztablekit.Table(company, "staff", dept, empid, former)
	check(company.Ensure(ctx)) // also the container

	e, err := staff.Insert(ctx, &Employee{"Sales", 456, "Jones"})
	check(err)
	check(former.Archive(ctx, staff, e))
	check(company.Drain(ctx)) // in a service: Run

	found, archived, err := former.Find(ctx, staff, e.Key)
	check(err)
	fmt.Println(found.Value.LastName, "archived:", archived)
	for _, b := range acc.StoredBlobs("archive") {
		fmt.Println(b.Type, len(b.Name), b.Name[:19])
	}
	_, err = former.Restore(ctx, staff, e.Key)
	check(err)
	check(company.Drain(ctx))
	_, archived, err = former.Find(ctx, staff, e.Key)
	check(err)
	fmt.Println("archived:", archived)
	// Output:
	// Jones archived: true
	// BlockBlob 40 Sales/empid_000456/
	// archived: false
}
