// Command main lets two programs lead, one after the other.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/dispatch"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	account := storagetest.New(nil) // in memory; account.FromEnvironment opens yours
	for _, name := range []string{"program 1", "program 2"} {
		p := dispatch.Open(account, name, nil)
		if err := p.Ensure(ctx); err != nil {
			log.Fatal(err)
		}
		err := p.Lead(ctx, "mail", func(ctx context.Context, l *dispatch.Leader) error {
			return l.Give(ctx, "mail", "letter", "a worker of "+name)
		})
		fmt.Println(name, err)
	}
	for t, err := range dispatch.Open(account, "", nil).Given(ctx, "mail") {
		fmt.Println(t, err)
	}
}
