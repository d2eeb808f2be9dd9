// Command main counts visits of a page, and prints the count of their hour.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/aztablekit/aztablekit/patterns/dataseries"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	site := dataseries.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := site.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	at := time.Date(2014, time.July, 31, 7, 15, 0, 0, time.UTC)
	if _, err := site.Add(ctx, "home", at, 17); err != nil {
		log.Fatal(err)
	}
	day, err := site.Day(ctx, "home", at)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(day[7].Name, day[7].Value, len(day)) // H07 17 24
}
