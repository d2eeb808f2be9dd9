// Command main lists the employees aged 40 or over.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/scans"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := scans.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for id, age := range []int32{23, 44} {
		if _, err := staff.Employees.Insert(ctx, &scans.Employee{Department: "Sales", ID: id, Age: age}); err != nil {
			log.Fatal(err)
		}
	}
	for e, err := range staff.Employees.List(ctx, scans.Aged("Sales", 40)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Value.ID, e.Value.Age)
	}
}
