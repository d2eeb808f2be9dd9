package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// newFill returns a scene with n employees from before the definition, what writes them again, and their entities. before is called before
// each request of the writer.
func newFill(t *testing.T, n int, before func(s *scene, r *http.Request)) (s *scene, writer *table.Table[employee], all []*table.Entity[employee]) {
	t.Helper()
	ctx := context.Background()
	s = newScene(t)
	hooked := &testkit.Hooked{Service: s.Service, Serial: true, BeforeRequest: func(r *http.Request) { before(s, r) }}
	p := s.open(t, hooked)
	o := &table.Options{}
	o.Retry.Wait, o.Retry.ConflictWait = -1, -1
	options.SetNow(&o.Common, s.Now)
	base, err := bare.NewTable(s.Tables(), "staff", staffSchema, o)
	testkit.NoError(t, err)
	for i := range n {
		e, err := base.Insert(ctx, &employee{"Sales", i, "Jones"})
		testkit.NoError(t, err)
		all = append(all, e)
	}
	rows, err := bare.NewTable(door.Table(p.staff).Service, "names", table.Schema[table.Row]{}, o)
	testkit.NoError(t, err)
	names := byLast{rows}
	writer = door.InMode(p.staff, func(m *engine.Mode) {
		m.Outbox = reconcile.Filling(m.Outbox, "names", p.staff, func(k keys.Key, err error) { t.Errorf("%v: got %v", k, err) }, names)
	})
	s.Count()
	return s, writer, all
}

func touch(writer *table.Table[employee], all []*table.Entity[employee]) error {
	_, err := table.Bulk(context.Background(), func(yield func(table.Op, error) bool) {
		for _, e := range all {
			if !yield(baretest.TouchOp(writer, e), nil) {
				return
			}
		}
	}, nil)
	return err
}

// TestFill: the rows of many entities of a partition take a request each, and 6 for all.
func TestFill(t *testing.T) {
	t.Parallel()
	s, writer, all := newFill(t, 90, func(*scene, *http.Request) {})
	testkit.NoError(t, touch(writer, all))
	testkit.Expect(t, "requests", s.Count().String(), "1 get, 90 insert, 1 merge, 1 message-delete, 1 message-put, 1 query, 1 transaction")
	testkit.Expect(t, "rows", len(s.Rows("names")), 90)
}

// TestFillMeanwhile: while a fill works, entities are changed or deleted, and workers bring their rows up to date. Nothing of what the fill has
// read comes back, and no row is lost.
func TestFillMeanwhile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, moment := range []string{"the transaction", "the commit record", "the entities", "the rows"} {
		t.Run("before "+moment, func(t *testing.T) {
			t.Parallel()
			done := false
			s, writer, all := newFill(t, 12, func(s *scene, r *http.Request) {
				now := map[string]bool{
					"the transaction":   strings.HasSuffix(r.URL.Path, "$batch"),
					"the commit record": strings.Contains(r.URL.Path, "~i%7C") || strings.Contains(r.URL.Path, "~i|"),
					"the entities":      r.Method == http.MethodGet && strings.Contains(r.URL.RawQuery, "empid_"),
					"the rows":          r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/names"),
				}[moment]
				if done || !now {
					return
				}
				done = true
				other := s.open(t, s.Service)
				err := other.staff.DeleteAny(ctx, keys.At(dept.Of("Sales"), empid.Of(3)))
				_, err2 := other.staff.Update(ctx, keys.At(dept.Of("Sales"), empid.Of(5)), func(e *employee) error { e.Last = "Smith"; return nil })
				other.worker.Drain(ctx)
				if err != nil || err2 != nil {
					t.Errorf("the writes meanwhile: got %v, %v", err, err2)
				}
			})
			if err := touch(writer, all); err != nil && moment != "the transaction" {
				t.Fatal(err)
			}
			if moment == "the transaction" {
				return // it is refused as a whole
			}
			testkit.NoError(t, s.worker.Drain(ctx))
			live := map[string]int{}
			for _, r := range s.Rows("names") {
				if !strings.Contains(r.Get("_sys").(string), "/~/") {
					live[r.PartitionKey]++
				}
			}
			if want := map[string]int{"Jones": 10, "Smith": 1}; !done || fmt.Sprint(live) != fmt.Sprint(want) {
				t.Errorf("got %v, done %v; want %v", live, done, want)
			}
		})
	}
}

