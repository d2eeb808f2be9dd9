// Command main writes a line of a log, and reads it from its blob.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/patterns/logdatainblobs"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	logs := logdatainblobs.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	check(logs.Ensure(ctx))
	logger, stop, err := logs.Logger(ctx, "shop/orders")
	check(err)
	logger.Info("paid", "order", 17)
	check(stop(ctx))
	for line, err := range logs.Between(ctx, "shop/orders", time.Now().Add(-time.Hour), time.Time{}) {
		check(err)
		fmt.Println(line.Value.Msg, line.Value.Order)
	}
}
