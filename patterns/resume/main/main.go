// Command main lists three employees in pages of two.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/resume"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := resume.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	if err := staff.Hire(ctx, "Sales", 1, 2, 3); err != nil {
		log.Fatal(err)
	}
	for token, more := "", true; more; more = token != "" {
		page, err := staff.Page(ctx, "Sales", token, 2)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(page.Entities)
		token = page.Token
	}
}
