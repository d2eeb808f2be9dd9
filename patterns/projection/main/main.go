// Command main lists a name without the CV.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/projection"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := projection.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	names, err := staff.Names()
	if err := errors.Join(err, staff.Ensure(ctx)); err != nil {
		log.Fatal(err)
	}
	if _, err := staff.Employees.Insert(ctx, &projection.Employee{Department: "Sales", ID: 1, LastName: "Cao", CV: "Born in …"}); err != nil {
		log.Fatal(err)
	}
	for n, err := range names.List(ctx, projection.Members("Sales")) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n.Key, n.Value.LastName)
	}
}
