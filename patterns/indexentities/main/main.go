// Command main lists the employees called Jones.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/indexentities"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := indexentities.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for id, name := range []string{"Jones", "Cao", "Jones"} {
		if _, err := staff.Employees.Insert(ctx, &indexentities.Employee{Department: "Sales", ID: id, LastName: name}); err != nil {
			log.Fatal(err)
		}
	}
	for e, err := range staff.List(ctx, "Sales", "Jones") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Key, e.Value.LastName)
	}
}
