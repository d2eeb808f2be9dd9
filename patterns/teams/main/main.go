// Command main prints the number of the members of a team, and the sum of their salaries.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/teams"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := teams.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for id, salary := range []int64{400_000, 650_000, 480_000} {
		if _, err := staff.Employees.Insert(ctx, &teams.Employee{Department: "Sales", ID: id, Team: "North", Salary: salary}); err != nil {
			log.Fatal(err)
		}
	}
	north, err := staff.Team(ctx, "Sales", "North")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(north.Value, north.Count, north.Measures["Salary"].Sum)
}
