// Command main takes 30 from an account.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/balances"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	bank := balances.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := bank.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := bank.Create(ctx, balances.Account{Owner: "jonesj", Balance: 100}); err != nil {
		log.Fatal(err)
	}
	changed, err := bank.Update(ctx, "jonesj", func(a *balances.Account) error { a.Balance -= 30; return nil })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(changed.Value.Balance)
}
