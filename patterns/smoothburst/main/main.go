// Command main stores 500 readings of a meter, at most 1,000 in a second.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/smoothburst"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	meters := smoothburst.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := meters.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	result, err := meters.Record(ctx, 1000, func(yield func(smoothburst.Reading, error) bool) {
		for i := range 500 {
			if !yield(smoothburst.Reading{Meter: "M1", Minute: i, Value: 20.5}, nil) {
				return
			}
		}
	})
	fmt.Println("stored:", result.Changed, err)
}
