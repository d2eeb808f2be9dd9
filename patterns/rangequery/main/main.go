// Command main lists the employees of an ID range.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/rangequery"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := rangequery.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for _, e := range []rangequery.Employee{{Department: "Sales", ID: 99, LastName: "Cao"}, {Department: "Sales", ID: 123, LastName: "Jones"}} {
		if _, err := staff.Employees.Insert(ctx, &e); err != nil {
			log.Fatal(err)
		}
	}
	for e, err := range staff.Employees.List(ctx, rangequery.Numbers("Sales", 100, 199)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Value.ID, e.Value.LastName)
	}
}
