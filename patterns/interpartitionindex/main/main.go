// Command main finds an employee by the address, without the department.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/interpartitionindex"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := interpartitionindex.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	_, err := staff.Employees.Insert(ctx, &interpartitionindex.Employee{Department: "Sales", ID: 223, LastName: "Jones", Email: "JonesJ@contoso.com"})
	if err := errors.Join(err, staff.Drain(ctx)); err != nil { // Run drains all the time
		log.Fatal(err)
	}
	jones, err := staff.ByEmail(ctx, "jonesj@contoso.com")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(jones.Key, jones.Value.LastName)
}
