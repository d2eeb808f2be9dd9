package integration

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

type exportedPerson struct {
	Team string
	ID   int
}

// exports: the rows of a table come back from files as they were, and what differs is found.
func exports(e *env) {
	ctx := e.Context()
	open := func() *table.Table[table.Row] {
		rows, err := bare.NewTable(e.tables, freshName(), table.Schema[table.Row]{}, nil)
		e.must(err)
		e.must(tabledoor.Ensure(ctx, rows))
		return rows
	}
	from, to := open(), open()
	for i := range 130 {
		row := &table.Row{Key: keys.Raw(fmt.Sprintf("p'%d", i%3), fmt.Sprintf("r %03d", i))}
		for name, v := range map[string]any{
			"Int64": int64(math.MaxInt64), "Double": 3.0, "Time": time.Date(2026, 1, 2, 3, 4, 5, 123456700, time.UTC), "Text": "007", "Empty": "",
			"Bytes": []byte{0, 255}, "Bool": i%2 == 0, "Int32": int32(i), "Guid": [16]byte{1, 2, 3},
		} {
			e.must(row.Set(name, v))
		}
		_, err := from.Insert(ctx, row)
		e.must(err)
	}
	at := transfer.Folder(e.TempDir())
	exported, err := transfer.Export(ctx, from, at, nil)
	e.must(err)
	for _, want := range []table.Progress{{Rows: 130, Changed: 130}, {Rows: 130, Counts: map[string]int{"same": 130}}} {
		imported, err := transfer.Import(ctx, transfer.Exported(at), to, nil)
		e.must(err)
		if !reflect.DeepEqual(imported, want) || exported.Rows != 130 {
			e.Errorf("export and import: got %+v and %+v; want 130 rows and %+v", exported, imported, want)
		}
	}
	for d, err := range transfer.Compare(ctx, transfer.Of(from), transfer.Of(to), nil) {
		e.Errorf("compare: got %+v, %v; want no difference", d, err)
	}
	gone, err := to.Get(ctx, keys.Raw("p'0", "r 000"))
	e.must(err)
	e.must(to.Delete(ctx, gone))
	for d, err := range transfer.Compare(ctx, transfer.Exported(at), transfer.Of(to), nil) {
		e.must(err)
		if d.Kind != transfer.OnlyFirst || d.Key != gone.Key {
			e.Errorf("compare after a deletion: got %+v; want %v only in the export", d, gone.Key)
		}
	}
	store := aztablekit.Open(e.acc, freshName(), nil)
	people := aztablekit.Table(store, freshName(), keys.Partition(keys.Text(), func(p *exportedPerson) *string { return &p.Team }), keys.Row(keys.Digits[int](4), func(p *exportedPerson) *int { return &p.ID }),
		transfer.Snapshots[exportedPerson]("snapshots"))
	e.must(store.Ensure(ctx))
	stamps := map[string]bool{}
	for i := range 20 { // one right after the other: each has its own ETag
		_, err := people.Insert(ctx, &exportedPerson{"Sales", i})
		e.must(err)
		r, err := e.tables.NewClient(people.Name()).GetEntity(ctx, "Sales", "~s", nil)
		e.must(err)
		stamps[string(r.ETag)] = true
	}
	snapshots, err := transfer.Export(ctx, people, transfer.Folder(e.TempDir()), nil)
	e.must(err)
	if len(stamps) != 20 || snapshots.Counts["snapshots"] != 1 || snapshots.Counts["torn"] != 0 {
		e.Errorf("snapshots: got %d stamps of 20 writes, and %+v; want 20, and no torn partition", len(stamps), snapshots)
	}
	missing, err := bare.NewTable(e.tables, freshName(), table.Schema[table.Row]{}, nil)
	e.must(err)
	if _, err := transfer.Export(ctx, missing, transfer.Folder(e.TempDir()), nil); !errors.Is(err, table.ErrNotCreated) {
		e.Errorf("export of a missing table: got error %v; want ErrNotCreated", err)
	}
}
