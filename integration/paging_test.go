package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// cursors: a list continues after a break in the middle of a page, and after its limit.
func cursors(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, nil)
	insertStaff(e, staff, "Sales", 250)
	q := table.Query[employee]{Partition: dept.PartitionKey("Sales"), PageSize: 100}
	token, ids := "", []int(nil)
	for steps := 0; ; steps++ {
		q.Cursor = table.NewCursor(token)
		n := 0
		for w, err := range staff.List(ctx, q) {
			e.must(err)
			ids = append(ids, w.Value.ID)
			if n++; n == 70 {
				break
			}
		}
		if token = q.Cursor.Token(); token == "" {
			break
		}
	}
	if len(ids) != 250 || !slices.IsSorted(ids) || ids[249] != 250 {
		e.Errorf("got %d IDs: %v; want 1 to 250 in order", len(ids), ids)
	}
	// Each of the three pages was left once in its middle, and read again.
	e.wantRequests("6 query")
	q = table.Query[employee]{Partition: dept.PartitionKey("Sales"), Limit: 100}
	pages := 0
	for token = ""; ; pages++ {
		p, err := staff.Page(ctx, q, token)
		e.must(err)
		if token = p.Token; token == "" {
			break
		}
	}
	if pages != 2 {
		e.Errorf("got %d pages before the last; want 2", pages)
	}
	e.wantRequests("3 query")
	// All partitions.
	insertStaff(e, staff, "Marketing", 30)
	q = table.Query[employee]{TableScan: true, Limit: 17}
	seen := map[string]int{}
	for token = ""; ; {
		p, err := staff.Page(ctx, q, token)
		e.must(err)
		for _, w := range p.Entities {
			seen[fmt.Sprint(w.Value.Department, w.Value.ID)]++
		}
		if token = p.Token; token == "" {
			break
		}
	}
	if len(seen) != 280 {
		e.Errorf("got %d entities; want 280", len(seen))
	}
	for k, n := range seen {
		if n != 1 {
			e.Errorf("%s: got it %d times; want once", k, n)
		}
	}
}

// resumeInOtherProcess: a process stores a token, and another process continues the list.
func resumeInOtherProcess(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, nil)
	insertStaff(e, staff, "Sales", 120)
	q := table.Query[employee]{Partition: dept.PartitionKey("Sales"), PageSize: 50, Cursor: new(table.Cursor)}
	n := 0
	for _, err := range staff.List(ctx, q) {
		e.must(err)
		if n++; n == 70 {
			break
		}
	}
	self, err := os.Executable()
	e.must(err)
	cmd := exec.Command(self, "-test.run=^TestOtherProcess$", "-test.v")
	cmd.Env = append(os.Environ(), "OTHER_TABLE="+staff.Name(), "OTHER_CONNECTION="+e.backend.ConnectionString(), "OTHER_TOKEN="+q.Cursor.Token())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "went on from 71 to 120") {
		e.Errorf("the other process: got error %v; want it to list 71 to 120\n%s", err, out)
	}
}

// TestOtherProcess is the other process of resumeInOtherProcess. It does nothing on its own.
func TestOtherProcess(t *testing.T) {
	name := os.Getenv("OTHER_TABLE")
	if name == "" {
		return
	}
	acc, err := account.FromConnectionString(os.Getenv("OTHER_CONNECTION"), nil)
	if err != nil {
		t.Fatal(err)
	}
	staff, err := bare.NewTable(acc.Tables(), name, staffSchema, nil)
	if err != nil {
		t.Fatal(err)
	}
	q := table.Query[employee]{Partition: dept.PartitionKey("Sales"), PageSize: 50, Cursor: table.NewCursor(os.Getenv("OTHER_TOKEN"))}
	var ids []int
	for w, err := range staff.List(context.Background(), q) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, w.Value.ID)
	}
	t.Logf("went on from %d to %d, %d in all", ids[0], ids[len(ids)-1], len(ids))
}

// manyKeys: GetMany yields the entities in the order of the keys, with one request each. A missing key does not end the list.
func manyKeys(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, nil)
	insertStaff(e, staff, "Sales", 100)
	var ks []keys.Key
	for i := range 100 {
		ks = append(ks, at("Sales", (i*37)%100+1))
	}
	ks[50] = at("Sales", 999)
	i := 0
	for w, err := range staff.GetMany(ctx, ks...) {
		if i == 50 {
			if w != nil || !errors.Is(err, table.ErrNotFound) {
				e.Errorf("missing key: got %+v, error %v; want ErrNotFound", w, err)
			}
		} else if err != nil || w.Key != ks[i] {
			e.Errorf("result %d: got %+v, error %v; want %v", i, w, err, ks[i])
		}
		i++
	}
	if i != 100 {
		e.Errorf("got %d results; want 100", i)
	}
	e.wantRequests("100 get")
	for _, err := range staff.GetMany(ctx, at("Sales", 1), keys.At(dept.PartitionKey("Sales"), keys.RawRow("a/b"))) {
		var ke *keys.KeyError
		if !errors.As(err, &ke) {
			e.Errorf("GetMany with an invalid key: got error %v; want a *KeyError", err)
		}
	}
	for range staff.GetMany(ctx) {
		e.Error("GetMany without keys: got a result; want none")
	}
	e.wantRequests("none")
}

