// Command main logs a user in with a code, twice.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/aztablekit/aztablekit/patterns/logins"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	l := logins.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := l.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	if err := l.Send(ctx, "ann", "123456", 10*time.Minute); err != nil {
		log.Fatal(err)
	}
	for _, session := range []string{"first", "second"} {
		fmt.Println(session, l.Begin(ctx, "ann", "123456", session, time.Hour))
	}
	fmt.Println(l.Count(ctx, "ann"))
}
