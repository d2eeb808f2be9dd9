// Command main logs a user in with a code, twice.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/aztablekit/aztablekit/patterns/logins"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
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
		switch err := l.Begin(ctx, "ann", "123456", session, time.Hour); {
		case errors.Is(err, table.ErrNotFound):
			fmt.Println(session, "is refused: the code was used")
		case err != nil:
			log.Fatal(err)
		}
	}
	fmt.Println(l.Count(ctx, "ann"))
}
