package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// counter is an entity of which all in a partition have one value: each transaction changes two of them alike.
type counter struct {
	Team string
	ID   int
	N    int64
}

var (
	counterTeam = keys.Partition(keys.Text(), func(c *counter) *string { return &c.Team })
	counterID   = keys.Row(keys.Digits[int](6), func(c *counter) *int { return &c.ID })
)

var counterN = table.FieldOf(func(c *counter) *int64 { return &c.N })

// bank is a store whose table has snapshots.
type bank struct {
	*aztablekit.Store
	service  *storagetest.Service
	counters *table.Table[counter]
}

func openBank(s *storagetest.Service, lease time.Duration, definitions ...aztablekit.Definition[counter]) *bank {
	b := &bank{Store: aztablekit.Open(s, "bank", &aztablekit.Options{Daily: -1, CatalogueAge: lease}), service: s}
	b.counters = aztablekit.Table(b.Store, "counters", counterTeam, counterID, definitions...)
	return b
}

const testLease = 100 * time.Millisecond

func newBank(t testing.TB, sizes map[string]int) *bank {
	t.Helper()
	b := openBank(storagetest.New(nil), 0, transfer.Snapshots[counter]("snapshots"))
	testkit.NoError(t, b.Ensure(t.Context()))
	for team, n := range sizes {
		_, err := table.Bulk(t.Context(), func(yield func(table.Op, error) bool) {
			for i := range n {
				if !yield(b.counters.InsertOp(&counter{Team: team, ID: i}), nil) {
					return
				}
			}
		}, nil)
		testkit.NoError(t, err)
	}
	return b
}

// add changes the first and the last counter of a team, of n, in one transaction.
func (b *bank) add(ctx context.Context, team string, n int) error {
	first, err := b.counters.Get(ctx, keys.At(counterTeam.Of(team), counterID.Of(0)))
	if err != nil {
		return err
	}
	last, err := b.counters.Get(ctx, keys.At(counterTeam.Of(team), counterID.Of(n-1)))
	if err != nil {
		return err
	}
	first.Value.N++
	last.Value.N++
	_, err = table.Transact(ctx, b.counters.ReplaceOp(first), b.counters.ReplaceOp(last))
	return err
}

// TestSnapshots: an export of a table with snapshots knows which partitions are of one moment. A
// partition is torn if it was written while it was read, between two of its pages; one that fits on
// a page, of 100 rows here, never is.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	sizes := map[string]int{"a": 3, "b": 210, "bb": 110, "c": 60, "d": 60, "e": 110}
	b := newBank(t, sizes)
	found, reported := map[string]bool{}, 0
	for at, over := 1, false; !over; at++ {
		n := 0
		counters := paged(b, 100, func() {
			if n++; n != at {
				return
			}
			for _, team := range []string{"a", "b", "bb", "c", "d", "e"} {
				testkit.NoError(t, b.add(t.Context(), team, sizes[team]))
			}
		})
		var memory transfer.Memory
		report, err := transfer.Export(t.Context(), counters, &memory, &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}, ChunkBytes: 6_000})
		testkit.NoError(t, err)
		torn := tornIn(t, &memory)
		if report.Counts["snapshots"] != 1 || len(torn) > report.Counts["torn"] {
			t.Errorf("written before request %d: got %+v; want snapshots, and %q torn", at, report, torn)
		}
		if report.Counts["torn"] > 1 {
			t.Errorf("written before request %d: got %d torn partitions; want 1 at most, the one that was read then", at, report.Counts["torn"])
		}
		if len(torn) > 0 && sizes[torn[0]] < 100 {
			t.Errorf("written before request %d: got %q torn; want none that fits on a page", at, torn)
		}
		for _, team := range torn {
			found[team] = true
		}
		reported += report.Counts["torn"]
		over = n < at
	}
	testkit.Expect(t, "partitions that were torn", found, map[string]bool{"b": true, "bb": true, "e": true})
	testkit.Expect(t, "requests before which a write tears a partition", reported, 18)
}

