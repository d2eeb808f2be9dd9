// Command main creates stacks until the quota of the team is used up, and deletes one.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/stacks"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	all := stacks.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := errors.Join(all.Ensure(ctx), all.Allow(ctx, "web", 1)); err != nil {
		log.Fatal(err)
	}
	redis := stacks.Chart{Name: "redis", Version: "1.2"}
	fmt.Println(all.Create(ctx, "web", "shop", redis), all.Create(ctx, "web", "mail", redis))
	fmt.Println(all.Get(ctx, "web", "shop"))
	fmt.Println(all.Delete(ctx, "web", "shop"), all.Create(ctx, "web", "mail", redis))
}
