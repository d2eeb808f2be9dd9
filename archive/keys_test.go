package archive_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// rowFixture is a fixture whose mover moves rows of any type, with any keys.
type rowFixture struct {
	*fixture
	rows   *table.Table[table.Row]
	mover  *workertest.Mover[table.Row]
	worker bareworker.Worker
}

func newRowFixture(t testing.TB) (*rowFixture, *storagetest.Service) {
	t.Helper()
	fx, s := newFixture(t, nil)
	rows, err := bare.NewTable(fx.account.Tables(), "current", table.Schema[table.Row]{}, &table.Options{Common: fx.common})
	must(t, err)
	m, err := workertest.NewMover("rows", rows, fx.destination, fx.outbox)
	must(t, err)
	return &rowFixture{fx, rows, m, fx.workerOf(t, eventual.WorkerOptions{Common: fx.common, Concurrency: 1}, m.Handler)}, s
}

// insertBySDK inserts a row as a program does that does not use this library. more is the rest of its JSON.
func (fx *rowFixture) insertBySDK(t testing.TB, k keys.Key, more string) *table.Entity[table.Row] {
	t.Helper()
	insertBySDK(t, fx.fixture, "current", fmt.Sprintf(`{"PartitionKey":"%s","RowKey":"%s",%s}`, k.PartitionKey(), k.RowKey(), more))
	e, err := fx.rows.Get(context.Background(), k)
	must(t, err)
	return e
}

// wantArchivedRow fails the test unless Find returns the row from the destination.
func (fx *rowFixture) wantArchivedRow(t testing.TB, k keys.Key) *table.Entity[table.Row] {
	t.Helper()
	e, archived, err := fx.mover.Find(context.Background(), k)
	must(t, err)
	if !archived || e.Key != k {
		t.Errorf("Find %v: got %v, archived %v; want it archived", k, e.Key, archived)
	}
	return e
}

// archivedRowKeys returns the RowKeys that Archived yields.
func (fx *rowFixture) archivedRowKeys(t testing.TB, partition keys.PartitionKey) (rowKeys []string) {
	t.Helper()
	for e, err := range fx.mover.Archived(context.Background(), partition) {
		must(t, err)
		rowKeys = append(rowKeys, e.Key.RowKey())
	}
	return rowKeys
}

// TestAnyRowKey: archived rows are listed, found, restored and swept whatever their RowKeys begin with. The list has the service's
// order of the stored RowKeys, which continue with ~.
func TestAnyRowKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newRowFixture(t)
	all := []string{" ", "a", "z", "}", "Öblarn", "日本", "\uD7FF", "\U00010000", "😀", "\U0010FFFF", "\uE000x", "\uE000", "ﬁ", "\uFFFD", "\uFFFE", "\uFFFFx", "\uFFFF", "\uFFFF\uFFFF"}
	for _, rk := range all {
		must(t, fx.mover.Archive(ctx, fx.insertBySDK(t, keys.Raw("S", rk), `"Last":"x"`)))
	}
	must(t, fx.worker.Drain(ctx))
	if got := fx.archivedRowKeys(t, keys.RawPartition("S")); !slices.Equal(got, all) {
		t.Errorf("Archived: got  %+q\nwant %+q", got, all)
	}
	for _, rk := range all {
		k := keys.Raw("S", rk)
		fx.wantArchivedRow(t, k)
		if _, err := fx.mover.Restore(ctx, k); err != nil {
			t.Errorf("Restore %+q: got error %v; want none", rk, err)
		}
	}
	must(t, fx.worker.Drain(ctx))
	s.Advance(30 * time.Hour)
	sweepLibraryRows(t, fx.mover.Handler, s)
	testkit.Expect(t, "archived rows", fx.archivedRowKeys(t, keys.RawPartition("S")), nil)
	testkit.Expect(t, "stored rows", s.Rows("old"), nil)
}

// TestSimilarKeys: one of two keys begins like the stored rows of the other. Each key finds and restores its own row.
func TestSimilarKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	short, long := keys.Raw("S", "b"), keys.Raw("S", "b~c")
	for _, order := range [][]keys.Key{{long, short}, {short, long}} { // the newest last
		t.Run("newest "+order[1].RowKey(), func(t *testing.T) {
			t.Parallel()
			fx, s := newRowFixture(t)
			for _, k := range order {
				must(t, fx.mover.Archive(ctx, fx.insertBySDK(t, k, fmt.Sprintf(`"Is":%q`, k.RowKey()))))
				must(t, fx.worker.Drain(ctx))
				s.Advance(time.Minute)
			}
			for _, k := range order {
				is, _ := fx.wantArchivedRow(t, k).Value.Get("Is")
				testkit.Expect(t, "property Is", is, any(k.RowKey()))
				var stored []string
				for r, err := range fx.destination.Incarnations(ctx, k) {
					must(t, err)
					stored = append(stored, r.Key.RowKey())
				}
				testkit.Expect(t, "incarnations", stored, []string{k.RowKey()})
			}
			restored, err := fx.mover.Restore(ctx, short)
			must(t, err)
			is, _ := restored.Value.Get("Is")
			testkit.Expect(t, "restored property Is", is, any("b"))
			must(t, fx.worker.Drain(ctx))
			fx.wantArchivedRow(t, long)
		})
	}
}

// TestForeignKeys: a row of another program moves and comes back, under keys that package keys does not make.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newRowFixture(t)
	for _, k := range []keys.Key{keys.Raw("éa", "x~y"), keys.Raw("Größe 'q'", "日本"), keys.Raw("a", "b"), keys.Raw("a", "b~c")} {
		must(t, fx.mover.Archive(ctx, fx.insertBySDK(t, k, `"Last":"x","Empty":"","Empty@odata.type":"Edm.Binary"`)))
		must(t, fx.worker.Drain(ctx))
		fx.wantArchivedRow(t, k)
		testkit.Expect(t, "archived rows", fx.archivedRowKeys(t, k.Partition()), []string{k.RowKey()})
		restored, err := fx.mover.Restore(ctx, k)
		must(t, err)
		must(t, fx.worker.Drain(ctx))
		if v, is := restored.Value.Get("Empty"); !is || len(v.([]byte)) != 0 {
			t.Errorf("%v, property Empty: got %v, %v; want an empty Edm.Binary", k, v, is)
		}
	}
	wantNoMessages(t, s)
}
