// Command main accepts a parcel, and sends its mail.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/workers"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	send := func(_ context.Context, _ string, p workers.Parcel) error {
		_, err := fmt.Println("mail for parcel", p.ID, "of", p.Shop)
		return err
	}
	shops := workers.Open(storagetest.New(nil), send, nil) // in memory; account.FromEnvironment opens yours
	if err := shops.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	err := shops.Accept(ctx, workers.Parcel{Shop: "Bern", ID: 1})
	if err := errors.Join(err, shops.Drain(ctx)); err != nil { // a worker program calls Work
		log.Fatal(err)
	}
}
