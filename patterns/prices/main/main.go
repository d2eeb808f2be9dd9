// Command main stores prices in two programs, one of which was asleep.
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
	for _, cents := range []int64{120, 95} {
		all := prices.Open(account, fmt.Sprint("program for ", cents), nil)
		if err := all.Ensure(ctx); err != nil {
			log.Fatal(err)
		}
		session, err := all.Begin(ctx, "Bern")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(session.Set(ctx, prices.Price{Market: "Bern", Item: "bread", Cents: cents}), session.End(ctx))
		fmt.Println("after the end:", session.Set(ctx, prices.Price{Market: "Bern", Item: "bread", Cents: 1}) != nil)
	}
}
