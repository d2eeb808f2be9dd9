package main

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/table"
)

// This file measures writes of one entity, and of a transaction.

// sides returns the table of the library and the client of the baseline. Each has a service of its
// own, with the first orders: so each records the response to its own request.
func sides(open opener, o *table.Options, orders int) (*table.Table[order], *aztables.Client, error) {
	ours, theirs := newReplay(), newReplay()
	for _, r := range []*replay{ours, theirs} {
		if err := create(r, newOrders(orders)...); err != nil {
			return nil, nil, err
		}
	}
	t, err := open(ours, o)
	if err != nil {
		return nil, nil, err
	}
	c, err := sdkTable(theirs)
	return t, c, err
}

// blind are the options of writes that send no read: the operations of the SDK send none.
func blind() *table.Options { return &table.Options{BlindWrites: true} }

// inserts measures Insert. The SDK receives the inserted entity in the response, as it asks for by
// default.
func inserts() (pair, error) {
	ctx := context.Background()
	t, c, err := sides(ordersOf, nil, 0)
	if err != nil {
		return pair{}, err
	}
	o := newOrder(1)
	return pair{
		ours: func() error { _, err := t.Insert(ctx, &o); return err },
		base: func() error {
			b, err := marshalEDM(&o, rowKey(o.Number))
			if err == nil {
				_, err = c.AddEntity(ctx, b, nil)
			}
			return err
		},
	}, nil
}

// exactInserts measures Insert of an exact handle in comparison with Insert of a handle that is not
// exact.
func exactInserts() (pair, error) {
	ctx := context.Background()
	t, _, err := sides(ordersOf, nil, 0)
	if err != nil {
		return pair{}, err
	}
	exact := t.Exact()
	first, second := newOrder(1), newOrder(2) // one service records both
	return pair{
		ours: func() error { _, err := exact.Insert(ctx, &first); return err },
		base: func() error { _, err := t.Insert(ctx, &second); return err },
	}, nil
}

// upserts measures a blind Upsert.
func upserts() (pair, error) {
	ctx := context.Background()
	t, c, err := sides(ordersOf, blind(), 1)
	if err != nil {
		return pair{}, err
	}
	o := newOrder(0)
	return pair{
		ours: func() error { _, err := t.Upsert(ctx, &o, table.ReplaceExisting); return err },
		base: func() error {
			b, err := marshalEDM(&o, rowKey(o.Number))
			if err == nil {
				_, err = c.UpsertEntity(ctx, b, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
			}
			return err
		},
	}, nil
}

// replaces measures Replace of a loaded entity.
func replaces() (pair, error) {
	ctx := context.Background()
	t, c, err := sides(ordersOf, nil, 1)
	if err != nil {
		return pair{}, err
	}
	e, err := t.Get(ctx, t.Key(newOrder(0)))
	if err != nil {
		return pair{}, err
	}
	o := newOrder(0)
	loaded, err := c.GetEntity(ctx, customer, rowKey(0), nil)
	if err != nil {
		return pair{}, err
	}
	etag := loaded.ETag
	return pair{
		ours: func() error { return t.Replace(ctx, e) },
		base: func() error {
			b, err := marshalEDM(&o, rowKey(o.Number))
			if err != nil {
				return err
			}
			_, err = c.UpdateEntity(ctx, b, &aztables.UpdateEntityOptions{IfMatch: &etag, UpdateMode: aztables.UpdateModeReplace})
			return err
		},
	}, nil
}

// deletes measures Delete of a loaded entity in comparison with the call of the SDK.
func deletes() (pair, error) {
	ctx := context.Background()
	t, c, err := sides(ordersOf, nil, 1)
	if err != nil {
		return pair{}, err
	}
	e, err := t.Get(ctx, t.Key(newOrder(0)))
	if err != nil {
		return pair{}, err
	}
	row := rowKey(0)
	loaded, err := c.GetEntity(ctx, customer, row, nil)
	if err != nil {
		return pair{}, err
	}
	etag := loaded.ETag
	return pair{
		ours: func() error { again := *e; return t.Delete(ctx, &again) },
		base: func() error {
			_, err := c.DeleteEntity(ctx, customer, row, &aztables.DeleteEntityOptions{IfMatch: &etag})
			return err
		},
	}, nil
}

// transactions measures a transaction of 100 blind upserts. The library returns their ETags. The
// baseline is SubmitTransaction of the bodies that encode returns.
func transactions(open opener, encode func(*order) ([]byte, error)) func() (pair, error) {
	return func() (pair, error) {
		const n = 100
		ctx := context.Background()
		t, c, err := sides(open, blind(), n)
		if err != nil {
			return pair{}, err
		}
		all := newOrders(n)
		return pair{
			ours: func() error {
				ops := make([]table.Op, n)
				for i := range ops {
					ops[i] = t.UpsertOp(&all[i], table.ReplaceExisting)
				}
				receipt, err := table.Transact(ctx, ops...)
				if err == nil {
					err = expect("length of the last ETag", len(table.Stored[order](receipt, n-1).ETag), etagLength)
				}
				return err
			},
			base: func() error {
				actions := make([]aztables.TransactionAction, n)
				for i := range actions {
					b, err := encode(&all[i])
					if err != nil {
						return err
					}
					actions[i] = aztables.TransactionAction{ActionType: aztables.TransactionTypeInsertReplace, Entity: b}
				}
				_, err := c.SubmitTransaction(ctx, actions, nil)
				return err
			},
			entities: n,
		}, nil
	}
}

// etagLength is the length of W/"datetime'2026-11-20T23%3A47%3A59.0152163Z'", which has seven
// digits behind the second.
const etagLength = 46

// encoded returns a function that returns bodies that were encoded before, so that the baseline is
// the call of the SDK alone.
func encoded() func(*order) ([]byte, error) {
	bodies := map[int][]byte{}
	return func(o *order) ([]byte, error) {
		b := bodies[o.Number]
		if b == nil {
			var err error
			if b, err = encodeEDM(o); err != nil {
				return nil, err
			}
			bodies[o.Number] = b
		}
		return b, nil
	}
}
