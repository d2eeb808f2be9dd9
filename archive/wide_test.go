package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"
	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
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
	folders, indexed, mover, err := openFolders(fx)
	must(t, err)
	must(t, tabledoor.Ensure(ctx, folders))
	work := func() {
		must(t, fx.workerOf(t, fx.options(), mover.Handler).Drain(ctx))
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
	row, err := tabledoor.GetRow(ctx, folders, e.Key)
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
	rows, err := bare.NewTable(s.Tables(), "folders", table.Schema[table.Row]{Parts: 98}, nil)
	must(t, err)
	must(t, indexed.DeleteAny(ctx, e.Key))
	if _, err := rows.InsertAt(ctx, e.Key, &read); err != nil {
		t.Errorf("insert what was JSON: got %v, want no error", err)
	}
}

// openFolders opens the table of folders, with its index, and a mover of folders.
func openFolders(fx *fixture) (folders, indexed *table.Table[folder], mover *workertest.Mover[folder], err error) {
	folders, err = bare.NewTable(fx.account.Tables(), "folders", table.Schema[folder]{
		Partition: keys.Partition(dept, func(f *folder) *string { return &f.Dept }),
		Row:       keys.Row(cid, func(f *folder) *int { return &f.ID }),
	}, &table.Options{Common: fx.common})
	if err != nil {
		return nil, nil, nil, err
	}
	last := table.FieldOf(func(f *folder) *string { return &f.Last })
	byLast := index.New("bylast", keys.Text().Named("last"), func(f *folder) (string, bool) { return f.Last, true }, nil).Only(last)
	if indexed, err = baretest.Attach(folders, byLast); err != nil {
		return nil, nil, nil, err
	}
	mover, err = workertest.NewMover("folders/old", indexed, fx.destination, fx.outbox)
	return folders, indexed, mover, err
}

// folderOf returns a folder, all of which follows from a number.
func folderOf(n int32) folder {
	f := folder{Dept: "S", ID: 1, Last: fmt.Sprint("Jones", n), Paper: bytes.Repeat([]byte{byte(n)}, 70_000)}
	for range 250 + 100*n {
		f.Days = append(f.Days, n)
	}
	return f
}

// TestWideEveryFault: under every fault at every request, an entity with parts that is moved, changed, restored and moved again is
// whole in the place where it is found, and no part is without its head.
func TestWideEveryFault(t *testing.T) {
	t.Parallel()
	build := func() crashtest.Workload {
		move := func(do func(context.Context, *fixture, *workertest.Mover[folder], *table.Table[folder]) error) process {
			return on(plain, func(fx *fixture, ctx context.Context) error {
				_, indexed, mover, err := openFolders(fx)
				if err != nil {
					return err
				}
				w, err := bareworker.New(fx.account.Queues().NewQueueClient("moves"), fx.account.Queues().NewQueueClient("poison"), []host.Handler{mover.Handler}, ptr(fx.options()))
				if err != nil {
					return err
				}
				return errors.Join(do(ctx, fx, mover, indexed), w.Drain(ctx))
			})
		}
		archiving := func(ctx context.Context, _ *fixture, mover *workertest.Mover[folder], indexed *table.Table[folder]) error {
			e, err := indexed.Get(ctx, at(1))
			if err == nil {
				err = mover.Archive(ctx, e)
			}
			return ignoreConflicts(err)
		}
		archivingTogether := func(ctx context.Context, _ *fixture, mover *workertest.Mover[folder], _ *table.Table[folder]) error {
			_, err := mover.ArchiveAll(ctx, table.Query[folder]{Partition: at(1).Partition()}, nil)
			return ignoreConflicts(err)
		}
		whole := func(f folder) error {
			var n int32
			fmt.Sscanf(f.Last, "Jones%d", &n)
			if want := folderOf(n); !reflect.DeepEqual(f, want) {
				return fmt.Errorf("got %s with %d days, %d bytes; want %d, %d", f.Last, len(f.Days), len(f.Paper), len(want.Days), len(want.Paper))
			}
			return nil
		}
		return crashtest.Workload{
			Setup: on(plain, func(fx *fixture, ctx context.Context) error {
				folders, indexed, _, err := openFolders(fx)
				if err != nil {
					return err
				}
				f := folderOf(1)
				return errors.Join(fx.ensure(ctx), tabledoor.Ensure(ctx, folders), func() error { _, err := indexed.Insert(ctx, &f); return err }())
			}),
			Processes: []process{testkit.InSequence(move(archiving), move(func(ctx context.Context, _ *fixture, mover *workertest.Mover[folder], indexed *table.Table[folder]) error {
				if _, err := mover.Restore(ctx, at(1)); err != nil {
					return ignoreConflicts(err)
				}
				_, err := indexed.Update(ctx, at(1), func(f *folder) error { *f = folderOf(0); return nil })
				return ignoreConflicts(err)
			}), move(archivingTogether))},
			Drain: move(func(ctx context.Context, _ *fixture, mover *workertest.Mover[folder], _ *table.Table[folder]) error {
				e, _, err := mover.Find(ctx, at(1))
				if err != nil {
					return err
				}
				return whole(e.Value)
			}),
			Check: func(s *storagetest.Service) error {
				return errors.Join(storedParts(s, "folders"), storedParts(s, "old"))
			},
		}
	}
	r := crashtest.Enumerate(t, build, testkit.Crash(crashtest.Options{PairLimit: -1, MaxLateness: 4, Sample: testkit.Sample(6)}))
	r.Require(t)
	t.Log(r)
}

// storedParts returns an error if a stored part has no head that lists it, or a head lists a part that is not there.
func storedParts(s *storagetest.Service, name string) error {
	listed, there := "", ""
	for _, r := range s.Rows(name) {
		if i := strings.LastIndex(r.RowKey, "!"); i >= 0 {
			there += r.RowKey[i+1:] + fmt.Sprint(r.Get("_part"))
		} else if d := r.Get("_parts"); d != nil {
			listed += d.(string)
		}
	}
	if listed != there {
		return fmt.Errorf("heads of %s list the parts %q; stored are %q", name, listed, there)
	}
	return nil
}

func ptr[X any](x X) *X { return &x }
