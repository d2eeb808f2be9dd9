package aztablekit_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Example is the README's program; TestReadme compares the two.
func Example() {
	ctx := context.Background()

	type Employee struct {
		Department string // the PartitionKey
		ID         int    // the RowKey
		LastName   string
		Age        int32
	}
	dept := keys.Tuple1(keys.Text())
	empid := keys.Tuple1(keys.Digits[int](6)).Named("empid")
	age := table.FieldOf(func(e *Employee) *int32 { return &e.Age })

	acc, err := account.FromConnectionString(os.Getenv("AZURE_STORAGE_CONNECTION_STRING"), nil)
	if err != nil {
		log.Fatal(err)
	}
	staff, err := table.New(acc.Tables(), "staff", table.Schema[Employee]{
		Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
		Row:       keys.Bind1(empid, func(e *Employee) *int { return &e.ID }),
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}

	// A secondary index. Each write by this handle updates the index in the same transaction. Attach it before the first write;
	// verify.Run with Repair adds the entities that a table contains already.
	byName := index.New("last", keys.Tuple1(keys.Fold(keys.Text())), func(e *Employee) (string, bool) { return e.LastName, true }, nil)
	if staff, err = index.Attach(staff, byName); err != nil {
		log.Fatal(err)
	}

	// The row has PartitionKey Sales, RowKey empid_000223, LastName and Age. If it exists, Upsert replaces it; Insert would fail.
	jones, err := staff.Upsert(ctx, &Employee{Department: "Sales", ID: 223, LastName: "Jones", Age: 44}, table.ReplaceExisting)
	if err != nil {
		log.Fatal(err)
	}

	// Update reads, changes and replaces by ETag, and repeats this after a conflict.
	_, err = staff.Update(ctx, jones.Key, func(e *Employee) error { e.Age++; return nil })
	if err != nil {
		log.Fatal(err)
	}

	// jones contains the ETag of the old version, so the delete fails.
	err = staff.Delete(ctx, jones)
	fmt.Println(errors.Is(err, table.ErrChanged))

	// List a range of keys in one partition, with a typed condition.
	q := table.Query[Employee]{
		Partition: dept.Of("Sales"),
		Rows:      empid.Between(200, 299),
		Where:     age.Ge(40),
	}
	for e, err := range staff.List(ctx, q) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Value.ID, e.Value.LastName, e.Value.Age)
	}

	// The index finds an employee in one request.
	if _, err := staff.Upsert(ctx, &Employee{Department: "Sales", ID: 300, LastName: "Cao", Age: 38}, table.ReplaceExisting); err != nil {
		log.Fatal(err)
	}
	cao, err := byName.Get(ctx, staff, dept.Of("Sales"), "CAO")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cao.Value.ID, cao.Value.Age)
	// Output:
	// true
	// 223 Jones 45
	// 300 38
}
