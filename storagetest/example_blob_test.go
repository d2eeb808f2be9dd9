package storagetest_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"

	"github.com/aztablekit/aztablekit/storagetest"
)

// After the lost response of an append, the SDK's client appends the block again. With the position of the block, the second
// attempt fails, and the blob contains the block once.
func ExampleService_StoredBlobs() {
	ctx := context.Background()
	s := storagetest.New(nil)
	logs := s.Blobs().NewContainerClient("logs")
	_, err := logs.Create(ctx, nil)
	check(err)
	app := logs.NewAppendBlobClient("app.log")
	_, err = app.Create(ctx, nil)
	check(err)

	s.SetFaults(storagetest.OfKind("blob-append", storagetest.Once(storagetest.LostResponse())))
	at := int64(0)
	_, err = app.AppendBlock(ctx, streaming.NopCloser(strings.NewReader("Jones hired\n")), &appendblob.AppendBlockOptions{
		AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: &at},
	})
	fmt.Println(code(err))
	b := s.StoredBlobs("logs")[0]
	fmt.Printf("%s %s %d %q\n", b.Name, b.Type, len(b.Blocks), b.Content())
	for _, r := range s.Requests()[2:] {
		fmt.Println(r)
	}
	// Output:
	// AppendPositionConditionNotMet
	// app.log AppendBlob 1 "Jones hired\n"
	// 3 blob-append logs/app.log [response lost]: 201
	// 4 blob-append logs/app.log: 412 AppendPositionConditionNotMet
}

// A test looks at the containers that a program has created.
func ExampleService_ContainerNames() {
	ctx := context.Background()
	s := storagetest.New(nil)
	for _, name := range []string{"photos", "logs"} {
		_, err := s.Blobs().CreateContainer(ctx, name, nil)
		check(err)
	}
	fmt.Println(s.ContainerNames())
	// Output: [logs photos]
}