// TestSnapshotsCrash: an export that goes on within a partition knows whether it was written
// meanwhile, perhaps by programs without the definition, before another one took its place.
func TestSnapshotsCrash(t *testing.T) {
	t.Parallel()
	for _, meanwhile := range []string{"nothing", "a write", "another definition"} {
		b := newBank(t, map[string]int{"a": 5000})
		place := &transfer.Crashing{Place: transfer.Folder(t.TempDir()), At: 6, How: transfer.Before}
		o := &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}, ChunkBytes: 60_000}
		if _, err := transfer.Export(t.Context(), b.counters, place, o); !errors.Is(err, transfer.ErrCrash) {
			t.Fatalf("got error %v; want ErrCrash", err)
		}
		want, listed := 0, 0
		switch meanwhile {
		case "a write":
			testkit.NoError(t, b.add(t.Context(), "a", 5000))
			want, listed = 1, 1
		case "another definition":
			b.changeDefinitions(t)
			want, o.GoOn = 1, true
		}
		report, err := transfer.Export(t.Context(), b.counters, place.Place, o)
		testkit.NoError(t, err)
		if report.Counts["torn"] != want || report.Counts["chunks"] < 4 || len(tornIn(t, place.Place)) != listed {
			t.Errorf("%s: got %+v; want %d torn, in several chunks, and %d listed", meanwhile, report, want, listed)
		}
	}
}

// changeDefinitions gives the definition of the snapshots another ID, as Retire and Fill do.
func (b *bank) changeDefinitions(t testing.TB) {
	t.Helper()
	for _, r := range b.service.Rows("counters") {
		if text, is := r.Get("Definitions").(string); is && r.RowKey == "~c" {
			text = regexp.MustCompile(`"id":"[^"]*"`).ReplaceAllString(text, `"id":"0123456789ABCDEF"`)
			row := fmt.Appendf(nil, `{"PartitionKey":%q,"RowKey":%q,"Definitions":%q}`, r.PartitionKey, r.RowKey, text)
			_, err := b.service.Tables().NewClient("counters").UpdateEntity(t.Context(), row, nil)
			testkit.NoError(t, err)
			return
		}
	}
	t.Fatal("got no row of definitions")
}

// TestStamps: writes of all kinds store the stamp of each partition that they change, by as many requests as without.
func TestStamps(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	unique := index.New("n", keys.Digits[int64](9), func(c *counter) (int64, bool) { return c.N, c.N > 0 }, &index.Options{Unique: true})
	b := openBank(storagetest.New(nil), 0, transfer.Snapshots[counter]("snapshots"), unique)
	testkit.NoError(t, b.Ensure(ctx))
	stamp := func(team string) string {
		for _, r := range b.service.Rows("counters") {
			if r.PartitionKey == team && r.RowKey == "~s" {
				return r.ETag
			}
		}
		return ""
	}
	key := func(team string, id int) keys.Key { return keys.At(counterTeam.Of(team), counterID.Of(id)) }
	get := func(team string, id int) *table.Entity[counter] {
		e, err := b.counters.Get(ctx, key(team, id))
		testkit.NoError(t, err)
		return e
	}
	var e *table.Entity[counter]
	for _, w := range []struct {
		name  string
		teams string
		write func() error
		sends string
	}{
		{"insert", "a", func() error { _, err := b.counters.Insert(ctx, &counter{"a", 1, 5}); return err }, ""},
		{"insert of what exists", "", func() error {
			if _, err := b.counters.Insert(ctx, &counter{"a", 1, 6}); !errors.Is(err, table.ErrExists) {
				return fmt.Errorf("got error %w; want ErrExists", err)
			}
			return nil
		}, ""},
		{"get", "", func() error { e = get("a", 1); return nil }, "1 get"},
		{"replace", "a", func() error { e.Value.N = 7; return b.counters.Replace(ctx, e) }, "1 transaction"},
		{"merge", "a", func() error { return b.counters.Merge(ctx, e, counterN.Set(8)) }, "1 transaction"},
		{"a unique value that is taken", "", func() error {
			if _, err := b.counters.Insert(ctx, &counter{"a", 2, 8}); !errors.Is(err, table.ErrTaken) {
				return fmt.Errorf("got error %w; want ErrTaken", err)
			}
			return nil
		}, ""},
		{"move", "a b", func() error { e = get("a", 1); e.Value.Team = "b"; return b.counters.Move(ctx, e) }, ""},
		{"transaction", "b", func() error {
			_, err := table.Transact(ctx, b.counters.InsertOp(&counter{"b", 3, 0}), b.counters.InsertOp(&counter{"b", 4, 0}))
			return err
		}, "1 transaction"},
		{"update", "b", func() error {
			_, err := b.counters.Update(ctx, key("b", 3), func(c *counter) error { c.N = 9; return nil })
			return err
		}, "1 get, 1 transaction"},
		{"delete", "b", func() error { return b.counters.Delete(ctx, get("b", 4)) }, "1 get, 1 transaction"},
		{"100 at once, and 99", "c", func() error {
			var ops []table.Op
			for i := range 100 {
				ops = append(ops, b.counters.InsertOp(&counter{"c", i, 0}))
			}
			_, err := table.Transact(ctx, ops...)
			if limit := new(table.LimitError); !errors.As(err, &limit) {
				return fmt.Errorf("got error %w; want a *LimitError", err)
			}
			_, err = table.Transact(ctx, ops[:99]...)
			return err
		}, "1 transaction"},
		{"bulk", "d", func() error {
			_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
				for i := range 196 {
					if !yield(b.counters.InsertOp(&counter{"d", i, 0}), nil) {
						return
					}
				}
			}, nil)
			return err
		}, "2 transaction"},
	} {
		before := map[string]string{}
		for _, team := range []string{"a", "b", "c", "d"} {
			before[team] = stamp(team)
		}
		b.service.Count()
		if err := w.write(); err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		if sent := b.service.Count().String(); w.sends != "" && sent != w.sends {
			t.Errorf("%s: got requests %s; want %s", w.name, sent, w.sends)
		}
		for _, team := range []string{"a", "b", "c", "d"} {
			if changed, want := stamp(team) != before[team], strings.Contains(w.teams, team); changed != want {
				t.Errorf("%s: team %s: got a new stamp: %t; want %t", w.name, team, changed, want)
			}
		}
	}
	for row, err := range b.counters.List(ctx, table.Query[counter]{TableScan: true}) {
		testkit.NoError(t, err)
		if strings.HasPrefix(row.Key.RowKey(), "~") {
			t.Errorf("got the row %v as an entity", row.Key)
		}
	}
	report, err := b.Verify(ctx, nil)
	testkit.NoError(t, err)
	if report.Faults > 0 {
		t.Errorf("got %+v; want a sound store", report)
	}
}

