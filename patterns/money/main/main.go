// Command main transfers money, and sends a transfer twice.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/money"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	bank := money.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	bern, zug := money.ID{City: "Bern", Number: 1}, money.ID{City: "Zug", Number: 7}
	if err := errors.Join(bank.Ensure(ctx), bank.OpenAccount(ctx, bern, 100), bank.OpenAccount(ctx, zug, 50)); err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"rent", "rent", "fine"} {
		fmt.Println(id, bank.Transfer(ctx, id, bern, zug, 60))
	}
	fmt.Println(bank.Balances(ctx, bern, zug))
}
