// Command main prints the newest of three claims.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/claims"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	company := claims.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	if err := company.Append(ctx, "Sales", &claims.Claim{Employee: 1, Amount: 17}, &claims.Claim{Employee: 2, Amount: 5}, &claims.Claim{Employee: 3, Amount: 9}); err != nil {
		log.Fatal(err)
	}
	for claim, err := range company.Newest(ctx, "Sales", 1) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(claim.Value)
	}
}
