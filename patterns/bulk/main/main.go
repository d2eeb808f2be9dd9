// Command main stores 600 employees of three departments, and deletes those of Sales who are 60 or older.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aztablekit/aztablekit/patterns/bulk"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	ctx := context.Background()
	staff := bulk.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := staff.Ensure(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(staff.Import(ctx, func(yield func(bulk.Employee, error) bool) {
		for i := range 600 {
			if !yield(bulk.Employee{Department: []string{"Finance", "Marketing", "Sales"}[i%3], ID: i, Age: int32(20 + i%45)}, nil) {
				return
			}
		}
	}))
	fmt.Println(staff.Retire(ctx, "Sales", 60))
}
