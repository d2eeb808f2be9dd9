// Command main saves files until the customer's quota is used.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/quota"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	files := quota.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := files.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"plan.pdf", "photo.jpg", "film.mp4", "notes.txt"} {
		switch err := files.Save(ctx, quota.File{Customer: "Acme", Name: name, Bytes: 2 << 20}); {
		case quota.IsFull(err):
			fmt.Println(name, "is refused")
		case err != nil:
			log.Fatal(err)
		}
	}
	fmt.Println(files.Used(ctx, "Acme"))
}
