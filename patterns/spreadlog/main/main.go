// Command main appends three events, and prints the two newest.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/spreadlog"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	shop := spreadlog.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := shop.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for i := range int32(3) {
		if _, err := shop.Append(ctx, &spreadlog.Event{Number: i}); err != nil {
			log.Fatal(err)
		}
	}
	for event, err := range shop.Newest(ctx, 2) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Value.Number)
	}
}
