// Command main finds an employee by the address, in any case of letters.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/staffsearch"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := staffsearch.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	if err := staff.Hire(ctx, staffsearch.Employee{Department: "Sales", ID: 223, LastName: "Jones", Email: "JonesJ@contoso.com"}); err != nil {
		log.Fatal(err)
	}
	jones, err := staff.ByEmail(ctx, "Sales", "jonesj@CONTOSO.com")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(jones.Key, jones.Value.LastName)
}
