package whole_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"
	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/archive/blobarchive"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/internal/testkit/valuestest"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/largeentity/series"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// forgotten is a method that needs what no program has created.
type forgotten struct {
	name string
	err  error
	is   error
	end  string // of the text: what is missing, and the call that creates it
}

// TestForgottenEnsure: if a table, a queue or a container is missing, the error of a write and of a read names it, and the call that
// creates it.
func TestForgottenEnsure(t *testing.T) {
	t.Parallel()
	for _, f := range forgottenCalls(t) {
		if f.err == nil || !errors.Is(f.err, f.is) || !strings.HasSuffix(f.err.Error(), f.end) {
			t.Errorf("%s: got error %v; want %v: …%s", f.name, f.err, f.is, f.end)
		}
	}
}

// device is the entity of forgottenCalls.
type device struct{ Site, ID, Serial string }

// second returns the error of a method with two results.
func second[V any](_ V, err error) error { return err }

func forgottenCalls(t *testing.T) []forgotten {
	ctx, s := context.Background(), storagetest.New(nil)
	site := keys.Text()
	schema := table.Schema[device]{Partition: keys.Partition(site, func(d *device) *string { return &d.Site }), Row: keys.Row(site.Named("d"), func(d *device) *string { return &d.ID })}
	open := func(name string) *table.Table[device] {
		tab, err := bare.NewTable(s.Tables(), name, schema, nil)
		testkit.NoError(t, err)
		return tab
	}
	missing, present := open("missing"), open("devices")
	testkit.NoError(t, tabledoor.Ensure(ctx, present))
	d := &device{"A", "1", "s"}
	k := present.Key(*d)

	work, err := bareworker.NewOutbox(s.Queues().NewQueueClient("work"), nil)
	testkit.NoError(t, err)
	quiet, err := baretest.WithOutbox(present, work)
	testkit.NoError(t, err)
	jobs, err := bareworker.NewOutbox(s.Queues().NewQueueClient("jobs"), nil)
	testkit.NoError(t, err)
	testkit.NoError(t, jobs.Ensure(ctx))
	heard, err := baretest.WithOutbox(present, jobs)
	testkit.NoError(t, err)

	serial := func(d *device) (string, bool) { return d.Serial, true }
	bySerial := index.NewGlobal("serial", site, serial, nil)
	unique := index.NewUnique("only", site, serial, nil)
	indexed, err := baretest.Attach(heard, bySerial)
	testkit.NoError(t, err)
	one, err := baretest.Attach(heard, unique)
	testkit.NoError(t, err)
	unheard, err := baretest.Attach(quiet, bySerial)
	testkit.NoError(t, err)
	views := materialized.New("view", open("views"), func(d *device, _ keys.Key) (device, bool) { return *d, true })
	viewed, err := baretest.Attach(heard, views)
	testkit.NoError(t, err)
	worker, err := bareworker.New(s.Queues().NewQueueClient("none"), s.Queues().NewQueueClient("poison"), baretest.Handlers(indexed), nil)
	testkit.NoError(t, err)
	poison, err := bareworker.NewPoisonQueue(s.Queues().NewQueueClient("none"), s.Queues().NewQueueClient("poison"), nil)
	testkit.NoError(t, err)

	type photographed struct{ Photo largeentity.Blob }
	shown, err := bare.NewTable(s.Tables(), "devices", table.Schema[photographed]{}, nil)
	testkit.NoError(t, err)
	photos, _, err := valuestest.New(shown, s, "photos", nil)
	testkit.NoError(t, err)
	log := logtail.New[device](&host.Host{Tables: s.Tables()}, "log", nil)
	clock := options.At(func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) })
	daily := logtail.NewByPeriod[device](&host.Host{Tables: s.Tables(), Common: clock}, "days", nil, nil)
	lines := bloblog.New[device](&host.Host{Account: s}, "lines", nil)
	writer, err := lines.Writer("source")
	testkit.NoError(t, err)
	testkit.NoError(t, writer.Append(ctx, d))
	visits := series.New[int64](&host.Host{Tables: s.Tables()}, "visits", series.Every(time.Hour, nil), nil)
	old, err := workertest.Place(&host.Host{Tables: s.Tables()}, archive.ToTable("old", nil))
	testkit.NoError(t, err)
	mover, err := workertest.NewMover("archive", present, old, jobs)
	testkit.NoError(t, err)
	blobs, err := workertest.Place(&host.Host{Account: s}, blobarchive.New("blobs", nil))
	testkit.NoError(t, err)
	blobMover, err := workertest.NewMover("archive", present, blobs, jobs)
	testkit.NoError(t, err)

	q := table.Query[device]{Partition: site.PartitionKey("A")}
	const byTable, byIndex = "no such table missing; Table.Ensure creates it", "no such table devicesserial; Store.Ensure creates it"
	return []forgotten{
		{"Get", second(missing.Get(ctx, k)), table.ErrNotCreated, "table: Get missing('A','d_1'): TableNotFound: " + byTable},
		{"Insert", second(missing.Insert(ctx, d)), table.ErrNotCreated, "table: Insert missing('A','d_1'): TableNotFound: " + byTable},
		{"List", firstError(missing.List(ctx, q)), table.ErrNotCreated, "table: List missing: TableNotFound: " + byTable},
		{"Transact", second(table.Transact(ctx, missing.InsertOp(d), missing.InsertOp(&device{"A", "2", ""}))), table.ErrNotCreated, "('A','d_1'): TableNotFound: " + byTable},
		{"Delete", second(table.BulkDelete(ctx, missing, q, nil)), table.ErrNotCreated, "table: BulkDelete missing: TableNotFound: " + byTable},
		{"write with effects", second(unheard.Insert(ctx, d)), table.ErrOutbox, "the outbox did not store the notification (no such queue work; Store.Ensure creates it)"},
		{"the same", second(unheard.Insert(ctx, d)), table.ErrNotCreated, "(no such queue work; Store.Ensure creates it)"},
		{"Run", worker.Run(ctx), table.ErrNotCreated, "no such queue none; Store.Ensure creates it"},
		{"Backlog", second(poison.Backlog(ctx)), table.ErrNotCreated, "eventual: Backlog: no such queue poison; Store.Ensure creates it"},
		{"index elsewhere: Get", second(bySerial.Get(ctx, indexed, "s")), table.ErrNotCreated, "index serial: table: Rows devicesserial: TableNotFound: " + byIndex},
		{"index elsewhere: Check", second(verify.Check(ctx, indexed, nil, bySerial)), table.ErrNotCreated, byIndex},
		{"index.NewUnique: Get", second(unique.Get(ctx, one, "s")), table.ErrNotCreated, "no such table devicesonly; Store.Ensure creates it"},
		{"index.NewUnique: Insert", second(one.Insert(ctx, d)), table.ErrNotCreated, "no such table devicesonly; Store.Ensure creates it"},
		{"view: Check", second(verify.Check(ctx, viewed, nil, views)), table.ErrNotCreated, "no such table views; Table.Ensure creates it"},
		{"Upload", second(photos.Upload(ctx, k, bytes.NewReader(make([]byte, 100_000)), "")), table.ErrNotCreated, "largeentity: Upload ('A','d_1'): no such container photos; Store.Ensure creates it"},
		{"Log.Append", second(log.Append(ctx, d)), table.ErrNotCreated, "no such table log; Store.Ensure creates it"},
		{"Log.Tail", firstError(log.Tail(ctx, 1)), table.ErrNotCreated, "no such table log; Store.Ensure creates it"},
		{"by period: Append", second(daily.Append(ctx, d)), table.ErrNotCreated, "no such table days20260102; Periods.Create creates it"},
		{"by period: Tail", firstError(daily.Tail(ctx, 1)), table.ErrNotCreated, "no such table days; Periods.Create creates it"},
		{"bloblog.Close", writer.Close(ctx), table.ErrNotCreated, "no such container lines; Store.Ensure creates it"},
		{"Series.Add", second(visits.Add(ctx, time.Now(), 1)), table.ErrNotCreated, "no such table visits; Store.Ensure creates it"},
		{"Series.Read", second(visits.Read(ctx, time.Now())), table.ErrNotCreated, "no such table visits; Store.Ensure creates it"},
		{"Restore", second(mover.Restore(ctx, k)), table.ErrNotCreated, "no such table old; Store.Ensure creates it"},
		{"Archived", firstError(blobMover.Archived(ctx, site.PartitionKey("A"))), table.ErrNotCreated, "no such container blobs; Store.Ensure creates it"},
	}
}
