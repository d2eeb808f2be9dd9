// Command main counts the employees aged 60 or over in two departments.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/headcount"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := headcount.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for i, department := range []string{"Marketing", "Sales"} {
		if err := staff.Hire(ctx, headcount.Employee{Department: department, ID: 1, Age: int32(59 + i)}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(staff.Count(ctx, 60))
}
