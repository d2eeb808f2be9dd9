package archive_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// folder is a wide entity with an index.
type folder struct {
	Dept  string
	ID    int
	Last  string
	Days  []int32 `table:"Day,each=500,part=1"`
	Paper []byte  `table:",chunks,part=5"`
}

// TestWideEntity: an entity with parts and an index row is moved and restored with all its parts and columns, also with a column that
// T does not know.
func TestWideEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	folders, err := table.New(s.Tables(), "folders", table.Schema[folder]{
		Partition: keys.Bind1(dept, func(f *folder) *string { return &f.Dept }),
		Row:       keys.Bind1(cid, func(f *folder) *int { return &f.ID }),
	}, nil)
	must(t, err)
	must(t, folders.Ensure(ctx))
	last := table.FieldOf(func(f *folder) *string { return &f.Last })
	byLast := index.New("bylast", keys.Tuple1(keys.Text()).Named("last"), func(f *folder) (string, bool) { return f.Last, true }, &index.Options[folder]{Only: []table.AnyField[folder]{last}})
	indexed, err := index.Attach(folders, byLast)
	must(t, err)
	mover, err := archive.New("folders/old", indexed, fx.destination, fx.outbox)
	must(t, err)
	work := func() {
		must(t, fx.workerOf(t, fx.options(), mover.Handler()).Drain(ctx))
	}
	entityRows := func(name string) (all []string) {
		for key := range strings.SplitSeq(rowKeys(s, name), " ") {
			if key != "" && key[0] != '~' {
				all = append(all, key)
			}
		}
		return all
	}

	f := folder{Dept: "S", ID: 1, Last: "Jones", Paper: make([]byte, 1<<20)}
	for i := range 450 {
		f.Days = append(f.Days, int32(i))
	}
	e, err := indexed.Insert(ctx, &f)
	must(t, err)
	before := strings.Join(entityRows("folders"), " ")
	must(t, mover.Archive(ctx, e))
	work()
	testkit.Expect(t, "rows of the table", strings.Join(entityRows("folders"), " "), "")
	found, archived, err := mover.Find(ctx, e.Key)
	must(t, err)
	if !archived || !reflect.DeepEqual(found.Value, f) {
		t.Errorf("got archived %v, %d days, %d bytes; want true, 450, 1048576", archived, len(found.Value.Days), len(found.Value.Paper))
	}
	restored, err := mover.Restore(ctx, e.Key)
	must(t, err)
	work()
	if !reflect.DeepEqual(restored.Value, f) {
		t.Errorf("got %d days, %d bytes; want 450, 1048576", len(restored.Value.Days), len(restored.Value.Paper))
	}
	testkit.Expect(t, "rows of the table", strings.Join(entityRows("folders"), " "), before)
	testkit.Expect(t, "rows of the archive", len(entityRows("old")), 1) // the tombstone

	// A row with parts keeps them as JSON.
	row, err := folders.GetRow(ctx, e.Key)
	must(t, err)
	b, err := json.Marshal(row)
	must(t, err)
	var read table.Row
	must(t, json.Unmarshal(b, &read))
	again, err := folders.Entity(&read)
	must(t, err)
	if !reflect.DeepEqual(again.Value, f) {
		t.Errorf("JSON: got %d days, %d bytes; want 450, 1048576", len(again.Value.Days), len(again.Value.Paper))
	}
	rows, err := table.New(s.Tables(), "folders", table.Schema[table.Row]{Parts: 98}, nil)
	must(t, err)
	must(t, indexed.DeleteAny(ctx, e.Key))
	if _, err := rows.InsertAt(ctx, e.Key, &read); err != nil {
		t.Errorf("insert what was JSON: got %v, want no error", err)
	}
}
