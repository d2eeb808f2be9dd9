// Command main prints the newer of two claims.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/aztablekit/aztablekit/patterns/sortedkeys"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	company := sortedkeys.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for day := 16; day < 18; day++ {
		if _, err := company.Claims.Insert(ctx, &sortedkeys.Claim{Employee: "jonesj", Submitted: time.Date(2026, 11, day, 9, 0, 0, 0, time.UTC)}); err != nil {
			log.Fatal(err)
		}
	}
	newest, err := company.Claims.Page(ctx, sortedkeys.Newest("jonesj", 1), "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(newest.Entities[0])
}
