// Command main reads an employee with two reviews.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/reviews"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := reviews.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	jones := reviews.Employee{Department: "Sales", ID: 123, LastName: "Jones", Rating: 4}
	all := []reviews.Review{{Department: "Sales", ID: 123, Year: 2011, Rating: 5}, {Department: "Sales", ID: 123, Year: 2012, Rating: 4}}
	if err := staff.Import(ctx, []reviews.Employee{jones}, all); err != nil {
		log.Fatal(err)
	}
	found, all, err := staff.Get(ctx, "Sales", 123)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Value.LastName, found.Value.Rating, len(all), "reviews")
}
