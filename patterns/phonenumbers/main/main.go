// Command main gives the phone numbers of all customers one form.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/phonenumbers"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	customers := phonenumbers.Open(storagetest.New(nil), nil, nil) // in memory; account.FromEnvironment opens yours
	if err := customers.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for i, city := range []string{"Bern", "Ulm"} {
		if _, err := customers.Table.Insert(ctx, &phonenumbers.Customer{City: city, ID: i, Phone: "044 360 00 0" + fmt.Sprint(i)}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(customers.Cleanse.Start(ctx, customers.Table, "2026", "+41", nil))
	fmt.Println(customers.Drain(ctx)) // a worker program calls Run
	status, err := customers.Cleanse.Status(ctx, customers.Table, "2026")
	fmt.Println(status.State, status.Changed, err)
}
