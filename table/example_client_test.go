package table_test

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/table"
)

// programClients are the clients of a program: an account for aztablekit.Open.
type programClients struct{ tables *aztables.ServiceClient }

func (c programClients) Tables() *aztables.ServiceClient { return c.tables }
func (c programClients) Queues() *azqueue.ServiceClient  { return memory.Queues() }

// ClientOptions adds to a client of your own what account's clients have.
func ExampleClientOptions() {
	var counter requests.Counter
	options := &aztables.ClientOptions{ClientOptions: table.ClientOptions(azcore.ClientOptions{Transport: memory}, &counter)}
	service, err := aztables.NewServiceClientFromConnectionString(memory.ConnectionString(), options)
	check(err)
	company := aztablekit.Open(programClients{service}, "company", nil)
	staff := aztablekit.Table(company, sales(nil).Name(), staffSchema.Partition, staffSchema.Row)
	_, err = staff.Get(context.Background(), employeeKey("Sales", 1))
	check(err)
	fmt.Println(counter.Take())
	// Output: 1 get
}
