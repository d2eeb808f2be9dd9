// Command main stores two logins, and prints the newest.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/tablebyday"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	site := tablebyday.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := site.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	if err := site.LogIn(ctx, &tablebyday.Login{User: 1}, &tablebyday.Login{User: 2}); err != nil {
		log.Fatal(err)
	}
	for login, err := range site.Newest(ctx, 1) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(login.Value)
	}
}
