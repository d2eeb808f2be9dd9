package main

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/table"
)

// tableName is the table of all measurements on recorded responses.
const tableName = "orders"

// sdkClient returns a client as a user of the SDK makes it: the baseline.
func sdkClient(r *replay) (*aztables.ServiceClient, error) {
	o := &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: r}}
	return aztables.NewServiceClientFromConnectionString(r.ConnectionString(), o)
}

// sdkTable is sdkClient for the table.
func sdkTable(r *replay) (*aztables.Client, error) {
	c, err := sdkClient(r)
	if err != nil {
		return nil, err
	}
	return c.NewClient(tableName), nil
}

// ordersOf returns the table of an account, as a user of the library opens it.
func ordersOf(r *replay, o *table.Options) (*table.Table[order], error) {
	return tableOf(r, orderSchema(), o)
}

// tableOf is ordersOf for another type of entities.
func tableOf[T any](r *replay, schema table.Schema[T], o *table.Options) (*table.Table[T], error) {
	acc, err := account.FromTransport(r, nil)
	if err != nil {
		return nil, err
	}
	return bare.NewTable(acc.Tables(), tableName, schema, o)
}

// plainOrders returns the table of a client without the options of the library.
func plainOrders(r *replay, o *table.Options) (*table.Table[order], error) {
	c, err := sdkClient(r)
	if err != nil {
		return nil, err
	}
	return bare.NewTable(c, tableName, orderSchema(), o)
}

// create makes the table, and stores the given orders with the library, past the recorder.
func create(r *replay, orders ...order) error {
	t, err := bare.NewTable(r.service.Tables(), tableName, orderSchema(), nil)
	if err != nil {
		return err
	}
	return fill(t, orders)
}

// fill makes a table, and inserts entities into it.
func fill[T any](t *table.Table[T], all []T) error {
	if err := tabledoor.Ensure(context.Background(), t); err != nil {
		return err
	}
	return insertAll(t, all)
}

func insertAll[T any](t *table.Table[T], all []T) error {
	ctx := context.Background()
	for len(all) > 0 {
		n := min(len(all), 100)
		ops := make([]table.Op, n)
		for i := range ops {
			ops[i] = t.InsertOp(&all[i])
		}
		if _, err := table.Transact(ctx, ops...); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}
