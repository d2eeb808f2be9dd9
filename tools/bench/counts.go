package main

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"
	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit/valuestest"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/table"
)

// This file counts the requests of operations (P20).

// counts returns the goals for numbers of requests.
func counts() []count {
	// withCopies counts the requests of f, in a table with three indexes of full copies.
	withCopies := func(f func(context.Context, *table.Table[order], *table.Entity[order]) error) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			return countIndexed(ctx, f, emailIndex("first"), emailIndex("second"), emailIndex("third"))
		}
	}
	byCopy, byPointer := emailIndex("email"), pointerIndex("email")
	return []count{
		{"write of a loaded entity, 3 index rows", 1, withCopies(func(ctx context.Context, t *table.Table[order], e *table.Entity[order]) error {
			e.Value.Email = "other@example.com"
			return t.Replace(ctx, e)
		})},
		{"Upsert by key, 3 index rows", 2, withCopies(func(ctx context.Context, t *table.Table[order], e *table.Entity[order]) error {
			_, err := t.Upsert(ctx, &e.Value, table.ReplaceExisting)
			return err
		})},
		{"MergeAny by key, 3 index rows", 2, withCopies(func(ctx context.Context, t *table.Table[order], e *table.Entity[order]) error {
			return t.MergeAny(ctx, e.Key, table.FieldOf(func(o *order) *int32 { return &o.Count }).Set(1))
		})},
		{"DeleteAny by key, 3 index rows", 2, withCopies(func(ctx context.Context, t *table.Table[order], e *table.Entity[order]) error {
			return t.DeleteAny(ctx, e.Key)
		})},
		{"look-up by a full copy", 1, func(ctx context.Context) (int, error) { return countLookUp(ctx, byCopy, nil) }},
		{"look-up by a pointer", 2, func(ctx context.Context) (int, error) { return countLookUp(ctx, byPointer, nil) }},
		{"Replace of an entity of a copy, with the look-up", 3, func(ctx context.Context) (int, error) {
			return countLookUp(ctx, byCopy, func(t *table.Table[order], e *table.Entity[order]) error { return t.Replace(ctx, e) })
		}},
		{"index list of 5 entities, by pointers", 6, countPointerList},
		{"change that moves no row elsewhere, loaded", 1, func(ctx context.Context) (int, error) { return countElsewhere(ctx, false, false, false) }},
		{"change that moves a row elsewhere, loaded", 3, func(ctx context.Context) (int, error) { return countElsewhere(ctx, true, false, false) }},
		{"change that moves a row elsewhere, by key", 4, func(ctx context.Context) (int, error) { return countElsewhere(ctx, true, true, false) }},
		{"worker of this change, which has 2 rows", 9, func(ctx context.Context) (int, error) { return countElsewhere(ctx, true, false, true) }},
		{"archive: request of a move, loaded", 3, func(ctx context.Context) (int, error) { return countMove(ctx, false) }},
		{"archive: worker of a move", 7, func(ctx context.Context) (int, error) { return countMove(ctx, true) }},
		{"log: Append", 1, func(ctx context.Context) (int, error) { return countLog(ctx, 10, 0) }},
		{"log: the 2,500 newest records", 3, func(ctx context.Context) (int, error) { return countLog(ctx, 2600, 2500) }},
		{"log: drop of a period, besides the list of periods", 3, countPeriod},
		{"entity with parts: Insert", 1, func(ctx context.Context) (int, error) { return countParts(ctx, true) }},
		{"entity with parts: Get", 1, func(ctx context.Context) (int, error) { return countParts(ctx, false) }},
		{"large value: write", 2, func(ctx context.Context) (int, error) { return countLarge(ctx, "write") }},
		{"large value: replace, and reclaim the old value", 4, func(ctx context.Context) (int, error) { return countLarge(ctx, "replace") }},
		{"large value: read", 2, func(ctx context.Context) (int, error) { return countLarge(ctx, "read") }},
		{"delete of 250 known entities of a partition", 3, countDeletes},
		{"transaction of 100 with ETags, plain client", 1, countPlainTransaction},
	}
}

// pointerIndex is emailIndex with rows that contain only the keys of the orders.
func pointerIndex(name string) *index.Index[order, string] {
	return index.New(name, keys.Text(), func(o *order) (string, bool) { return o.Email, true }, nil).Only()
}

// countIndexed counts the requests of f on a loaded entity with indexes.
func countIndexed(ctx context.Context, f func(context.Context, *table.Table[order], *table.Entity[order]) error, definitions ...extend.Definition[order]) (int, error) {
	o, err := openOffice(ctx)
	if err != nil {
		return 0, err
	}
	t, e, err := o.maintained(ctx, definitions...)
	if err != nil {
		return 0, err
	}
	return o.requests(func() error { return f(ctx, t, e) })
}

