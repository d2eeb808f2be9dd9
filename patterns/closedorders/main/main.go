// Command main moves the closed orders of past months.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/closedorders"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	orders := closedorders.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := orders.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for n, month := range []string{"202601", "202601", "202602", "202603"} {
		if _, err := orders.Current.Insert(ctx, &closedorders.Order{Month: month, Number: n, Customer: "Acme", Open: n == 1}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(orders.ArchiveBefore(ctx, "202603"))
}
