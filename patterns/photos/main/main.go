// Command main hires an employee with a photo, and reads the photo.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/aztablekit/aztablekit/patterns/photos"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := photos.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	if err := staff.Hire(ctx, photos.Employee{Department: "Sales", ID: 223}, strings.NewReader(strings.Repeat("photo---", 10_000))); err != nil {
		log.Fatal(err)
	}
	photo, jones, err := staff.OpenPhoto(ctx, "Sales", 223)
	if err != nil {
		log.Fatal(err)
	}
	n, err := io.Copy(io.Discard, photo)
	fmt.Println(jones.Key, n, err, photo.Close())
}
