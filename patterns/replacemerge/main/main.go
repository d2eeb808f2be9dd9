// Command main adds an age to an employee, and then changes the name alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/replacemerge"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := replacemerge.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	age := int32(44)
	added := staff.Add(ctx, replacemerge.Employee{Department: "Sales", ID: 1, LastName: "Jones", Age: &age})
	if err := errors.Join(added, staff.Rename(ctx, "Sales", 1, "Smith")); err != nil {
		log.Fatal(err)
	}
	smith, err := staff.Get(ctx, "Sales", 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(smith.Value.LastName, *smith.Value.Age)
}
