// Command main uses up a window.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/aztablekit/aztablekit/patterns/ratelimit"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	limit := ratelimit.Open(storagetest.New(nil), nil, 3, time.Minute) // in memory; account.FromEnvironment opens yours
	if err := limit.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for range 4 {
		fmt.Println(limit.Use(ctx, "ann"))
	}
}
