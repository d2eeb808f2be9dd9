// Command main stores an article, and prints the titles of the search index.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/aztablekit/aztablekit/patterns/searchindex"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	path := filepath.Join(os.TempDir(), fmt.Sprintf("titles-%d.json", os.Getpid()))
	defer os.Remove(path)
	site := searchindex.Open(storagetest.New(nil), path, nil) // in memory; account.FromEnvironment opens yours
	if err := site.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	_, err := site.Articles.Insert(ctx, &searchindex.Article{Section: "News", ID: 1, Title: "Queues for beginners"})
	if err := errors.Join(err, site.Drain(ctx)); err != nil { // a service calls Run
		log.Fatal(err)
	}
	fmt.Println(site.Titles())
}
