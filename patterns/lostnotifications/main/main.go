// Command main accepts an order and sends its mail; then no notification is due.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/lostnotifications"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	send := func(_ context.Context, _ string, o lostnotifications.Order) error {
		_, err := fmt.Println("mail for order", o.ID, "of", o.Shop)
		return err
	}
	shops := lostnotifications.Open(storagetest.New(nil), send, nil) // in memory; account.FromEnvironment opens yours
	if err := shops.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	if err := shops.Accept(ctx, lostnotifications.Order{Shop: "Bern", ID: 1}); err != nil {
		log.Fatal(err)
	}
	if err := shops.Drain(ctx); err != nil { // a service calls Run
		log.Fatal(err)
	}
	fmt.Println(shops.NotifyAll(ctx)) // after the queue was cleared, for example
}
