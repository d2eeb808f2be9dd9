package main

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// This file measures reads of one entity and of a page.

// ordersFilter is the filter of a list of the orders: the rows of the schema, as the library's
// query.
const ordersFilter = "PartitionKey eq 'customer' and RowKey ge 'order_' and RowKey lt 'order`'"

// opener opens the table of the library's side: ordersOf or plainOrders.
type opener func(*replay, *table.Options) (*table.Table[order], error)

// gets measures Get. The baseline is the call of the SDK, followed by decode; nil discards the bytes.
func gets(open opener, decode func([]byte, *order) error) func() (pair, error) {
	return func() (pair, error) {
		ctx := context.Background()
		r := newReplay()
		if err := create(r, newOrders(100)...); err != nil {
			return pair{}, err
		}
		t, err := open(r, nil)
		if err != nil {
			return pair{}, err
		}
		c, err := sdkTable(r)
		if err != nil {
			return pair{}, err
		}
		key, row := t.Key(newOrder(42)), rowKey(42)
		return pair{
			ours: func() error { _, err := t.Get(ctx, key); return err },
			base: func() error {
				got, err := c.GetEntity(ctx, customer, row, nil)
				if err != nil || decode == nil {
					return err
				}
				var o order
				return decode(got.Value, &o)
			},
			entities: 1,
		}, nil
	}
}

// pages measures a page of a list. The baseline is the pager of the SDK, followed by decode; nil discards the bytes.
func pages(open opener, decode func([][]byte) ([]order, error)) func() (pair, error) {
	return func() (pair, error) {
		ctx := context.Background()
		r := newReplay()
		if err := create(r, newOrders(pageSize)...); err != nil {
			return pair{}, err
		}
		t, err := open(r, nil)
		if err != nil {
			return pair{}, err
		}
		c, err := sdkTable(r)
		if err != nil {
			return pair{}, err
		}
		q := table.Query[order]{Partition: keys.RawPartition(customer)}
		return pair{
			ours: func() error {
				p, err := t.Page(ctx, q, "")
				if err == nil {
					err = expect("entities of a page", len(p.Entities), pageSize)
				}
				return err
			},
			base: func() error {
				o := &aztables.ListEntitiesOptions{Filter: to.Ptr(ordersFilter), Top: to.Ptr[int32](pageSize)}
				p, err := c.NewListEntitiesPager(o).NextPage(ctx)
				if err != nil {
					return err
				}
				if decode == nil {
					return expect("entities of a page", len(p.Entities), pageSize)
				}
				all, err := decode(p.Entities)
				return checkOrders(all, pageSize, err)
			},
			entities: pageSize,
		}, nil
	}
}
