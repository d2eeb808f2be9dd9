package storagetest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/storagetest"
)

// A program reads from the second location when the first one does not answer. How old may the answers be?
func ExampleService_SetLag() {
	ctx := context.Background()
	s := storagetest.New(&storagetest.Options{GeoRedundant: true})
	staff := s.Tables().NewClient("staff")
	if _, err := staff.CreateTable(ctx, nil); err != nil {
		panic(err)
	}
	second, err := aztables.NewServiceClientFromConnectionString(s.SecondaryConnectionString(), &aztables.ClientOptions{
		ClientOptions: azcore.ClientOptions{Transport: s},
	})
	if err != nil {
		panic(err)
	}

	s.SetLag(10 * time.Minute)
	if _, err := staff.AddEntity(ctx, []byte(`{"PartitionKey":"Sales","RowKey":"000223"}`), nil); err != nil {
		panic(err)
	}
	_, err = second.NewClient("staff").GetEntity(ctx, "Sales", "000223", nil)
	fmt.Println("at once:", err != nil)

	s.Advance(10 * time.Minute)
	_, err = second.NewClient("staff").GetEntity(ctx, "Sales", "000223", nil)
	fmt.Println("after the lag:", err != nil)
	// Output:
	// at once: true
	// after the lag: false
}
