// Command main finds a name that contains a quote.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/typedfilters"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := typedfilters.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for id, name := range []string{"O'Brien", "Jones"} {
		if _, err := staff.Employees.Insert(ctx, &typedfilters.Employee{Department: "Sales", ID: id, LastName: name}); err != nil {
			log.Fatal(err)
		}
	}
	for e, err := range staff.Employees.List(ctx, typedfilters.Named("Sales", "O'Brien")) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Value.ID, e.Value.LastName)
	}
}
