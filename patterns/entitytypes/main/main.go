// Command main lists an employee and a contractor, who are in one table.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/entitytypes"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := entitytypes.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	_, hired := staff.Employees.Insert(ctx, &entitytypes.Employee{Department: "Sales", ID: 1, First: "Jessy", Last: "Jones"})
	_, engaged := staff.Contractors.Insert(ctx, &entitytypes.Contractor{Department: "Sales", ID: 3, Name: "Cao", Agency: "Contoso"})
	if err := errors.Join(hired, engaged); err != nil {
		log.Fatal(err)
	}
	sales, err := staff.List(ctx, "Sales")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sales.Employees, sales.Contractors)
}
