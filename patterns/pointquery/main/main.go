// Command main reads an employee by department and ID.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/pointquery"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := pointquery.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := staff.Employees.Insert(ctx, &pointquery.Employee{Department: "Sales", ID: 123, LastName: "Jones", Age: 44}); err != nil {
		log.Fatal(err)
	}
	jones, err := staff.Employee(ctx, "Sales", 123)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(jones.Key, jones.Value.LastName)
}
