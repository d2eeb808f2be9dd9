package table_test

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/table"
)

// ClientOptions adds to a client of your own what account's clients have.
func ExampleClientOptions() {
	var counter requests.Counter
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
