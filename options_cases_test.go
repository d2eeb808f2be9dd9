package aztablekit_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// optionItem is the type of entities of TestOptions.
type optionItem struct {
	Group, Name string
	Size        int64
	Ends        time.Time
}

var (
	optionGroup = keys.Partition(keys.Text(), func(i *optionItem) *string { return &i.Group })
	optionName  = keys.Row(keys.Text().Named("item"), func(i *optionItem) *string { return &i.Name })
)

// optionRun is a call in progress, on a store of its own.
type optionRun struct {
	t       *testing.T
	service *storagetest.Service
	store   *aztablekit.Store
	items   *table.Table[optionItem]
	plain   *table.Table[badge]
	bySize  *index.Index[optionItem, int64]
	byName  *index.Unique[optionItem, string]
	ends    *expire.Ends[optionItem]
	ctx     context.Context
	stop    context.CancelFunc

	mu    sync.Mutex
	began time.Time
	seen  []string
}

// optionStore has no pauses of random length.
var optionStore = &aztablekit.Options{Daily: -1, Common: table.Common{Retry: table.Retry{ConflictWait: -1}}}

func bySizeOf(i *optionItem) (int64, bool)  { return i.Size, true }
func byNameOf(i *optionItem) (string, bool) { return i.Group + i.Name, true }

// newOptionRun makes a table of three partitions, of which index rows are missing.
func newOptionRun(t *testing.T) *optionRun {
	r := &optionRun{t: t, service: storagetest.New(nil), ctx: t.Context()}
	r.store = aztablekit.Open(r.service, "items", optionStore)
	r.bySize = index.New("size", keys.Digits[int64](6), bySizeOf, nil)
	r.byName = index.NewUnique("name", keys.Text(), byNameOf, nil)
	r.ends = expire.At(func(i *optionItem) time.Time { return i.Ends }, &expire.Options{ManyPartitions: true})
	effect := eventual.On("effect", func(c *eventual.Change[optionItem]) (string, bool) { return "", c.Old == nil }, func(context.Context, eventual.Job, string) error { return nil })
	r.items = aztablekit.Table(r.store, "items", optionGroup, optionName, r.bySize, r.byName, r.ends, effect, jobs.Repair[optionItem]("check"))
	r.plain = aztablekit.Table(r.store, "plain", badgeDept, badgeNo)
	r.must(r.store.Ensure(r.ctx))
	for _, group := range []string{"a", "b", "c"} {
		for i := range 4 {
			v := optionItem{Group: group, Name: fmt.Sprint(i), Size: int64(i)}
			if i == 3 {
				v.Ends = time.Now().Add(time.Hour)
			}
			_, err := r.items.Insert(r.ctx, &v)
			r.must(err)
		}
	}
	for _, row := range r.service.Rows("items") {
		if row.RowKey == "size_000001_item_1" || row.RowKey == "size_000001_1" {
			_, err := r.service.Tables().NewClient("items").DeleteEntity(r.ctx, row.PartitionKey, row.RowKey, nil)
			r.must(err)
		}
	}
	return r
}

func (r *optionRun) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// begin begins to look: each request takes a second.
func (r *optionRun) begin() {
	r.began = time.Now()
	r.seen = nil
	r.ctx, r.stop = context.WithTimeout(r.t.Context(), 10*time.Minute) // for what waits for workers
	r.service.SetFaults(func(q storagetest.Request) storagetest.Fault {
		r.note("%v %s %s", q.Kind, q.Table+q.Queue, q.PartitionKey)
		return storagetest.Slow(time.Second)
	})
}

// wait waits before the call begins.
func (r *optionRun) wait(d time.Duration) {
	r.stop()
	time.Sleep(d)
	r.begin()
}

// note notes what happens.
func (r *optionRun) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, fmt.Sprintf(format, args...))
}

// end returns what was seen.
func (r *optionRun) end(err error) string {
	took := time.Since(r.began)
	r.stop()
	r.service.SetFaults(nil)
	time.Sleep(time.Minute)
	r.note("took %v", took.Round(time.Second))
	if err != nil {
		r.note("error: %v", err)
	}
	for _, name := range r.service.TableNames() {
		r.note("%d rows of %s", len(r.service.Rows(name)), name)
	}
	return lines(r.seen)
}

// of returns a value that needs the run.
func of[V any](f func(*optionRun) V) func(*optionRun) any {
	return func(r *optionRun) any { return f(r) }
}

func noted[V any]() func(*optionRun) any {
	return of(func(r *optionRun) func(V) { return func(V) { r.note("called") } })
}

