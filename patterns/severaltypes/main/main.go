// Command main hires an employee, and prints how many the department has.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/severaltypes"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	company := severaltypes.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	if err := company.Found(ctx, "Sales"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(company.Hire(ctx, severaltypes.Employee{Department: "Sales", ID: 123, LastName: "Jones"}))
	sales, err := company.Department(ctx, "Sales")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sales.Value.EmployeeCount)
}
