package account_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
)

// A program on a developer's machine. A deployed one gives a token credential, such as one of azidentity.
func ExampleFromEnvironment() {
	os.Setenv("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true") // set outside of the program
	defer os.Unsetenv("AZURE_STORAGE_CONNECTION_STRING")
	acc, err := account.FromEnvironment(nil, nil)
	fmt.Println(acc, err)
	// Output: http://127.0.0.1:10002/devstoreaccount1 <nil>
}

// The emulator on its default ports. In production the connection string comes from the environment.
func ExampleFromConnectionString() {
	acc, err := account.FromConnectionString("UseDevelopmentStorage=true", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(acc.Queues().NewQueueClient("notifications").URL())
	// Output: http://127.0.0.1:10001/devstoreaccount1/notifications
}

// A test runs a program on an account in memory.
func ExampleFromTransport() {
	s := storagetest.New(nil)
	acc, err := account.FromTransport(s, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = acc.Queues().NewQueueClient("notifications").Create(context.Background(), nil)
	fmt.Println(s.QueueNames(), err)
	// Output: [notifications] <nil>
}

// Each URL contains a signature for its service. Calls of a service without a URL fail with ErrNoEndpoint.
func ExampleFromSAS() {
	acc, err := account.FromSAS(account.Endpoints{Blob: "https://name.blob.core.windows.net/?sv=2021-12-02&sig=abc"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(acc.Blobs().NewContainerClient("photos").URL())
	// Output: https://name.blob.core.windows.net/photos?sv=2021-12-02&sig=abc
}

// A token credential such as azidentity.NewDefaultAzureCredential signs requests to all services.
func ExampleFromCredential() {
	acc, err := account.FromCredential(account.Endpoints{
		Table: "https://name.table.core.windows.net",
		Queue: "https://name.queue.core.windows.net",
	}, token{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(acc.Queues().NewQueueClient("notifications").URL())
	// Output: https://name.queue.core.windows.net/notifications
}

// An account also returns the clients of the SDK.
func ExampleAccount() {
	acc, err := account.FromConnectionString("UseDevelopmentStorage=true", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(acc.Queues().URL())
	fmt.Println(acc.Blobs().URL())
	fmt.Println(aztablekit.Open(acc, "company", nil).Err())
	// Output:
	// http://127.0.0.1:10001/devstoreaccount1
	// http://127.0.0.1:10000/devstoreaccount1
	// <nil>
}

// The URL allows its holder to read the rows of one user for an hour.
func ExampleAccount_TableSAS() {
	acc, err := account.FromConnectionString("UseDevelopmentStorage=true", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	address, err := acc.TableSAS(account.Grant{
		Table:      "settings",
		Read:       true,
		Partitions: keys.RawPartition("jonesj").Point(),
		Expiry:     time.Now().Add(time.Hour),
		AllowHTTP:  true, // the emulator has no TLS
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	holder, err := account.FromSAS(account.Endpoints{Table: address}, nil)
	fmt.Println(holder.Tables() != nil, err)
	// Output: true <nil>
}

// A user may read her own partition until noon. TableSAS returns the whole URL.
func ExampleGrant() {
	cred, err := aztables.NewSharedKeyCredential("name", "c2VjcmV0LWtleQ==")
	if err != nil {
		fmt.Println(err)
		return
	}
	user := keys.Text()
	query, err := account.Grant{
		Table:      "settings",
		Read:       true,
		Partitions: user.PartitionKey("jonesj@contoso.com").Point(),
		Expiry:     time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
	}.Sign(cred)
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := url.ParseQuery(query)
	fmt.Println(q.Get("tn"), q.Get("sp"), q.Get("se"), q.Get("spk"), q.Get("epk"), err)
	// Output: settings r 2026-11-21T12:00:00Z jonesj@contoso.com jonesj@contoso.com <nil>
}

// What an account may do. It is in memory here, and may do everything.
func ExampleDiagnose() {
	acc, err := account.FromTransport(storagetest.New(nil), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range account.Diagnose(context.Background(), acc, nil)[:3] {
		fmt.Println(f)
	}
	// Output:
	// tables, list tables: ok
	// tables, read rows: ok
	// tables, write rows: ok
}