// TestStampsOfOthers: a program that reads, and finishes the move of another one that has crashed stores the stamp, too.
func TestStampsOfOthers(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	ctx := t.Context()
	b := newBank(t, map[string]int{"a": 1, "b": 0})
	stamp := func() string {
		for _, r := range b.service.Rows("counters") {
			if r.PartitionKey == "b" && r.RowKey == "~s" {
				return r.ETag
			}
		}
		return ""
	}
	e, err := b.counters.Get(ctx, keys.At(counterTeam.Of("a"), counterID.Of(0)))
	testkit.NoError(t, err)
	e.Value.Team = "b"
	crashed, cancel := context.WithCancel(ctx)
	transactions := 0
	b.service.SetFaults(func(r storagetest.Request) storagetest.Fault {
		if r.Kind != requests.Transaction {
			return storagetest.Fault{}
		}
		if transactions++; transactions < 3 { // it is prepared, and committed
			return storagetest.Fault{}
		}
		cancel()
		return storagetest.LostRequest()
	})
	_ = b.counters.Move(crashed, e) // its outcome is committed, whatever it says
	b.service.SetFaults(nil)
	before := stamp()
	other := openBank(b.service, 0, transfer.Snapshots[counter]("snapshots"))
	if _, err := other.counters.Get(ctx, keys.At(counterTeam.Of("b"), counterID.Of(0))); err != nil {
		t.Fatalf("got error %v; want the entity, which has moved", err)
	}
	if before == "" || stamp() == before {
		t.Errorf("got the stamp %q before and after another program has finished; want another one", before)
	}
}

