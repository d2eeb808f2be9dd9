// Command main lists the employees called Jones of two departments, from the row of the name and from the blob.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/indexentitieselsewhere"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	acc := storagetest.New(nil) // in memory; account.FromEnvironment opens yours
	staff := indexentitieselsewhere.Open(acc, acc.Blobs().NewContainerClient("names"), nil)
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for id, department := range []string{"Marketing", "Sales"} {
		if _, err := staff.Employees.Insert(ctx, &indexentitieselsewhere.Employee{Department: department, ID: id, LastName: "Jones"}); err != nil {
			log.Fatal(err)
		}
	}
	if err := staff.Drain(ctx); err != nil { // Run does it all the time
		log.Fatal(err)
	}
	fmt.Println(staff.Keys(ctx, "Jones"))
	fmt.Println(staff.BlobMembers(ctx, "Jones"))
}