// optionCases are the calls.
func optionCases() []optionCase {
	one := optionGroup.Of("a").Point()
	skip := of(func(r *optionRun) func(keys.Key, error) bool {
		return func(keys.Key, error) bool { r.note("skipped"); return true }
	})
	pass := map[string]any{
		"Skip":   skip,
		"DryRun": true, "RecordsOnly": true, "Partitions": one, "Rows": optionName.All(), "Rate": 1, "Concurrency": 3, "Token": "x",
		"Fault": noted[verify.Fault](), "Progress": noted[table.Progress](), "MostRows": 1, "LeavePrepared": true, "CommitOrphans": true, "RollBackOrphans": true,
	}
	fill := map[string]any{
		"Skip":  skip,
		"Table": "others", "Partitions": one, "Workers": true, "DryRun": true, "Fault": noted[verify.Fault](), "Rate": 1, "Concurrency": 3, "Token": "x",
		"Progress": noted[table.Progress](),
	}
	whole := map[string]any{
		"Partitions": one, "Rate": 1, "Concurrency": 1, "Token": "x", "DryRun": true, "Progress": noted[table.Progress](),
		"Skip": skip,
	}
	all := []optionCase{
		{call: "verify.Repair", options: &verify.Options{}, values: pass, run: func(r *optionRun, o any) error {
			_, err := verify.Repair(r.ctx, r.items, o.(*verify.Options))
			return err
		}, elsewhere: map[string]string{"LeavePrepared": "nothing is prepared", "CommitOrphans": "there are none", "RollBackOrphans": "there are none"}},
		{call: "Store.Repair", options: &verify.Options{}, values: pass, run: func(r *optionRun, o any) error {
			_, err := r.store.Repair(r.ctx, o.(*verify.Options))
			return err
		}, elsewhere: map[string]string{"LeavePrepared": "nothing is prepared", "CommitOrphans": "there are none", "RollBackOrphans": "there are none"}},
		{call: "Store.Fill", options: &aztablekit.FillOptions{}, values: fill, run: func(r *optionRun, o any) error {
			r.unfill()
			_, err := r.store.Fill(r.ctx, o.(*aztablekit.FillOptions))
			return err
		}, elsewhere: map[string]string{"Token": "a token of another state begins anew"}},
		{call: "Store.Retire", options: &table.Pass{}, values: whole, run: func(r *optionRun, o any) error {
			return r.store.Retire(r.ctx, "items", "size", o.(*table.Pass))
		}, elsewhere: map[string]string{"Token": "a token of another state begins anew"}},
		{call: "table.Bulk", options: &table.Pass{}, values: whole, run: func(r *optionRun, o any) error {
			_, err := r.plain.Insert(r.ctx, &badge{"stored", 1})
			r.must(err)
			_, err = table.Bulk(r.ctx, r.inserts(), o.(*table.Pass))
			return err
		}},
		{call: "table.BulkDelete", options: &table.Pass{}, values: whole, run: func(r *optionRun, o any) error {
			r.fill()
			_, err := table.BulkDelete(r.ctx, r.plain, table.Query[badge]{TableScan: true}, o.(*table.Pass))
			return err
		}, elsewhere: map[string]string{"Skip": "nothing is refused"}},
		{call: "Store.NotifyPending", options: &table.Pass{}, values: whole, run: func(r *optionRun, o any) error {
			r.wait(time.Hour)
			done, err := r.store.NotifyPending(r.ctx, "items", 0, o.(*table.Pass))
			r.note("%d sent", done.Changed)
			return err
		}},
		{call: "Ends.Sweep", options: &table.Pass{}, values: whole, run: func(r *optionRun, o any) error {
			r.wait(25 * time.Hour)
			_, err := r.ends.Sweep(r.ctx, r.items, o.(*table.Pass))
			return err
		}, elsewhere: map[string]string{"Rate": "three entities are over", "Skip": "each can be deleted"}},
	}
	return all
}

// unfill makes the definitions unfilled, as those of a table from before its catalogue.
func (r *optionRun) unfill() {
	_, err := r.service.Tables().NewClient("items").DeleteEntity(r.ctx, "~c", "~c", nil)
	r.must(err)
	r.must(r.store.Ensure(r.ctx))
}

// inserts yields inserts into two partitions, of which the last is refused.
func (r *optionRun) inserts() iter.Seq2[table.Op, error] {
	return func(yield func(table.Op, error) bool) {
		for i := range 220 {
			if !yield(r.plain.InsertOp(&badge{fmt.Sprint(i % 2), i}), nil) {
				return
			}
		}
		yield(r.plain.InsertOp(&badge{"stored", 1}), nil)
	}
}

// fill stores what BulkDelete deletes.
func (r *optionRun) fill() {
	for i := range 220 {
		_, err := r.plain.Insert(r.ctx, &badge{fmt.Sprint(i % 2), i})
		r.must(err)
	}
}
