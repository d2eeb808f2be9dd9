package account_test

import (
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// An emulator on its default ports; in production the connection string comes from the environment.
func ExampleFromConnectionString() {
	acc, err := account.FromConnectionString("UseDevelopmentStorage=true", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(acc.Queue("hints").URL())
	// Output: http://127.0.0.1:10001/devstoreaccount1/hints
}

// Each URL carries a signature of its own. What is left out can be asked for, and says so when it is used.
func ExampleFromSAS() {
	acc, err := account.FromSAS(account.Endpoints{Blob: "https://name.blob.core.windows.net/?sv=2021-12-02&sig=abc"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(acc.Container("photos").URL())
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
	fmt.Println(acc.Queue("hints").URL())
	// Output: https://name.queue.core.windows.net/hints
}

// The SDK's clients, configured, for whatever else a program does.
func ExampleAccount() {
	acc, err := account.FromConnectionString("UseDevelopmentStorage=true", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(acc.Queues().URL())
	fmt.Println(acc.Blobs().URL())
	_, err = table.New(acc.Tables(), "staff", table.Schema[struct{ Name string }]{}, nil)
	fmt.Println(err)
	// Output:
	// http://127.0.0.1:10001/devstoreaccount1
	// http://127.0.0.1:10000/devstoreaccount1
	// <nil>
}

// A URL that lets its holder read one user's rows for an hour, and nothing else.
func ExampleAccount_TableSAS() {
	acc, err := account.FromConnectionString("UseDevelopmentStorage=true", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	url, err := acc.TableSAS(table.Grant{
		Table:      "settings",
		Read:       true,
		Partitions: keys.Point(keys.Raw("jonesj")),
		Expiry:     time.Now().Add(time.Hour),
		AllowHTTP:  true, // the emulator's
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	holder, err := account.FromSAS(account.Endpoints{Table: url}, nil)
	fmt.Println(holder.Tables() != nil, err)
	// Output: true <nil>
}
