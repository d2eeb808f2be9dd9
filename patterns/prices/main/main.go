// Command main computes the prices of a day in two programs, of which one does it.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/prices"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	account := storagetest.New(nil) // in memory; account.FromEnvironment opens yours
	for _, program := range []string{"program 1", "program 2"} {
		all := prices.Open(account, program, nil)
		if err := all.Ensure(ctx); err != nil {
			log.Fatal(err)
		}
		fmt.Println(program, "ends:", all.Compute(ctx, "Bern", "2026-11-29", func(context.Context) ([]prices.Price, error) {
			fmt.Println(program, "computes")
			return []prices.Price{{Market: "Bern", Item: "bread", Cents: 120}}, nil
		}))
	}
}
