// Command main reads two employees by their IDs.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/severalpoints"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := severalpoints.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for id, name := range []string{"Hall", "Cao", "Kwok"} {
		if _, err := staff.Employees.Insert(ctx, &severalpoints.Employee{Department: "Sales", ID: id, LastName: name}); err != nil {
			log.Fatal(err)
		}
	}
	for e, err := range staff.Numbered(ctx, "Sales", 2, 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Value.ID, e.Value.LastName)
	}
}
