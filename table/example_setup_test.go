package table_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// memory is the account of all examples. Each example has tables of its own.
var memory = storagetest.New(nil)

// service is its Table service.
var service = openAccount(nil).Tables()

// openAccount opens the account with a counter of requests.
func openAccount(counter *requests.Counter) *account.Account {
	acc, err := account.FromTransport(memory, &account.Options{Counter: counter})
	check(err)
	return acc
}

var examples atomic.Int64

// newTable creates a table of its own for an example.
func newTable[T any](schema table.Schema[T]) *table.Table[T] {
	o := &table.Options{}
	o.OmitOperationID = true // so that the output is the same each time
	return newTableWith(schema, o)
}

// newTableWith creates a table with options.
func newTableWith[T any](schema table.Schema[T], o *table.Options) *table.Table[T] {
	t, err := table.New(service, fmt.Sprintf("example%dx%x", examples.Add(1), time.Now().UnixNano()), schema, o)
	check(err)
	check(t.Ensure(context.Background()))
	return t
}

// check keeps examples short. A program returns its errors.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// sales returns a table of four employees, with the keys Sales and empid_000001 to empid_000004.
func sales(counter *requests.Counter) *table.Table[employee] {
	staff := newTable(staffSchema)
	for i, name := range []string{"Jones", "Smith", "O'Brien", "Müller"} {
		_, err := staff.Insert(context.Background(), &employee{"Sales", i + 1, name, int32(30 + 5*i)})
		check(err)
	}
	if counter == nil {
		return staff
	}
	counted, err := table.New(openAccount(counter).Tables(), staff.Name(), staffSchema, nil)
	check(err)
	return counted
}

// employeesOf opens a table of employees in an account of an example's own.
func employeesOf(s *storagetest.Service) *table.Table[employee] {
	staff, err := table.New(s.Tables(), "staff", staffSchema, nil)
	check(err)
	check(staff.Ensure(context.Background()))
	return staff
}
