package index_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

var liveTable = testkit.Count("livetable", 3_000, "entities of the table of TestLiveTable")

// TestLiveTable: a table of many entities that four programs write to gets two definitions, and ends exact; then faults of
// four kinds are planted, found and repaired, and nothing else is touched.
func TestLiveTable(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	n := *liveTable
	if testing.Short() {
		n = min(n, 2_000)
	}
	ctx := context.Background()
	s := storagetest.New(nil)
	base := openAs(t, s.ConnectionString(), s, schema)
	check(t, tabledoor.Ensure(ctx, base))
	t.Logf("inserting %d entities", n)
	_, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range n {
			w := workerOf(i)
			if !yield(base.InsertOp(&w), nil) {
				return
			}
		}
	}, nil)
	check(t, err)
	definitions := []extend.Definition[worker]{byEmail, byLast}
	staff, err := baretest.Attach(base, definitions...)
	check(t, err)

	t.Log("adding two definitions while four programs write")
	// Each call of Progress gives 40 writes to four programs.
	turns := make(chan bool, 4*n)
	var wg sync.WaitGroup
	var writes atomic.Int64
	for w := range 4 {
		rng := rand.New(rand.NewPCG(1, uint64(w)))
		wg.Go(func() {
			for range turns {
				if err := writeSomething(ctx, staff, workerOf(rng.IntN(n)), rng); err != nil && !errors.Is(err, table.ErrNotFound) {
					t.Errorf("write while verify.Check runs: got error %v; want none or ErrNotFound", err)
				}
				writes.Add(1)
			}
		})
	}
	r, err := verify.Repair(ctx, staff, &verify.Options{Pass: table.Pass{Concurrency: 8, Progress: func(table.Progress) {
		for range 40 {
			turns <- true
		}
	}}}, asDefinitions(definitions)...)
	close(turns)
	wg.Wait()
	if err != nil || r.Faults > 0 || writes.Load() < int64(n/100) {
		t.Fatalf("verify with repair: got report %+v, error %v and %d writes; want a sound report, no error and at least %d writes", r, err, writes.Load(), n/100)
	}
	t.Logf("%+v while %d writes were done", r, writes.Load())
	if err := checkCopiesOf("email", "last")(s); err != nil {
		t.Fatalf("index rows after the backfill: got error %v; want none", err)
	}
	// The next release reads the index.
	next, err := baretest.Attach(base, byEmail, byLast)
	check(t, err)
	some := ids(t, byLast.Query(ctx, next, table.Query[worker]{Partition: dept.PartitionKey("S1"), Limit: 5}))
	testkit.Expect(t, "entities that the next release reads by the index last", len(some), 5)

	t.Log("planting faults, and repairing them")
	// The faults are of four kinds, of entities that are all different.
	rows := rawTable(t, s)
	planted := map[string]int{}
	var harmed = map[string]bool{}
	count := 0
	each := min(250, n/40)
	for _, row := range s.Rows("staff") {
		if !strings.HasPrefix(row.RowKey, "w_") || row.Get("Email") == nil {
			continue
		}
		if count++; count%(n/1300+1) != 0 {
			continue
		}
		mail := keys.Raw(row.PartitionKey, "email_"+strings.ToLower(row.Get("Email").(string)))
		pointer := keys.Raw(row.PartitionKey, fmt.Sprintf("last_%s!_%s", row.Get("Last"), row.RowKey))
		kind := []string{verify.Missing, verify.Dangling, verify.Stale, verify.StateMismatch}[count/(n/1300+1)%4]
		if planted[kind] == each {
			continue
		}
		planted[kind]++
		harmed[row.PartitionKey+row.RowKey] = true
		switch kind {
		case verify.Missing:
			check(t, rows.DeleteAny(ctx, pointer))
		case verify.Stale:
			check(t, rows.MergeAny(ctx, mail, table.PropertyOf[int64]("Age").Set(999)))
		case verify.Dangling:
			owner := row.RowKey
			row := &table.Row{Key: keys.Raw(row.PartitionKey, "email_nobody"+row.RowKey)}
			src, err := tabledoor.GetRow(ctx, rows, mail)
			check(t, err)
			src.Key = keys.Raw(row.Key.PartitionKey(), owner)
			_, err = door.Rows[table.Table[table.Row]](door.Table(rows), false).InsertAt(ctx, row.Key, src.Copy(row.Key))
			check(t, err)
		case verify.StateMismatch:
			// A program that does not use indexes removes the state, and keeps the operation ID.
			overwriteRow(t, s, row, func(c map[string]any) { delete(c, "_ix") })
		}
	}
	if sum := planted[verify.Missing] + planted[verify.Dangling] + planted[verify.Stale] + planted[verify.StateMismatch]; sum != 4*each {
		t.Fatalf("planted faults: got %v; want %d of each of the 4 kinds", planted, each)
	}
	before, contents := map[string]string{}, map[string]string{}
	entities := 0
	for _, row := range s.Rows("staff") {
		before[row.PartitionKey+row.RowKey] = row.ETag
		if strings.HasPrefix(row.RowKey, "w_") {
			entities++
			contents[row.PartitionKey+row.RowKey] = users(row)
		}
	}
	for _, repair := range []bool{false, true} {
		r, err = verify.Repair(ctx, staff, &verify.Options{Pass: table.Pass{DryRun: !repair, Concurrency: 8}}, asDefinitions(definitions)...)
		check(t, err)
		t.Logf("planted %v: %+v", planted, r)
		want := maps.Clone(planted)
		want[verify.StateMismatch] *= len(definitions) // each definition reports the entity
		if !maps.Equal(derived.Kinds(r), want) {
			t.Errorf("faults of verify, repair %v: got %v; want %v", repair, derived.Kinds(r), want)
		}
	}
	if r.Faults > 0 {
		t.Errorf("verify with repair of the planted faults: got report %+v; want a sound report", r)
	}
	if err := checkCopiesOf("email", "last")(s); err != nil {
		t.Fatalf("index rows after the repair: got error %v; want none", err)
	}
	touched, kept := 0, 0
	for _, row := range s.Rows("staff") {
		owner, _ := row.Get("_sys").(string)
		if owner == "" {
			owner = row.RowKey
		}
		if strings.HasPrefix(row.RowKey, "w_") {
			if kept++; contents[row.PartitionKey+row.RowKey] != users(row) {
				t.Fatalf("properties of %s after the repair: got %s; want %s", row.RowKey, users(row), contents[row.PartitionKey+row.RowKey])
			}
			delete(contents, row.PartitionKey+row.RowKey)
		}
		if before[row.PartitionKey+row.RowKey] != row.ETag {
			if touched++; !harmed[row.PartitionKey+owner] {
				t.Fatalf("ETag of %s, whose entity has no planted fault: got %s; want %s", row.RowKey, row.ETag, before[row.PartitionKey+row.RowKey])
			}
		}
	}
	for k := range contents {
		t.Errorf("entity %s after the repair: got no row; want its row", k)
	}
	if kept != entities || touched == 0 {
		t.Errorf("after the repair: got %d entities and %d rows written; want %d entities, as before, and some rows written", kept, touched, entities)
	}
	t.Logf("%d of %d rows were written", touched, len(before))
}

func workerOf(i int) worker {
	return worker{fmt.Sprint("S", i%40), i, fmt.Sprint("L", i%1000), fmt.Sprint("m", i, "@x"), i % 100, nil}
}

// writeSomething updates, deletes or replaces a worker.
func writeSomething(ctx context.Context, staff *table.Table[worker], v worker, rng *rand.Rand) error {
	k := keys.At(dept.PartitionKey(v.Dept), wid.RowKey(v.ID))
	switch rng.IntN(4) {
	case 0:
		return staff.DeleteAny(ctx, k)
	case 1:
		v.Email = fmt.Sprint("n", v.ID, "@x")
		_, err := staff.Upsert(ctx, &v, table.ReplaceExisting)
		return err
	}
	_, err := staff.Update(ctx, k, func(w *worker) error {
		w.Last, w.Age = fmt.Sprint("N", rng.IntN(50)), rng.IntN(100)
		return nil
	})
	return err
}

// users returns the properties of a row that are not the library's.
func users(row storagetest.Row) string {
	return fmt.Sprint(row.Get("Last"), row.Get("Email"), row.Get("Age"), row.Get("Tags"))
}