// TestFillSuspended: a program that is suspended between its read of the entities and its writes reads again: a tombstone may have been swept
// meanwhile.
func TestFillSuspended(t *testing.T) {
	t.Parallel()
	for pause, gets := range map[time.Duration]string{11 * time.Hour: "1 get", 13 * time.Hour: "25 get"} {
		waited := false
		s, writer, all := newFill(t, 12, func(s *scene, r *http.Request) {
			if !waited && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/names") {
				waited = true
			}
			if !waited && r.Method == http.MethodGet && strings.Contains(r.URL.RawQuery, "empid_") {
				s.Advance(pause)
				waited = true
			}
		})
		testkit.NoError(t, touch(writer, all))
		if sent := s.Count().String(); !strings.HasPrefix(sent, gets+",") {
			t.Errorf("after %v: got the requests %s; want %s", pause, sent, gets)
		}
		testkit.Expect(t, "rows", len(s.Rows("names")), 12)
	}
}

// TestFillNever: a row that another program has under the key of one of several is reported, and the others are stored.
func TestFillNever(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, writer, all := newFill(t, 12, func(*scene, *http.Request) {})
	var mu sync.Mutex
	failed := map[keys.Key]error{}
	names := refusing{byLast{door.Rows[table.Table[table.Row]](door.Table(mustNames(t, s)), false)}}
	writer = door.InMode(writer, func(m *engine.Mode) {
		m.Outbox = reconcile.Filling(m.Outbox, "names", s.staff, func(k keys.Key, err error) {
			mu.Lock()
			defer mu.Unlock()
			failed[k] = err
		}, names)
	})
	testkit.NoError(t, touch(writer, all))
	third := keys.At(dept.Of("Sales"), empid.Of(3))
	if len(failed) != 1 || !errors.Is(failed[third], table.ErrForeignRow) || len(s.Rows("names")) != 11 {
		t.Errorf("got %v and %d rows; want ErrForeignRow for %v, and 11 rows", failed, len(s.Rows("names")), third)
	}
	n := 0
	for _, err := range records.Of(s.staff).Pending(ctx, dept.Of("Sales"), "", s.Now().Add(time.Hour)) {
		testkit.NoError(t, err)
		n++
	}
	testkit.Expect(t, "commit records that a worker makes poison", n, 1)
}

func mustNames(t *testing.T, s *scene) *table.Table[table.Row] {
	t.Helper()
	rows, err := bare.NewTable(s.Tables(), "names", table.Schema[table.Row]{}, &table.Options{Common: options.At(s.Now)})
	testkit.NoError(t, err)
	return rows
}

// refusing is byLast that can never store the row of employee 3.
type refusing struct{ byLast }

func (d refusing) Target(entity, row keys.Key) (reconcile.Target, error) {
	target, err := d.byLast.Target(entity, row)
	if err == nil && strings.HasSuffix(entity.RowKey(), "3") {
		target.(*reconcile.Row).Follow = func(_, _ *table.Row) (*table.Row, error) { return nil, table.ErrForeignRow }
	}
	return target, err
}

// TestReadTogether: rows that lie close together take one query; those that many others separate are read by their keys, and those that do not
// exist are left out.
func TestReadTogether(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t)
	base, err := bare.NewTable(s.Tables(), "staff", staffSchema, nil)
	testkit.NoError(t, err)
	_, err = table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range 3500 {
			if i != 7 && i != 3498 && !yield(base.InsertOp(&employee{"Sales", i, "Jones"}), nil) {
				return
			}
		}
	}, nil)
	testkit.NoError(t, err)
	for what, c := range map[string]struct {
		ids  []int
		want int
		sent string
	}{
		"close together": {[]int{1, 9, 3}, 3, "1 query"},
		"not all exist":  {[]int{1, 9, 7}, 2, "1 query"},
		"one":            {[]int{5}, 1, "1 get"},
		"none":           {nil, 0, "none"},
		"far apart":      {[]int{3499, 0, 2, 3498, 3497}, 4, "3 get, 3 query"},
	} {
		var all []keys.Key
		for _, id := range c.ids {
			all = append(all, keys.At(dept.Of("Sales"), empid.Of(id)))
		}
		s.Count()
		rows, err := reconcile.ReadTogether(ctx, base, dept.Of("Sales"), all)
		if sent := s.Count().String(); err != nil || len(rows) != c.want || sent != c.sent {
			t.Errorf("%s: got %d rows, %v and the requests %s; want %d by %s", what, len(rows), err, sent, c.want, c.sent)
		}
	}
}
