package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

var streams = testkit.Count("streams", 12, "how many streams TestBulkAnything executes")

// TestBulkAnything: a random stream of operations has the effect of the same operations one after another, with faults too.
func TestBulkAnything(t *testing.T) {
	t.Parallel()
	n := *streams
	if testing.Short() {
		n = testkit.Fewer(min(n, 10))
	}
	for seed := range n {
		if newStreamed(t, seed).run(); t.Failed() {
			t.Fatalf("seed %d: got the failures above; want none", seed)
		}
	}
}

// step is an operation of a stream, and what it makes of its row.
type step struct {
	key    keys.Key
	op     table.Op
	does   string
	after  func(worker) worker
	etag   bool // the operation has an ETag
	entity *table.Entity[worker]
}

// streamed is a table with rows, and a stream of operations on them.
type streamed struct {
	t      *testing.T
	rnd    *rand.Rand
	s      *storagetest.Service
	staff  *table.Table[worker]
	places []string // partitions
	right  func(*storagetest.Service) error
	ids    int

	model  map[keys.Key]worker
	loaded []*table.Entity[worker]
	steps  []step
	faulty bool
}

func (x *streamed) one(all ...string) string { return all[x.rnd.IntN(len(all))] }

func (x *streamed) worker() worker {
	w := worker{x.one(x.places...), x.rnd.IntN(x.ids), x.one("Jones", "Smith", "Cao", ""), "", x.rnd.IntN(60), nil}
	if x.rnd.IntN(3) == 0 {
		w.Email = x.one("a", "b", "C", fmt.Sprint("m", x.rnd.IntN(200)))
	}
	for range x.rnd.IntN(4) {
		w.Tags = append(w.Tags, x.one("x", "y", "z", "u"))
	}
	return w
}

func newStreamed(t *testing.T, seed int) *streamed {
	ctx := context.Background()
	x := &streamed{t: t, rnd: rand.New(rand.NewPCG(uint64(seed), 7)), model: map[keys.Key]worker{}}
	definitions := copyDefinitions()
	x.right, x.places, x.ids = checkCopies, []string{"S", "T", "U"}, 20+x.rnd.IntN(200)
	shared := x.rnd.IntN(2) == 0
	if shared {
		x.right, x.places, definitions = checkShared, []string{"S"}, sharedDefinitions()
	}
	if x.staff, x.s = newStaff(t, definitions...); x.rnd.IntN(3) == 0 {
		x.staff = x.staff.Exact()
	}
	check(t, insertForeignRows(ctx, rawTable(t, x.s)))
	x.right = withForeignRows(x.right)
	if shared {
		_, err := openAs(t, x.s.ConnectionString(), x.s, depts).Insert(ctx, &department{Name: "S", Budget: 7})
		check(t, err)
	}
	for range x.rnd.IntN(100) {
		w := x.worker()
		if e, err := x.staff.Insert(ctx, &w); err == nil {
			x.model[e.Key] = w
			x.loaded = append(x.loaded, e)
		}
	}
	for range 100 + x.rnd.IntN(300) {
		x.steps = append(x.steps, x.step())
	}
	return x
}

func (x *streamed) step() step {
	w := x.worker()
	st := step{key: keys.At(dept.PartitionKey(w.Dept), wid.RowKey(w.ID)), after: func(worker) worker { return w }}
	merged := func(old worker) worker { old.Last, old.Email, old.Age = w.Last, w.Email, w.Age; return old }
	sets := []table.Set[worker]{last.Set(w.Last), email.Set(w.Email), age.Set(w.Age)}
	if len(x.loaded) == 0 || x.rnd.IntN(3) > 0 {
		switch x.rnd.IntN(6) {
		case 0, 1:
			st.does, st.op = "insert", x.staff.InsertOp(&w)
		case 2:
			st.does, st.op = "upsert", x.staff.UpsertOp(&w, table.ReplaceExisting)
		case 3:
			st.does, st.op = "upsert", x.staff.UpsertOp(&w, table.MergeExisting)
			st.after = func(old worker) worker {
				is := w
				if is.Tags == nil { // an absent list is not sent
					is.Tags = old.Tags
				}
				return is
			}
		case 4:
			st.does, st.op, st.after = "merge", baretest.MergeAnyOp(x.staff, st.key, sets...), merged
		case 5:
			st.does, st.op = "delete", x.staff.DeleteAnyOp(st.key)
		}
		return st
	}
	e := x.loaded[0]
	x.loaded, st.key, st.etag, st.entity = x.loaded[1:], e.Key, true, e
	w.Dept, w.ID = e.Value.Dept, e.Value.ID
	switch x.rnd.IntN(5) {
	case 0:
		st.does, st.op, st.after = "merge", x.staff.MergeOp(e, sets...), merged
	case 1:
		st.does, st.op, st.after = "touch", baretest.TouchOp(x.staff, e), func(w worker) worker { return w }
	case 2:
		st.does, st.op = "delete", x.staff.DeleteOp(e)
	case 3:
		e.Value = w
		st.does, st.op = "replace", x.staff.ReplaceOp(e)
	case 4:
		e.Value = w
		st.does, st.op, st.etag = "replace", baretest.ReplaceAnyOp(x.staff, e), false
	}
	return st
}

