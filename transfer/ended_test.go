package transfer_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

type visit struct {
	Team string
	ID   int
	Ends time.Time
}

// TestEnded: an export has an entity that is over and was not swept, and it is over behind each kind of import.
func TestEnded(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	team := keys.Partition(keys.Text(), func(v *visit) *string { return &v.Team })
	id := keys.Row(keys.Digits[int](6), func(v *visit) *int { return &v.ID })
	open := func() (*storagetest.Service, *table.Table[visit], *aztablekit.Store, *expire.Ends[visit]) {
		clock := func() time.Time { return now }
		s := storagetest.New(&storagetest.Options{Now: clock})
		store := aztablekit.Open(s, "visits", &aztablekit.Options{Daily: -1, Now: clock})
		ends := expire.At(func(v *visit) time.Time { return v.Ends }, nil)
		return s, aztablekit.Table(store, "visits", team, id, ends), store, ends
	}
	s, visits, store, _ := open()
	testkit.NoError(t, store.Ensure(ctx))
	for i := range 2 {
		_, err := visits.Insert(ctx, &visit{"a", i, now.Add(time.Duration(1+99*i) * time.Hour)})
		testkit.NoError(t, err)
	}
	now = now.Add(90 * time.Minute) // the first one is over
	at := transfer.Folder(t.TempDir())
	_, err := transfer.Export(ctx, visits, at, nil)
	testkit.NoError(t, err)
	entities, err := transfer.Export(ctx, visits, transfer.Folder(t.TempDir()), &transfer.ExportOptions{Entities: true})
	testkit.NoError(t, err)
	testkit.Expect(t, "exported entities", entities.Rows, 2)
	for name, bring := range map[string]func(*table.Table[visit]) error{
		"Import": func(to *table.Table[visit]) error {
			_, err := transfer.Import(ctx, transfer.Exported(at), to, nil)
			return err
		},
		"ImportEntities": func(to *table.Table[visit]) error {
			report, err := transfer.ImportEntities(ctx, transfer.Exported(at), to, nil)
			testkit.Expect(t, "stored entities", report.Changed, 2)
			return err
		},
	} {
		other, to, store, ends := open()
		testkit.NoError(t, store.Ensure(ctx))
		testkit.NoError(t, bring(to))
		for d, err := range transfer.Compare(ctx, transfer.Of(visits), transfer.Of(to), &transfer.CompareOptions{EntitiesOnly: true}) {
			t.Errorf("%s: got the difference %+v, %v; want none", name, d, err)
		}
		n, err := to.Count(ctx, table.Query[visit]{TableScan: true})
		testkit.NoError(t, err)
		testkit.Expect(t, name+": entities that are there", n, 1)
		now = now.Add(2 * time.Hour) // the hour is over, too
		_, err = ends.Sweep(ctx, to, nil)
		testkit.NoError(t, err)
		for _, r := range other.Rows("visits") {
			if r.RowKey == "000000" {
				t.Errorf("%s: got the row of the entity that is over behind a sweep", name)
			}
		}
		if _, err := to.Get(ctx, to.Key(visit{Team: "a"})); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("%s: got error %v; want ErrNotFound", name, err)
		}
	}
	testkit.Expect(t, "rows of the source", len(s.Rows("visits")) >= 2, true)
}
