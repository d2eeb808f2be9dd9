// Command main moves an employee who leaves, and finds the employee in the archive.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/formerstaff"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := formerstaff.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	e, err := staff.Current.Insert(ctx, &formerstaff.Employee{Department: "Sales", ID: 456, LastName: "Jones"})
	if err := errors.Join(err, staff.Archive(ctx, e), staff.Drain(ctx)); err != nil { // a service calls Run
		log.Fatal(err)
	}
	fmt.Println(staff.Find(ctx, "Sales", 456))
}
