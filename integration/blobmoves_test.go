package integration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"
	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/archive/blobarchive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// blobDestination returns a destination in a fresh container.
func (e *env) blobDestination() workertest.Destination {
	e.Helper()
	d, err := workertest.Place(&host.Host{Account: e.acc}, blobarchive.New(freshName(), nil))
	e.must(err)
	e.must(d.Ensure(context.Background()))
	e.must(d.Ensure(context.Background())) // again
	e.counter.Take()
	return d
}

// movesToBlobs: an entity with an index moves to a blob and back.
func movesToBlobs(e *env) {
	ctx := context.Background()
	byMail := index.New("mail", keys.Fold(keys.Text()), func(w *employee) (string, bool) { return w.Email, w.Email != "" },
		&index.Options{Unique: true})
	base := newTable(e, staffSchema, nil)
	staff, err := baretest.Attach(base, byMail)
	e.must(err)
	old := e.blobDestination()
	notifications, poison := e.acc.Queues().NewQueueClient(base.Name()+"h"), e.acc.Queues().NewQueueClient(base.Name()+"p")
	out, err := bareworker.NewOutbox(notifications, nil)
	e.must(err)
	mover, err := workertest.NewMover("staff/old", staff, old, out)
	e.must(err)
	w, err := bareworker.New(notifications, poison, []host.Handler{mover.Handler}, &eventual.WorkerOptions{Concurrency: 1})
	e.must(err)
	e.must(w.Ensure(ctx))
	x, err := staff.Insert(ctx, &jones)
	e.must(err)
	e.counter.Take()
	e.must(mover.Archive(ctx, x))
	e.wantRequests("1 message-put, 1 message-update, 1 transaction")
	e.must(w.Drain(ctx))
	e.wantRequests("1 blob-create, 1 blob-get, 2 get, 1 message-delete, 2 message-get, 1 transaction")
	found, archived, err := mover.Find(ctx, at("Sales", 223))
	if e.must(err); !archived || found.Value != jones {
		e.Errorf("Find: got %+v, archived %v; want %+v, archived", found.Value, archived, jones)
	}
	e.wantRequests("1 blob-get, 1 blob-list, 1 get")
	back, err := mover.Restore(ctx, at("Sales", 223))
	if e.must(err); back.Value != jones {
		e.Errorf("Restore: got %+v; want %+v", back.Value, jones)
	}
	e.must(w.Drain(ctx))
	if x, err := byMail.Get(ctx, staff, dept.PartitionKey("Sales"), jones.Email); err != nil || x.Value != jones {
		e.Errorf("look-up by address after the restore: got %+v, error %v; want %+v", x, err, jones)
	}
	if _, archived, err := mover.Find(ctx, at("Sales", 223)); archived || err != nil {
		e.Errorf("Find after the restore: got archived %v, error %v; want it in the table", archived, err)
	}
	for x, err := range mover.Archived(ctx, dept.PartitionKey("Sales")) {
		e.Errorf("Archived: got %v, error %v; want nothing", x, err)
	}
	if n, err := w.Backlog(ctx); n != 0 || err != nil {
		e.Errorf("Backlog: got %d, error %v; want 0", n, err)
	}
}

// blobDestinations: a destination in blobs keeps rows of all types under keys of all forms, by their versions.
func blobDestinations(e *env) {
	ctx := context.Background()
	d := e.blobDestination()
	const incarnation = "01KAJ5ZVW0ABCDEF"
	all := []string{"a", "ab", "A", "a b", " a ", ".", "..", "a.", "x~y", "50%", "%2F", "é日😀", "'q'", "+", "&<>"}
	archivedRow := func(k keys.Key, name string) *archive.ArchivedRow {
		row := &table.Row{Key: k}
		for name, v := range map[string]any{"Name": name, "Int64": int64(math.MaxInt64), "Whole": 3.0, "Bytes": []byte{0, 255}, "Time": time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC), "Guid": [16]byte{7}} {
			e.must(row.Set(name, v))
		}
		return &archive.ArchivedRow{ID: archive.ID{Key: k, Incarnation: incarnation}, Kind: "k", Row: row, Moves: []string{"m"}, Time: time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)}
	}
	for _, rk := range all {
		r := archivedRow(keys.Raw("S", rk), rk)
		e.must(d.Put(ctx, r, ""))
		if err := d.Put(ctx, r, ""); !errors.Is(err, table.ErrChanged) {
			e.Errorf("%q: Put of a stale version: got error %v; want ErrChanged", rk, err)
		}
		got, err := d.Get(ctx, r.ID)
		e.must(err)
		for name, want := range r.Row.All() {
			if v, _ := got.Row.Get(name); fmt.Sprint(v) != fmt.Sprint(want) || got.Row.Type(name) != r.Row.Type(name) {
				e.Errorf("%q, %s: got %v; want %v", rk, name, v, want)
			}
		}
		e.must(d.Put(ctx, r, got.Version))
		if err := d.Put(ctx, r, got.Version); !errors.Is(err, table.ErrChanged) {
			e.Errorf("%q: Put of a stale version: got error %v; want ErrChanged", rk, err)
		}
		for listed, err := range d.Incarnations(ctx, r.Key) {
			if e.must(err); listed.ID != r.ID {
				e.Errorf("%q: Incarnations: got %v; want %v", rk, listed.ID, r.ID)
			}
		}
	}
	e.must(d.Put(ctx, archivedRow(keys.Raw("S2", "a"), "other partition"), ""))
	list := func() (rowKeys []string) {
		e.Helper()
		for r, err := range d.List(ctx, keys.RawPartition("S")) {
			e.must(err)
			rowKeys = append(rowKeys, r.Key.RowKey())
		}
		slices.Sort(rowKeys)
		return rowKeys
	}
	want := slices.Sorted(slices.Values(all))
	if got := list(); !slices.Equal(got, want) {
		e.Errorf("List: got %q; want %q", got, want)
	}
	id := archive.ID{Key: keys.Raw("S", "a"), Incarnation: incarnation}
	got, err := d.Get(ctx, id)
	e.must(err)
	e.must(d.Put(ctx, &archive.ArchivedRow{ID: id, Kind: "k"}, got.Version))
	if got, err := d.Get(ctx, id); err != nil || got == nil || got.Row != nil {
		e.Errorf("a removed row: got %+v, %v; want a tombstone", got, err)
	}
	if got := list(); len(got) != len(all)-1 {
		e.Errorf("List: got %q; want all but a", got)
	}
	e.must(d.Sweep(ctx, keys.RawPartition("S"), time.Now().Add(-time.Hour)))
	if got, err := d.Get(ctx, id); err != nil || got == nil {
		e.Errorf("after a sweep of old tombstones: got %+v, %v; want a tombstone", got, err)
	}
	e.must(d.Sweep(ctx, keys.RawPartition("S"), time.Now().Add(time.Hour)))
	if got, err := d.Get(ctx, id); err != nil || got != nil {
		e.Errorf("after a sweep: got %+v, %v; want nothing", got, err)
	}
	if got := list(); len(got) != len(all)-1 {
		e.Errorf("List after a sweep: got %q; want all but a", got)
	}
}
