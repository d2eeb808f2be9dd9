// Command main lists the reviews of employee 123, and not those of employee 1234.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/compoundkeys"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	company := compoundkeys.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for _, id := range []int{123, 1234} {
		if _, err := company.Reviews.Insert(ctx, &compoundkeys.Review{Department: "R&D", ID: id, Year: 2012, Rating: 4}); err != nil {
			log.Fatal(err)
		}
	}
	for v, err := range company.Reviews.List(ctx, compoundkeys.Employee("R&D", 123)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(v.Key, v.Value.Rating)
	}
}
