// Command main counts the employees of each department of a company.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/materializedview"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	company := materializedview.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	_, err := company.Employees.Insert(ctx, &materializedview.Employee{Department: "Sales", ID: 223, Name: "Jones"})
	if err := errors.Join(err, company.Drain(ctx)); err != nil { // a service calls Run
		log.Fatal(err)
	}
	for department, err := range company.Departments(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(department.Value, department.Count)
	}
}
