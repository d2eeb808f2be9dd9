// Command main moves an employee to another department.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/movedepartment"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := movedepartment.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	jones, err := staff.Employees.Insert(ctx, &movedepartment.Employee{Department: "Sales", ID: 223, LastName: "Jones", Email: "jonesj@contoso.com"})
	if err != nil {
		log.Fatal(err)
	}
	if err := staff.Move(ctx, jones, "Marketing"); err != nil {
		log.Fatal(err)
	}
	for e, err := range staff.Named(ctx, "Marketing", "Jones") {
		fmt.Println(e.Key, err)
	}
}
