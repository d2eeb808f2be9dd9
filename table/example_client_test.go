package table_test

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/table"
)

// A Counter counts requests by kind, in production and in tests.
func ExampleCounter() {
	ctx := context.Background()
	var counter table.Counter
	staff := sales(&counter)
	_, err := staff.Update(ctx, employeeKey("Sales", 1), func(e *employee) error { e.Age++; return nil })
	check(err)
	fmt.Println(counter.Take())
	// Output: 1 get, 1 replace
}

// ClientOptions adds to a client of your own what account's clients have.
func ExampleClientOptions() {
	var counter table.Counter
	options := &aztables.ClientOptions{ClientOptions: table.ClientOptions(azcore.ClientOptions{Transport: memory}, &counter)}
	service, err := aztables.NewServiceClientFromConnectionString(memory.ConnectionString(), options)
	check(err)
	staff, err := table.New(service, sales(nil).Name(), staffSchema, nil)
	check(err)
	_, err = staff.Get(context.Background(), employeeKey("Sales", 1))
	check(err)
	fmt.Println(counter.Take())
	// Output: 1 get
}

// Counts say what a piece of code costs, in production and in a test.
func ExampleCounts() {
	requests := new(table.Counter)
	staff := sales(requests)
	_, err := staff.Update(context.Background(), employeeKey("Sales", 1), func(e *employee) error { e.Age++; return nil })
	check(err)
	n := requests.Take()
	fmt.Println(n, n.Total(), n[table.KindReplace])
	// Output: 1 get, 1 replace 2 1
}
