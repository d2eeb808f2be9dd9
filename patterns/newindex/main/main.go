// Command main calls Fill, which does nothing in a new table, and finds an employee by the address.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/newindex"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := newindex.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	err0 := staff.Ensure(ctx)
	_, err1 := staff.Employees.Insert(ctx, &newindex.Employee{Department: "Sales", ID: 2, Email: "bob@contoso.com"})
	_, err2 := staff.Fill(ctx, nil)
	bob, err3 := staff.ByEmail(ctx, "Sales", "Bob@contoso.com")
	if err := errors.Join(err0, err1, err2, err3); err != nil {
		log.Fatal(err)
	}
	fmt.Println(bob.Key, bob.Value.Email)
}
