// Command main calls Fill, which does nothing in a new table, and finds the open orders of a customer.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/aztablekit/aztablekit/patterns/oldorders"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	orders := oldorders.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := orders.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	_, err1 := orders.Table.Insert(ctx, &oldorders.Order{Customer: "acme", ID: "1001", Status: "open", Cents: 1999, Placed: time.Now()})
	_, err2 := orders.Fill(ctx, nil)
	if err := errors.Join(err1, err2); err != nil {
		log.Fatal(err)
	}
	for o, err := range orders.ByStatus(ctx, "acme", "open") {
		fmt.Println(o.Value.ID, o.Value.Cents, err)
	}
}
