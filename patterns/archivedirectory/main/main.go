// Command main moves a report to a file, and finds it there.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/aztablekit/aztablekit/patterns/archivedirectory"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "reports")
	defer os.RemoveAll(folder)
	reports := archivedirectory.Open(storagetest.New(nil), folder, nil) // in memory; account.FromEnvironment opens yours
	if err := errors.Join(err, reports.Ensure(ctx)); err != nil {
		log.Fatal(err)
	}
	e, err := reports.Current.Insert(ctx, &archivedirectory.Report{Department: "Sales", Number: 1, Title: "Sales of last year"})
	if err := errors.Join(err, reports.Archive(ctx, e), reports.Drain(ctx)); err != nil { // a service calls Run
		log.Fatal(err)
	}
	fmt.Println(reports.Find(ctx, "Sales", 1))
}
