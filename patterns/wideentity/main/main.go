// Command main stores a page of three rows, and reads it.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/aztablekit/aztablekit/patterns/wideentity"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	sites := wideentity.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := sites.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	page := wideentity.Page{Site: "blog", Path: "home", Title: "Home", Visits: make([]int32, 365), Article: strings.Repeat("An article. ", 50_000)}
	if _, err := sites.Add(ctx, page); err != nil {
		log.Fatal(err)
	}
	got, err := sites.Page(ctx, "blog", "home")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.Key, len(got.Value.Visits), len(got.Value.Article))
}
