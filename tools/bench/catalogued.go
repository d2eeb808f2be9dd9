package main

import (
	"context"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// This file measures what the catalogue of a table costs: a handle of a store, which goes by the
// catalogue, beside a handle without a store.

// cataloguedSides opens a table with an index by a store, and by a handle without one. Both contain
// orders with one address.
func cataloguedSides(orders int) (byStore, byAttach *table.Table[order], byEmail *index.Index[order, string], err error) {
	ctx := context.Background()
	byEmail = emailIndex("email")
	all := newOrders(orders)
	for i := range all {
		all[i].Email = "user@example.com"
	}
	ours, base := newReplay(), newReplay()
	own := aztablekit.Open(ours.service, "bench", nil)
	t := aztablekit.Table(own, tableName, orderSchema().Partition, orderSchema().Row, byEmail)
	if err := own.Ensure(ctx); err != nil {
		return nil, nil, nil, err
	}
	if err := insertInParts(t, all); err != nil {
		return nil, nil, nil, err
	}
	acc, err := account.FromTransport(ours, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	byEmail = emailIndex("email")
	byStore = aztablekit.Table(aztablekit.Open(acc, "bench", nil), tableName, orderSchema().Partition, orderSchema().Row, byEmail)

	stored, err := bare.NewTable(base.service.Tables(), tableName, orderSchema(), nil)
	if err == nil {
		stored, err = baretest.Attach(stored, byEmail)
	}
	if err == nil {
		err = tabledoor.Ensure(ctx, stored)
	}
	if err == nil {
		err = insertInParts(stored, all)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	plain, err := ordersOf(base, nil)
	if err == nil {
		byAttach, err = baretest.Attach(plain, byEmail)
	}
	return byStore, byAttach, byEmail, err
}

// insertInParts is insertAll for entities with copies, fewer rows at a time than a transaction may
// have.
func insertInParts(t *table.Table[order], all []order) error {
	for from := 0; from < len(all); from += 20 {
		if err := insertAll(t, all[from:min(from+20, len(all))]); err != nil {
			return err
		}
	}
	return nil
}

// cataloguedInserts measures Insert with a full copy. The baseline is the same by a handle without
// a store.
func cataloguedInserts() (pair, error) {
	ctx := context.Background()
	byStore, byAttach, _, err := cataloguedSides(1)
	o := newOrder(7)
	insert := func(t *table.Table[order]) func() error {
		return func() error { _, err := t.Insert(ctx, &o); return err }
	}
	return pair{ours: insert(byStore), base: insert(byAttach)}, err
}

// cataloguedLists measures a list of 100 full copies of an index. The baseline is the same by a
// handle without a store.
func cataloguedLists() (pair, error) {
	const n = 100
	ctx := context.Background()
	byStore, byAttach, byEmail, err := cataloguedSides(n)
	list := func(t *table.Table[order]) func() error {
		return func() error {
			all, err := table.Collect(byEmail.List(ctx, t, keys.RawPartition(customer), "user@example.com"))
			if err != nil {
				return err
			}
			return expect("copies", len(all), n)
		}
	}
	return pair{ours: list(byStore), base: list(byAttach)}, err
}

// cataloguedLookUps measures Get by an index. The baseline is the same by a handle without a store.
func cataloguedLookUps() (pair, error) {
	ctx := context.Background()
	byStore, byAttach, byEmail, err := cataloguedSides(1)
	get := func(t *table.Table[order]) func() error {
		return func() error {
			_, err := byEmail.Get(ctx, t, keys.RawPartition(customer), "user@example.com")
			return err
		}
	}
	return pair{ours: get(byStore), base: get(byAttach)}, err
}
