// Command quickstart is the program of the README: employees in departments, with an index. It can run as often as you like on the
// same account, whose connection string is in AZURE_STORAGE_CONNECTION_STRING.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Employee is stored as a row. Department and ID are the row's keys; LastName and Age are properties.
type Employee struct {
	Department string
	ID         int
	LastName   string
	Age        int32
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	acc, err := account.FromEnvironment(nil, nil)
	if err != nil {
		return err
	}

	// Employee 223 of Sales has the PartitionKey Sales and the RowKey empid_000223.
	dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
	empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
	// A secondary index. Each write changes it in the same transaction.
	byName := index.New("last", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.LastName, true }, nil)

	// A store declares each table with everything that follows from its entities, and creates what does not exist.
	company := aztablekit.Open(acc, "company", nil)
	staff := aztablekit.Table(company, "staff", dept, empid, byName)
	if err := company.Ensure(ctx); err != nil {
		return err
	}

	// Upsert replaces an employee with this key, if there is one. Insert would fail with table.ErrExists.
	jones, err := staff.Upsert(ctx, &Employee{Department: "Sales", ID: 223, LastName: "Jones", Age: 44}, table.ReplaceExisting)
	if err != nil {
		return err
	}
	if _, err := staff.Upsert(ctx, &Employee{Department: "Sales", ID: 300, LastName: "Cao", Age: 38}, table.ReplaceExisting); err != nil {
		return err
	}

	// Update reads, changes and replaces by ETag, and repeats this after a conflict.
	if _, err := staff.Update(ctx, jones.Key, func(e *Employee) error { e.Age++; return nil }); err != nil {
		return err
	}

	// jones still has the ETag of the version before, so the delete is refused.
	err = staff.Delete(ctx, jones)
	fmt.Println("changed by another write:", errors.Is(err, table.ErrChanged))

	// A range of keys in one partition, with a typed condition.
	age := table.FieldOf(func(e *Employee) *int32 { return &e.Age })
	q := table.Query[Employee]{Partition: dept.Of("Sales"), Rows: empid.Between(200, 299), Where: age.Ge(40)}
	for e, err := range staff.List(ctx, q) {
		if err != nil {
			return err
		}
		fmt.Println("listed:", e.Value.ID, e.Value.LastName, e.Value.Age)
	}

	// The index finds an employee by one request, in any case of letters.
	cao, err := byName.Get(ctx, staff, dept.Of("Sales"), "CAO")
	if err != nil {
		return err
	}
	fmt.Println("found by name:", cao.Value.ID, cao.Value.Age)
	return nil
}