// countLookUp counts the requests of a look-up, and of what is done with the entity.
func countLookUp(ctx context.Context, by *index.Index[order, string], then func(*table.Table[order], *table.Entity[order]) error) (int, error) {
	return countIndexed(ctx, func(ctx context.Context, t *table.Table[order], e *table.Entity[order]) error {
		found, err := by.Get(ctx, t, e.Key.Partition(), e.Value.Email)
		if err == nil && then != nil {
			err = then(t, found)
		}
		return err
	}, by)
}

// countPointerList counts the requests of a list of five entities by pointers.
func countPointerList(ctx context.Context) (int, error) {
	const n = 5
	by := pointerIndex("email")
	o, err := openOffice(ctx)
	if err != nil {
		return 0, err
	}
	t, err := baretest.Attach(o.base, by)
	if err != nil {
		return 0, err
	}
	all := newOrders(n)
	for i := range all {
		all[i].Email = all[0].Email
	}
	if err := fill(t, all); err != nil {
		return 0, err
	}
	return o.requests(func() error {
		found, err := table.Collect(by.List(ctx, t, keys.RawPartition(customer), all[0].Email))
		if err == nil {
			err = expect("entities", len(found), n)
		}
		return err
	})
}

// countElsewhere counts the requests of a change of an entity that has a copy in another table:
// those of the writer, or those of the worker.
func countElsewhere(ctx context.Context, moves, byKey, ofWorker bool) (int, error) {
	o, err := openOffice(ctx)
	if err != nil {
		return 0, err
	}
	byEmail := index.NewGlobal("email", keys.Text(), func(o *order) (string, bool) { return o.Email, true }, nil).Only(table.FieldOf(func(o *order) *string { return &o.Email }))
	t, e, err := o.elsewhere(ctx, byEmail)
	if err != nil {
		return 0, err
	}
	e.Value.Count++
	if moves {
		e.Value.Email = "other@example.com"
	}
	n, err := o.requests(func() error {
		if byKey {
			_, err := t.Upsert(ctx, &e.Value, table.ReplaceExisting)
			return err
		}
		return t.Replace(ctx, e)
	})
	if err == nil && ofWorker {
		n, err = o.ofWorker(ctx, baretest.Handlers(t)[0])
	}
	return n, err
}

// countMove counts the requests of a move to another table: those of the requester, or those of the
// worker.
func countMove(ctx context.Context, ofWorker bool) (int, error) {
	o, err := openOffice(ctx)
	if err != nil {
		return 0, err
	}
	old, err := workertest.Place(&host.Host{Tables: o.acc.Tables()}, archive.ToTable("archive", nil))
	if err != nil {
		return 0, err
	}
	if err := old.Ensure(ctx); err != nil {
		return 0, err
	}
	mover, err := workertest.NewMover("orders/archive", o.base, old, o.outbox)
	if err != nil {
		return 0, err
	}
	v := newOrder(1)
	if _, err := o.base.Insert(ctx, &v); err != nil {
		return 0, err
	}
	e, err := o.base.Get(ctx, o.base.Key(v))
	if err != nil {
		return 0, err
	}
	n, err := o.requests(func() error { return mover.Archive(ctx, e) })
	if err == nil && ofWorker {
		n, err = o.ofWorker(ctx, mover.Handler)
	}
	return n, err
}

// event is a record of a log.
type event struct{ Number int }

// countLog counts the requests of one more Append, or of a read of the newest records.
func countLog(ctx context.Context, stored, read int) (int, error) {
	o, err := openOffice(ctx)
	if err != nil {
		return 0, err
	}
	var declared baretest.Registry
	log := logtail.New[event](&host.Host{Tables: o.acc.Tables(), Registry: &declared}, "events", nil)
	if err := declared.Ensure(ctx); err != nil {
		return 0, err
	}
	all := make([]*event, stored)
	for i := range all {
		all[i] = &event{i}
	}
	if _, err := log.AppendAll(ctx, all...); err != nil {
		return 0, err
	}
	return o.requests(func() error {
		if read == 0 {
			_, err := log.Append(ctx, &event{stored})
			return err
		}
		found, err := table.Collect(log.Tail(ctx, read))
		if err == nil {
			err = expect("records", len(found), read)
		}
		return err
	})
}

