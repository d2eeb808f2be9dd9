package main

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// This file measures tables with secondary indexes.

// emailIndex returns an index of full copies by the address.
func emailIndex(name string) *index.Index[order, string] {
	return index.New(name, keys.Text(), func(o *order) (string, bool) { return o.Email, true }, nil)
}

// withCopies attaches n indexes of full copies.
func withCopies(t *table.Table[order], n int) (*table.Table[order], error) {
	definitions := make([]extend.Definition[order], n)
	for i := range definitions {
		definitions[i] = emailIndex(fmt.Sprint("email", i))
	}
	return baretest.Attach(t, definitions...)
}

// indexedInserts measures Insert with n full copies. The baseline is a transaction of n + 1
// entities of EDMEntity.
func indexedInserts(n int) func() (pair, error) {
	return func() (pair, error) {
		ctx := context.Background()
		base, c, err := sides(ordersOf, nil, 0)
		if err != nil {
			return pair{}, err
		}
		t, err := withCopies(base, n)
		if err != nil {
			return pair{}, err
		}
		o := newOrder(1)
		return pair{
			ours: func() error { _, err := t.Insert(ctx, &o); return err },
			base: func() error {
				actions := make([]aztables.TransactionAction, n+1)
				for i := range actions {
					row := rowKey(o.Number)
					if i > 0 {
						row = fmt.Sprintf("email%d_%s", i-1, o.Email)
					}
					b, err := marshalEDM(&o, row)
					if err != nil {
						return err
					}
					actions[i] = aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: b}
				}
				_, err := c.SubmitTransaction(ctx, actions, nil)
				return err
			},
			entities: n + 1,
		}, nil
	}
}

// indexLists measures a list of 100 full copies of an index. The baseline lists the copies with the
// SDK and decodes with EDMEntity.
func indexLists() (pair, error) {
	const n = 100
	ctx := context.Background()
	r := newReplay()
	byEmail := emailIndex("email")
	stored, err := bare.NewTable(r.service.Tables(), tableName, orderSchema(), nil)
	if err != nil {
		return pair{}, err
	}
	if stored, err = baretest.Attach(stored, byEmail); err != nil {
		return pair{}, err
	}
	all := newOrders(n)
	for i := range all {
		all[i].Email = "user@example.com"
	}
	for from := 0; from < n; from += 20 { // with their copies, fewer rows than a transaction may have
		if err := fill(stored, all[from:from+20]); err != nil {
			return pair{}, err
		}
	}
	base, err := ordersOf(r, nil)
	if err != nil {
		return pair{}, err
	}
	t, err := baretest.Attach(base, byEmail)
	if err != nil {
		return pair{}, err
	}
	c, err := sdkTable(r)
	if err != nil {
		return pair{}, err
	}
	return pair{
		ours: func() error {
			found := 0
			for _, err := range byEmail.List(ctx, t, keys.RawPartition(customer), "user@example.com") {
				if err != nil {
					return err
				}
				found++
			}
			return expect("copies", found, n)
		},
		base: func() error {
			p, err := c.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: to.Ptr("PartitionKey eq 'customer' and RowKey ge 'email_' and RowKey lt 'email`'")}).NextPage(ctx)
			if err != nil {
				return err
			}
			found := make([]order, len(p.Entities))
			for i, b := range p.Entities {
				if err := unmarshalCopyEDM(b, &found[i]); err != nil {
					return err
				}
			}
			return expect("copies", len(found), n)
		},
		entities: n,
	}, nil
}