// faults makes some writes fail. Reads are repeated by the SDK, which waits.
func (x *streamed) faults() {
	if x.faulty = x.rnd.IntN(2) == 0; !x.faulty {
		return
	}
	chance := 1 + x.rnd.IntN(6)
	x.s.SetFaults(func(q storagetest.Request) storagetest.Fault {
		if q.Kind == requests.Get || q.Kind == requests.Query || x.rnd.IntN(100) >= chance {
			return storagetest.Fault{}
		}
		return []storagetest.Fault{storagetest.LostResponse(), storagetest.LostRequest(), storagetest.Twice(), storagetest.NotSent(), storagetest.Refuse(503, "ServerBusy")}[x.rnd.IntN(5)]
	})
}

func (x *streamed) run() {
	o := &engine.BulkOptions{Concurrency: 1 + x.rnd.IntN(4), Window: 1 + x.rnd.IntN(300)}
	if x.faults(); x.faulty {
		o.Concurrency = 1 // for the faults are drawn in the order of requests
	}
	skipped := map[int]error{}
	o.Skip = func(i int, err error) bool {
		var be *table.BatchError
		if !errors.As(err, &be) || be.Index != i || be.Key != x.steps[i].key || skipped[i] != nil {
			x.t.Errorf("Skip of operation %d: got error %v; want one *table.BatchError with this index and the key %v", i, err, x.steps[i].key)
		}
		skipped[i] = err
		return true
	}
	result, err := door.Bulk(context.Background(), func(yield func(table.Op, error) bool) {
		for _, st := range x.steps {
			if !yield(st.op, nil) {
				return
			}
		}
	}, o)
	x.s.SetFaults(nil)
	rows := openAs(x.t, x.s.ConnectionString(), x.s, table.Schema[table.Row]{})
	for _, row := range x.s.Rows("staff") {
		if strings.HasPrefix(row.RowKey, "~i|") { // the commit records of Exact
			check(x.t, rows.DeleteAny(context.Background(), keys.Raw(row.PartitionKey, row.RowKey)))
		}
	}
	if wrong := x.right(x.s); wrong != nil {
		x.t.Errorf("check of all rows: got error %v; want none (Run returned the error %v)", wrong, err)
	}
	if err == nil {
		x.compare(result, skipped)
		return
	}
	var be *table.BatchError
	if !x.faulty || !errors.As(err, &be) || be.Index < result.ResumeAt {
		x.t.Errorf("Run, with faults %v: got error %v, result %+v; want no error, or with faults a *table.BatchError whose Index is at least ResumeAt", x.faulty, err, result)
	}
}

// compare executes the steps one after another in the model.
func (x *streamed) compare(result engine.BulkResult, skipped map[int]error) {
	wrote := map[keys.Key]int{}
	want := engine.BulkResult{ResumeAt: len(x.steps)}
	for i, st := range x.steps {
		old, there := x.model[st.key]
		_, changed := wrote[st.key]
		var expected error
		switch {
		case st.does == "delete" && !there:
			if want.Missing++; skipped[i] != nil {
				x.t.Errorf("operation %d, delete of a missing row: got error %v; want none", i, skipped[i])
			}
			continue
		case st.does == "insert" && there:
			expected = table.ErrExists
		case st.does != "insert" && st.does != "upsert" && !there:
			expected = table.ErrNotFound
		case st.etag && changed:
			expected = table.ErrChanged
		}
		switch is := skipped[i]; {
		case expected == nil && errors.Is(is, table.ErrTaken):
			taken := false // a value that a later step gives up may count as taken; a free value never does
			for k, w := range x.model {
				taken = taken || k != st.key && k.PartitionKey() == st.key.PartitionKey() && strings.EqualFold(w.Email, st.after(old).Email)
			}
			if !taken {
				x.t.Errorf("operation %d, %s: got error %v; want none, because no other entity has the value", i, st.does, is)
			}
		case expected == nil && is != nil, expected != nil && !errors.Is(is, expected) && !errors.Is(is, table.ErrTaken):
			x.t.Errorf("operation %d, %s of %v: got error %v; want %v", i, st.does, st.key, is, expected)
		}
		if skipped[i] != nil {
			want.Skipped++
			continue
		}
		want.Applied++
		wrote[st.key] = i
		if delete(x.model, st.key); st.does != "delete" {
			x.model[st.key] = st.after(old)
		}
	}
	if n := result.Missing - want.Missing; x.faulty && n > 0 { // deletes that arrived twice
		want.Missing, want.Applied = want.Missing+n, want.Applied-n
	}
	testkit.Expect(x.t, "result", result, want)
	n := 0
	for _, place := range x.places {
		for e, err := range x.staff.List(context.Background(), table.Query[worker]{Partition: dept.PartitionKey(place)}) {
			check(x.t, err)
			n++
			if w, ok := x.model[e.Key]; !ok || fmt.Sprint(e.Value) != fmt.Sprint(w) {
				x.t.Errorf("entity %v: got %+v; want %+v (in the model: %v)", e.Key, e.Value, w, ok)
			}
			if i, is := wrote[e.Key]; is && x.steps[i].entity != nil {
				if mine := x.steps[i].entity; mine.ETag != e.ETag || baretest.TouchOp(x.staff, mine).Err() != nil {
					x.t.Errorf("entity of operation %d, %s: got ETag %s, error of a touch %v; want ETag %s and no error", i, x.steps[i].does, mine.ETag, baretest.TouchOp(x.staff, mine).Err(), e.ETag)
				}
			}
		}
	}
	testkit.Expect(x.t, "rows", n, len(x.model))
}
