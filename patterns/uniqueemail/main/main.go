// Command main hires two employees, of whom one wants the address of the other.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/uniqueemail"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := uniqueemail.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(staff.Hire(ctx, uniqueemail.Employee{Department: "Sales", ID: 223, Email: "JonesJ@contoso.com"}))
	fmt.Println(staff.Hire(ctx, uniqueemail.Employee{Department: "Marketing", ID: 300, Email: "jonesj@contoso.com"}))
	jones, err := staff.LogIn(ctx, "jonesj@CONTOSO.com")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(jones)
}
