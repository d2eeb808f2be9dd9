package table_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/table"
)

// emulator serves the examples, which cannot skip themselves: under -short, they are left out here.
var emulator *azurite.Server

// service is its Table service, which all examples share, so that they can open a table twice.
var service table.Service

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		flag.Set("test.skip", "^Example")
		os.Exit(m.Run())
	}
	var err error
	if emulator, err = azurite.Open(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	acc, err := account.FromConnectionString(emulator.ConnectionString, &account.Options{
		Client: azcore.ClientOptions{PerCallPolicies: []policy.Policy{azurite.ASCII{}}},
	})
	check(err)
	service = acc.Tables()
	code := m.Run()
	emulator.Stop()
	os.Exit(code)
}

var examples atomic.Int64

// newTable makes a table that no other example uses.
func newTable[T any](schema table.Schema[T]) *table.Table[T] {
	t, err := table.New(service, fmt.Sprintf("example%dx%x", examples.Add(1), time.Now().UnixNano()), schema, nil)
	check(err)
	check(t.Ensure(context.Background()))
	return t
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// sales is a table of a few employees, under the keys Sales and empid_000001 to empid_000004.
func sales(counter *table.Counter) *table.Table[employee] {
	staff := newTable(staffSchema)
	for i, name := range []string{"Jones", "Smith", "O'Brien", "Müller"} {
		_, err := staff.Insert(context.Background(), &employee{"Sales", i + 1, name, int32(30 + 5*i)})
		check(err)
	}
	if counter == nil {
		return staff
	}
	acc, err := account.FromConnectionString(emulator.ConnectionString, &account.Options{Counter: counter})
	check(err)
	counted, err := table.New(acc.Tables(), staff.Name(), staffSchema, nil)
	check(err)
	return counted
}