// TestSnapshotsRelease: a table in use gets snapshots by Fill, which refuses programs without them, and loses them by Retire, which deletes the stamps.
func TestSnapshotsRelease(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), storagetest.New(nil)
	old := openBank(s, testLease)
	testkit.NoError(t, old.Ensure(ctx))
	_, err := old.counters.Insert(ctx, &counter{"a", 1, 0})
	testkit.NoError(t, err)
	exported := func(b *bank) bool {
		report, err := transfer.Export(ctx, b.counters, transfer.Folder(t.TempDir()), nil)
		testkit.NoError(t, err)
		return report.Counts["snapshots"] == 1
	}
	stamps := func() (n int) {
		for _, r := range s.Rows("counters") {
			if r.RowKey == "~s" {
				n++
			}
		}
		return n
	}
	b := openBank(s, testLease, transfer.Snapshots[counter]("snapshots"))
	testkit.NoError(t, b.Ensure(ctx))
	_, err = b.counters.Insert(ctx, &counter{"b", 1, 0})
	testkit.NoError(t, err)
	if exported(b) || stamps() != 0 {
		t.Errorf("before Fill: got snapshots %t and %d stamps; want none, as long as programs may write without", exported(b), stamps())
	}
	_, err = b.Fill(ctx, nil)
	testkit.NoError(t, err)
	_, err = b.counters.Insert(ctx, &counter{"b", 2, 0})
	testkit.NoError(t, err)
	if !exported(b) || stamps() != 1 {
		t.Errorf("after Fill: got snapshots %t and %d stamps; want snapshots, and 1 stamp", exported(b), stamps())
	}
	if _, err := old.counters.Insert(ctx, &counter{"a", 2, 0}); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("a program without snapshots: got error %v; want ErrNotDeclared", err)
	}
	testkit.NoError(t, b.Retire(ctx, "counters", "snapshots", nil))
	testkit.Expect(t, "stamps after Retire", stamps(), 0)
	_, err = b.counters.Insert(ctx, &counter{"b", 3, 0})
	testkit.NoError(t, err)
	_, err = old.counters.Insert(ctx, &counter{"a", 3, 0})
	testkit.NoError(t, err)
	if exported(b) || stamps() != 0 {
		t.Errorf("after Retire: got snapshots %t and %d stamps; want none", exported(b), stamps())
	}
}

// note is another type of the table of counters.
type note struct {
	Team, Name string
}

// TestSnapshotsOfTypes: a table has snapshots only if all its types have: another one is refused, and one with Snapshots stores stamps before it is filled.
func TestSnapshotsOfTypes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := openBank(storagetest.New(nil), 0, transfer.Snapshots[counter]("snapshots"), &aztablekit.Settings[counter]{Schema: table.Schema[counter]{Type: "counter"}})
	testkit.NoError(t, b.Ensure(ctx))
	_, err := b.counters.Insert(ctx, &counter{Team: "a"})
	testkit.NoError(t, err)
	notes := func(definitions ...aztablekit.Definition[note]) *table.Table[note] {
		other := aztablekit.Open(b.service, "bank", nil)
		all := append(definitions, &aztablekit.Settings[note]{Schema: table.Schema[note]{Type: "note"}})
		t2 := aztablekit.Table(other, "counters", keys.Partition(keys.Text(), func(n *note) *string { return &n.Team }), keys.Row(keys.Text(), func(n *note) *string { return &n.Name }), all...)
		testkit.NoError(t, other.Ensure(ctx))
		return t2
	}
	if _, err := notes().Insert(ctx, &note{"a", "x"}); !errors.Is(err, table.ErrNotDeclared) || !strings.Contains(err.Error(), "transfer.Snapshots") {
		t.Errorf("a type without snapshots: got error %v; want ErrNotDeclared", err)
	}
	stamp := func() (etag string) {
		for _, r := range b.service.Rows("counters") {
			if r.RowKey == "~s" {
				etag = r.ETag
			}
		}
		return etag
	}
	before := stamp()
	_, err = notes(transfer.Snapshots[note]("snapshots of notes")).Insert(ctx, &note{"a", "x"})
	testkit.NoError(t, err)
	if stamp() == before {
		t.Error("a type whose snapshots are not filled: got no new stamp")
	}
}

// TestSnapshotsFill: Fill ends the moves of programs without snapshots that have crashed, since another program would finish them without a stamp.
func TestSnapshotsFill(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), storagetest.New(nil)
	old := openBank(s, testLease)
	testkit.NoError(t, old.Ensure(ctx))
	e, err := old.counters.Insert(ctx, &counter{"a", 1, 0})
	testkit.NoError(t, err)
	crashed, cancel := context.WithCancel(ctx)
	transactions := 0
	s.SetFaults(func(r storagetest.Request) storagetest.Fault {
		if r.Kind != requests.Transaction {
			return storagetest.Fault{}
		}
		if transactions++; transactions < 3 {
			return storagetest.Fault{}
		}
		cancel()
		return storagetest.LostRequest()
	})
	e.Value.Team = "b"
	_ = old.counters.Move(crashed, e)
	s.SetFaults(nil)
	marked := func() (n int) {
		for _, r := range s.Rows("counters") {
			if r.Get("_tx") != nil {
				n++
			}
		}
		return n
	}
	if marked() == 0 {
		t.Fatal("got no prepared row; want that of the move")
	}
	b := openBank(s, testLease, transfer.Snapshots[counter]("snapshots"))
	testkit.NoError(t, b.Ensure(ctx))
	_, err = b.Fill(ctx, nil)
	testkit.NoError(t, err)
	testkit.Expect(t, "prepared rows after Fill", marked(), 0)
}
