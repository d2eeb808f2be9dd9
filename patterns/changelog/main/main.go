// Command main hires an employee, and prints what the log says of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/changelog"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	company := changelog.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	_, err := company.Employees.Insert(ctx, &changelog.Employee{Department: "Sales", ID: 223, LastName: "Jones", Salary: 50_000})
	if err := errors.Join(err, company.Drain(ctx)); err != nil { // a service calls Run
		log.Fatal(err)
	}
	for change, err := range company.Newest(ctx, 10) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(change.Value.What)
	}
}
