package table_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/table"
)

// TestReadTogetherChanged: rows that other programs change after they were read are read again. No change is lost.
func TestReadTogetherChanged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	merge := func(p *table.Table[resident], id int) table.Op {
		return baretest.MergeAnyOp(p, residentAt(id), lastName.Set("new"))
	}
	upsert := func(p *table.Table[resident], id int) table.Op { return upsertsOf(p, id, id)[0] }
	transact := func(ops []table.Op) error { _, err := table.Transact(ctx, ops...); return err }
	run := func(ops []table.Op) error { _, err := runOf(ops, nil); return err }
	change := func(p *table.Table[resident]) error { return p.MergeAny(ctx, residentAt(17), eMail.Set("a")) }
	remove := func(p *table.Table[resident]) error { return p.DeleteAny(ctx, residentAt(17)) }
	insert := func(p *table.Table[resident]) error {
		_, err := p.Insert(ctx, &resident{"S", 41, "other", ""})
		return err
	}
	for _, c := range []struct {
		what     string
		op       func(*table.Table[resident], int) table.Op
		n        int
		write    func([]table.Op) error
		change   func(*table.Table[resident]) error
		err      error
		requests string // before the change; after the change
		names    string
	}{
		// 1 get is of the refused row, for the case that the network has repeated the request.
		{"a transaction merges", merge, 40, transact, change, nil, "1 query; 1 get, 1 query, 2 transaction", "1-16 new, 17 new a, 18-40 new"},
		{"bulk merges", merge, 40, run, change, nil, "7 get, 1 query; 1 get, 1 query, 2 transaction", "1-16 new, 17 new a, 18-40 new"},
		{"a transaction merges a deleted row", merge, 40, transact, remove, table.ErrNotFound, "1 query; 1 query, 1 transaction", "1-16 old, 18-40 old"},
		{"a transaction upserts a deleted row", upsert, 40, transact, remove, nil, "1 query; 1 query, 2 transaction", "1-40 new"},
		{"bulk upserts a deleted row", upsert, 40, run, remove, nil, "7 get, 1 query; 1 query, 2 transaction", "1-40 new"},
		{"a transaction upserts an inserted row", upsert, 41, transact, insert, nil, "1 query; 1 get, 1 query, 2 transaction", "1-41 new"},
		{"bulk upserts an inserted row", upsert, 41, run, insert, nil, "8 get, 1 query; 1 get, 1 query, 2 transaction", "1-41 new"},
	} {
		_, s := mailTown(t, 1, 40, 1)
		own := &testkit.Hooked{Service: s.Service}
		people, other := mailProgram(t, own), mailProgram(t, s)
		before := ""
		own.BeforeRequest = func(r *http.Request) {
			if isBatch(r) {
				own.BeforeRequest = nil
				before = s.Count().String()
				noErrorInHook(t, c.change(other))
				s.Count()
			}
		}
		var ops []table.Op
		for id := 1; id <= c.n; id++ {
			ops = append(ops, c.op(people, id))
		}
		if err := c.write(ops); !errors.Is(err, c.err) {
			t.Errorf("%s: got error %v; want %v", c.what, err, c.err)
		}
		testkit.Expect(t, c.what+": requests", before+"; "+s.Count().String(), c.requests)
		testkit.Expect(t, c.what+": residents", lastNames(s), c.names)
	}
}

// TestReadTogetherNext: the rows of the next transaction of bulk are read together, and those that a transaction has written are read
// again.
func TestReadTogetherNext(t *testing.T) {
	t.Parallel()
	_, s := mailTown(t, 1, 200, 1)
	o := noWaitOptions()
	o.BlindWrites = false
	people := peopleOf(t, s, o)
	ops := append(upsertsOf(people, 1, 100), upsertsOf(people, 101, 200)...)
	ops = append(ops, upsertsOf(people, 151, 250)...)
	if r, err := runOf(ops, nil); err != nil || r.Applied != 300 {
		t.Errorf("got %+v, %v; want 300 done, no error", r, err)
	}
	testkit.Expect(t, "requests", s.Count().String(), "3 query, 3 transaction")
	testkit.Expect(t, "residents", lastNames(s), "1-250 new")
}
