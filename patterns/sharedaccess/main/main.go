// Command main stores a setting, and prints what its user may do with a URL.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/aztablekit/aztablekit/patterns/sharedaccess"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	company := sharedaccess.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := company.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := company.Settings.Insert(ctx, &sharedaccess.Setting{User: "jonesj", Name: "color", Value: "blue"}); err != nil {
		log.Fatal(err)
	}
	g := company.Grant("jonesj", time.Now().Add(time.Hour))
	fmt.Println(g.Table, g.Partitions, "read", g.Read, "add", g.Add, "update", g.Update, "delete", g.Delete)
}