// countPeriod counts the requests that drop one period of a log.
func countPeriod(ctx context.Context) (int, error) {
	o, err := openOffice(ctx)
	if err != nil {
		return 0, err
	}
	byDays := logtail.NewByPeriod[struct{}](&host.Host{Tables: o.acc.Tables()}, "events", &logtail.PeriodOptions{Common: options.At(o.service.Now), Keep: 1}, nil)
	days := byDays.Periods()
	if _, err := days.Create(ctx); err != nil {
		return 0, err
	}
	o.service.Advance(2 * 24 * time.Hour)
	list, err := o.requests(func() error { _, err := days.Drop(ctx, &table.Pass{DryRun: true}); return err })
	if err != nil {
		return 0, err
	}
	n, err := o.requests(func() error {
		dropped, err := days.Drop(ctx, nil)
		if err == nil {
			err = expect("dropped periods", len(dropped), 1)
		}
		return err
	})
	return n - list, err
}

// countParts counts the requests of an entity with parts.
func countParts(ctx context.Context, insert bool) (int, error) {
	o, err := openOffice(ctx)
	if err != nil {
		return 0, err
	}
	films, err := bare.NewTable(o.acc.Tables(), tableName, filmSchema(), nil)
	if err != nil {
		return 0, err
	}
	v := film{"site", "name", data(reelSize, 0)}
	n, err := o.requests(func() error { _, err := films.Insert(ctx, &v); return err })
	if err != nil || insert {
		return n, err
	}
	return o.requests(func() error { _, err := films.Get(ctx, films.Key(v)); return err })
}

// album is an entity with a value in a blob.
type album struct {
	Site, Name string
	Photo      largeentity.Blob
}

// countLarge counts the requests to write, replace or read a value in a blob.
func countLarge(ctx context.Context, operation string) (int, error) {
	o, err := openOffice(ctx)
	if err != nil {
		return 0, err
	}
	base, err := bare.NewTable(o.acc.Tables(), tableName, table.Schema[album]{
		Partition: keys.Partition(keys.Text(), func(a *album) *string { return &a.Site }),
		Row:       keys.Row(keys.Text(), func(a *album) *string { return &a.Name }),
	}, nil)
	if err != nil {
		return 0, err
	}
	photos, albums, err := valuestest.New(base, o.acc, "photos", &largeentity.Options{Common: options.At(o.service.Now)})
	if err != nil {
		return 0, err
	}
	if err := photos.Ensure(ctx); err != nil {
		return 0, err
	}
	key := keys.At(keys.RawPartition("site"), keys.RawRow("name"))
	upload := func(seed int) (largeentity.Blob, error) {
		return photos.Upload(ctx, key, bytes.NewReader(data(200_000, seed)), "")
	}
	var e *table.Entity[album]
	n, err := o.requests(func() error {
		photo, err := upload(0)
		if err == nil {
			e, err = albums.Insert(ctx, &album{"site", "name", photo})
		}
		return err
	})
	switch {
	case err != nil:
	case operation == "replace":
		o.service.Advance(100 * 24 * time.Hour) // past the grace, so that the row of the old blob is deleted, too
		return o.requests(func() error {
			photo, err := upload(1)
			if err != nil {
				return err
			}
			e.Value.Photo = photo
			return albums.Replace(ctx, e)
		})
	case operation == "read":
		return o.requests(func() error {
			r, _, err := photos.OpenAt(ctx, key, func(a *album) largeentity.Blob { return a.Photo })
			if err != nil {
				return err
			}
			defer r.Close()
			length, err := io.Copy(io.Discard, r)
			if err == nil {
				err = expect("bytes", int(length), 200_000)
			}
			return err
		})
	}
	return n, err
}

// countDeletes counts the requests that delete 250 loaded entities.
func countDeletes(ctx context.Context) (int, error) {
	const n = 250
	o, err := openOffice(ctx)
	if err != nil {
		return 0, err
	}
	if err := fill(o.base, newOrders(n)); err != nil {
		return 0, err
	}
	all, err := table.Collect(o.base.List(ctx, table.Query[order]{Partition: keys.RawPartition(customer)}))
	if err != nil {
		return 0, err
	}
	return o.requests(func() error {
		result, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
			for _, e := range all {
				if !yield(o.base.DeleteOp(e), nil) {
					return
				}
			}
		}, nil)
		if err == nil {
			err = expect("deleted entities", result.Applied, n)
		}
		return err
	})
}

// countPlainTransaction counts the requests of a transaction by a client without the options of the
// library (P12).
func countPlainTransaction(ctx context.Context) (int, error) {
	o, err := openOffice(ctx)
	if err != nil {
		return 0, err
	}
	t, err := bare.NewTable(o.service.Tables(), tableName, orderSchema(), blind())
	if err != nil {
		return 0, err
	}
	all := newOrders(100)
	return o.requests(func() error {
		ops := make([]table.Op, len(all))
		for i := range ops {
			ops[i] = t.UpsertOp(&all[i], table.ReplaceExisting)
		}
		receipt, err := table.Transact(ctx, ops...)
		if err == nil && table.Stored[order](receipt, len(all)-1).ETag == "" {
			err = expect("ETags", 0, len(all))
		}
		return err
	})
}
