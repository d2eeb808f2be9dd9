package table_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// memory is the account of all examples. Each example has tables of its own.
var memory = storagetest.New(nil)

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
	company := aztablekit.Open(memory, "company", nil)
	t := declare(company, newName(), schema, o)
	check(company.Ensure(context.Background()))
	return t
}

// newName returns the name of a table of its own.
func newName() string { return fmt.Sprintf("example%dx%x", examples.Add(1), time.Now().UnixNano()) }

// declare declares a table by its schema.
func declare[T any](company *aztablekit.Store, name string, schema table.Schema[T], o *table.Options) *table.Table[T] {
	settings := &aztablekit.Settings[T]{Schema: schema}
	settings.Schema.Partition, settings.Schema.Row = nil, nil
	if o != nil {
		settings.Options = *o
	}
	return aztablekit.Table(company, name, schema.Partition, schema.Row, settings)
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
	hireFour(staff)
	if counter == nil {
		return staff
	}
	return declare(aztablekit.Open(openAccount(counter), "company", nil), staff.Name(), staffSchema, nil)
}

// hireFour inserts the employees of sales.
func hireFour(staff *table.Table[employee]) {
	for i, name := range []string{"Jones", "Smith", "O'Brien", "Müller"} {
		_, err := staff.Insert(context.Background(), &employee{"Sales", i + 1, name, int32(30 + 5*i)})
		check(err)
	}
}

// employeesOf opens a table of employees in an account of an example's own.
func employeesOf(s *storagetest.Service) *table.Table[employee] {
	company := aztablekit.Open(s, "company", nil)
	staff := declare(company, "staff", staffSchema, nil)
	check(company.Ensure(context.Background()))
	check(company.Ensure(context.Background())) // as a program does that starts again, so that no write reads the catalogue
	return staff
}