// counts: Exists and Count.
func counts(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, nil)
	insertStaff(e, staff, "Sales", 1500)
	reviews := sameTable(e, staff, reviewSchema)
	_, err := reviews.Insert(ctx, &review{"Sales", 1, 2011, 4})
	e.must(err)
	e.counter.Take()
	yes, err := baretest.Exists(ctx, staff, at("Sales", 7))
	e.must(err)
	no, err := baretest.Exists(ctx, staff, at("Sales", 7000))
	e.must(err)
	if !yes || no {
		e.Errorf("Exists: got %v and %v; want true and false", yes, no)
	}
	e.wantRequests("2 query")
	n, err := staff.Count(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")})
	e.must(err)
	e.wantRequests("2 query")
	old, err := staff.Count(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales"), Where: age.Ge(59)})
	e.must(err)
	few, err := staff.Count(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales"), Limit: 10})
	e.must(err)
	all, err := reviews.Count(ctx, table.Query[review]{Partition: dept.PartitionKey("Sales")})
	e.must(err)
	if n != 1500 || old != 37 || few != 10 || all != 1 {
		e.Errorf("Count: got %d, %d, %d, %d; want 1500, 37, 10, 1", n, old, few, all)
	}
	missing, err := bare.NewTable(e.tables, freshName(), staffSchema, nil)
	e.must(err)
	if _, err := baretest.Exists(ctx, missing, at("Sales", 1)); !errors.Is(err, table.ErrNotCreated) {
		e.Errorf("Exists in a missing table: got error %v; want ErrNotCreated", err)
	}
	if _, err := staff.Count(ctx, table.Query[employee]{}); !errors.Is(err, table.ErrTableScan) {
		e.Errorf("Count without a partition: got error %v; want ErrTableScan", err)
	}
}

// partitions: Partitions yields each partition once, without reading its rows, and EachPartition works on several at once.
func partitions(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, nil)
	want := []string{"Marketing", "R=26D", "Sales", "Support"}
	for _, d := range []string{"Sales", "Marketing", "R&D", "Support"} {
		insertStaff(e, staff, d, 20)
	}
	raw := e.acc.Tables().NewClient(staff.Name())
	_, err := raw.AddEntity(ctx, []byte(`{"PartitionKey":"~i|library","RowKey":"x"}`), nil)
	e.must(err)
	e.counter.Take()
	var got []string
	for pk, err := range staff.Partitions(ctx, keys.PartitionRange{}) {
		e.must(err)
		got = append(got, pk.String())
	}
	if !slices.Equal(got, want) {
		e.Errorf("Partitions: got %q; want %q", got, want)
	}
	e.wantRequests("5 query")
	var mu sync.Mutex
	total := 0
	_, err = table.EachPartition(ctx, staff, nil, func(ctx context.Context, pk keys.PartitionKey) error {
		n, err := staff.Count(ctx, table.Query[employee]{Partition: pk})
		mu.Lock()
		defer mu.Unlock()
		total += n
		return err
	})
	e.must(err)
	if total != 80 {
		e.Errorf("entities of all partitions: got %d; want 80", total)
	}
	e.wantRequests("9 query")
	no := errors.New("no")
	if _, err := table.EachPartition(ctx, staff, &table.Pass{Concurrency: 2}, func(ctx context.Context, pk keys.PartitionKey) error {
		if pk.String() == "Marketing" {
			return no
		}
		<-ctx.Done() // the first error cancels the other calls
		return ctx.Err()
	}); err != no {
		e.Errorf("EachPartition with an error: got error %v; want %v", err, no)
	}
	missing, err := bare.NewTable(e.tables, freshName(), staffSchema, nil)
	e.must(err)
	if _, err := table.EachPartition(ctx, missing, nil, func(context.Context, keys.PartitionKey) error { return nil }); !errors.Is(err, table.ErrNotCreated) {
		e.Errorf("EachPartition of a missing table: got error %v; want ErrNotCreated", err)
	}
	only, err := bare.NewTable(e.tables, staff.Name(), table.Schema[employee]{Partition: keys.OnePartition[employee]("Sales")}, nil)
	e.must(err)
	got = nil
	for pk, err := range only.Partitions(ctx, keys.PartitionRange{}) {
		e.must(err)
		got = append(got, pk.String())
	}
	if fmt.Sprint(got) != "[Sales]" {
		e.Errorf("Partitions of a schema with one partition: got %q; want Sales", got)
	}
}

// partitionRanges: a range of PartitionKeys is read by one query, counted, paged and deleted, and the partitions outside are not.
func partitionRanges(e *env) {
	ctx := context.Background()
	month := keys.Partition(keys.Ordered().Named("m"), func(e *employee) *string { return &e.Department })
	staff := newTable(e, table.Schema[employee]{Partition: month, Row: staffSchema.Row}, nil)
	for _, m := range []string{"202511", "202512", "202601", "202602", "202603"} {
		insertStaff(e, staff, m, 20)
	}
	e.counter.Take()
	behind := func(m string) keys.PartitionRange { return month.All().Behind(month.Of(m)) }
	for want, in := range map[string]keys.PartitionRange{
		"[m_202512 m_202601]":          month.Between("202512", "202601"),
		"[m_202511 m_202512]":          month.Before("202601"),
		"[m_202602 m_202603]":          behind("202601"),
		"[m_202601]":                   month.Of("202601").Point(),
		"[m_202601 m_202602]":          behind("202512").Intersect(month.AtMost("202602")),
		"[m_202601 m_202602 m_202603]": month.Starting("2026"),
		"[]":                           behind("202603"),
	} {
		var got []string
		n := 0
		for x, err := range staff.List(ctx, table.Query[employee]{Partitions: in}) {
			e.must(err)
			if pk := x.Key.PartitionKey(); len(got) == 0 || got[len(got)-1] != pk {
				got = append(got, pk)
			}
			n++
		}
		if fmt.Sprint(got) != want || n != 20*len(got) {
			e.Errorf("partitions of %v: got %v with %d entities; want %s with 20 each", in, got, n, want)
		}
		e.wantRequests("1 query")
		if count, err := staff.Count(ctx, table.Query[employee]{Partitions: in}); err != nil || count != n {
			e.Errorf("Count of %v: got %d, %v; want %d", in, count, err, n)
		}
		q, paged := table.Query[employee]{Partitions: in, Limit: 7}, 0
		for token := ""; ; {
			page, err := staff.Page(ctx, q, token)
			e.must(err)
			paged += len(page.Entities)
			token = page.Token
			if token == "" {
				break
			}
		}
		if paged != n {
			e.Errorf("pages of %v: got %d entities; want %d", in, paged, n)
		}
		e.counter.Take()
		var listed []string
		for pk, err := range staff.Partitions(ctx, in) {
			e.must(err)
			listed = append(listed, pk.String())
		}
		if !slices.Equal(listed, got) {
			e.Errorf("PartitionsIn %v: got %v; want %v", in, listed, got)
		}
		e.counter.Take()
	}
	if _, err := table.Bulk(ctx, tabledoor.DeleteOps(ctx, staff, table.Query[employee]{Partitions: month.Before("202602")}), nil); err != nil {
		e.Errorf("bulk delete of a range: got error %v; want none", err)
	}
	if n, err := staff.Count(ctx, table.Query[employee]{TableScan: true}); err != nil || n != 40 {
		e.Errorf("entities after the bulk delete: got %d, %v; want 40", n, err)
	}
	e.counter.Take()
	var ke *keys.KeyError
	var ve *table.ValueError
	for _, q := range []table.Query[employee]{{Partitions: month.Between("b", "a")}, {Partitions: keys.RawPartitions("b", "a")}, {Partitions: keys.RawPartitions("a", "b")}} {
		if _, err := staff.Count(ctx, q); !errors.As(err, &ke) {
			e.Errorf("Count of %v: got error %v; want a *keys.KeyError", q.Partitions, err)
		}
	}
	if _, err := staff.Count(ctx, table.Query[employee]{Partition: month.Of("a"), Partitions: month.All()}); !errors.As(err, &ve) {
		e.Errorf("Count of a partition and a range: got error %v; want a *table.ValueError", err)
	}
	if ex, err := staff.Explain(table.Query[employee]{Partitions: month.Before("202602")}); err != nil || ex.Class != "scan of a range of partitions" {
		e.Errorf("Explain: got %v, %v; want a scan of a range of partitions", ex.Class, err)
	}
	e.wantRequests("none")
}

// budgets: a list ends when it has used up its budget, and continues with the next.
func budgets(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, nil)
	insertStaff(e, staff, "Sales", 300)
	q := table.Query[employee]{Partition: dept.PartitionKey("Sales"), PageSize: 100, Cursor: new(table.Cursor), Budget: table.Budget{Requests: 2, Time: time.Hour}}
	n, over := 0, 0
	for !q.Cursor.Done() {
		for _, err := range staff.List(ctx, q) {
			if errors.Is(err, table.ErrBudget) {
				over++
				break
			}
			e.must(err)
			n++
		}
	}
	if n != 300 || over != 1 {
		e.Errorf("got %d entities, and %d times ErrBudget; want 300 and 1", n, over)
	}
}
