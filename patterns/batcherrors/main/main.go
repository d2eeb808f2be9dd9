// Command main hires two employees in one transaction. One of them exists.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/batcherrors"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := batcherrors.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	jones := batcherrors.Employee{Department: "Sales", ID: 3, LastName: "Jones"}
	if _, err := staff.Hire(ctx, jones); err != nil {
		log.Fatal(err)
	}
	refused, err := staff.Hire(ctx, batcherrors.Employee{Department: "Sales", ID: 4, LastName: "Smith"}, jones)
	fmt.Println(refused.LastName, err)
}
