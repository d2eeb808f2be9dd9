package integration

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// transactions: a transaction applies operations on several types of one partition in one request, all or none.
func transactions(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, blindWrites())
	reviews := sameTable(e, staff, reviewSchema)
	v := jones
	r, err := table.Transact(ctx, staff.InsertOp(&v), reviews.InsertOp(&review{"Sales", 223, 2011, 4}), reviews.InsertOp(&review{"Sales", 223, 2012, 5}))
	e.must(err)
	e.wantRequests("1 transaction")
	worker, first := table.Stored[employee](r, 0), table.Stored[review](r, 1)
	if len(r.ETags) != 3 || worker == nil || first == nil || worker.ETag == "" || first.ETag != r.ETags[1] {
		e.Fatalf("Transact: got %+v; want 3 stored rows with ETags", r)
	}
	worker.Value.Age++
	first.Value.Rating = 1
	second := table.Stored[review](r, 2)
	third, err := reviews.Insert(ctx, &review{"Sales", 223, 2013, 3})
	e.must(err)
	e.counter.Take()
	before := worker.ETag
	r, err = table.Transact(ctx, staff.ReplaceOp(worker), reviews.ReplaceOp(first), reviews.DeleteOp(second), tabledoor.PinOp(reviews, third),
		staff.UpsertOp(&employee{Department: "Sales", ID: 7}, table.MergeExisting), reviews.UpsertOp(&review{"Sales", 7, 2020, 1}, table.ReplaceExisting))
	e.must(err)
	e.wantRequests("1 transaction")
	if worker.ETag == before || worker.ETag != r.ETags[0] || r.ETags[2] != "" {
		e.Errorf("got entity %+v, ETags %q; want the entity's ETag renewed, and none of the deleted row", worker, r.ETags)
	}
	e.must(staff.Merge(ctx, worker, age.Set(50))) // by the ETag that the transaction returned
	e.must(reviews.Delete(ctx, third))
	got, err := staff.Get(ctx, worker.Key)
	e.must(err)
	if got.Value.Age != 50 || got.ETag != worker.ETag {
		e.Errorf("Get after Merge: got %+v; want age 50 and ETag %s", got, worker.ETag)
	}

	// The service refuses one of five operations, and none is applied.
	stale, err := reviews.Get(ctx, first.Key)
	e.must(err)
	e.must(reviews.Replace(ctx, first))
	e.counter.Take()
	_, err = table.Transact(ctx, staff.InsertOp(&employee{Department: "Sales", ID: 8}), staff.DeleteOp(worker), reviews.ReplaceOp(stale), reviews.InsertOp(&review{"Sales", 8, 2020, 1}))
	var be *table.BatchError
	if !errors.As(err, &be) || be.Index != 2 || be.Key != first.Key || !errors.Is(err, table.ErrChanged) || be.Code != "UpdateConditionNotSatisfied" {
		e.Errorf("Transact with a stale entity: got error %v; want a *BatchError of operation 2 and ErrChanged", err)
	}
	e.wantRequests("1 get, 1 transaction") // reads back whether the write was applied
	if _, err := staff.Get(ctx, at("Sales", 8)); !errors.Is(err, table.ErrNotFound) {
		e.Errorf("Get after a refused transaction: got error %v; want ErrNotFound", err)
	}
	e.must(staff.Delete(ctx, worker)) // the ETag is still the stored one
}

// largestTransaction: 100 operations are one request, and an error names the refused operation.
func largestTransaction(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, blindWrites())
	insert := func(from int) (ops []table.Op) {
		for i := range 100 {
			ops = append(ops, staff.InsertOp(&employee{Department: "Sales", ID: from + i}))
		}
		return ops
	}
	r, err := table.Transact(ctx, insert(0)...)
	e.must(err)
	for i := range 100 {
		if in := table.Stored[employee](r, i); in == nil || in.Value.ID != i || in.ETag == "" {
			e.Fatalf("stored entity %d: got %+v; want ID %d and an ETag", i, in, i)
		}
	}
	e.wantRequests("1 transaction")
	for _, index := range []int{0, 1, 50, 99} {
		ops := insert(1000)
		ops[index] = staff.InsertOp(&employee{Department: "Sales", ID: index})
		_, err := table.Transact(ctx, ops...)
		var be *table.BatchError
		if !errors.As(err, &be) || be.Index != index || be.Key != at("Sales", index) || !errors.Is(err, table.ErrExists) {
			e.Errorf("Transact with an existing entity: got error %v; want a *BatchError of operation %d and ErrExists", err, index)
		}
	}
}

// quotedKeys: every operation addresses keys with quotes and other unusual characters. Azurite takes ', for the end of a key in the
// address of an operation, so TestTrapT09 of package table tests keys that contain it.
func quotedKeys(e *env) {
	ctx := context.Background()
	tab := newTable(e, keyedSchema, nil)
	v := table.FieldOf(func(r *keyed) *int32 { return &r.V })
	for _, s := range []string{"O'Brien", "''", "100%", "%27", "a b", "a+b", "aé日😀", `"q"`, "x,'y", "<&>"} {
		r, err := table.Transact(ctx, tab.InsertOp(&keyed{s, s, 1}), tab.InsertOp(&keyed{s, "b" + s, 1}), tab.UpsertOp(&keyed{s, "c" + s, 1}, table.ReplaceExisting), tab.UpsertOp(&keyed{s, "d" + s, 1}, table.MergeExisting))
		if err != nil {
			e.Errorf("Transact of new rows %q: got error %v; want none", s, err)
			continue
		}
		a, b, c, d := table.Stored[keyed](r, 0), table.Stored[keyed](r, 1), table.Stored[keyed](r, 2), table.Stored[keyed](r, 3)
		a.Value.V = 2
		if _, err := table.Transact(ctx, tab.ReplaceOp(a), tab.MergeOp(b, v.Set(2)), tab.DeleteOp(c), tabledoor.PinOp(tab, d), tab.UpsertOp(&keyed{s, "e" + s, 2}, table.ReplaceExisting)); err != nil {
			e.Errorf("Transact of stored rows %q: got error %v; want none", s, err)
			continue
		}
		got := map[string]int32{}
		for l, err := range tab.List(ctx, table.Query[keyed]{Partition: keys.RawPartition(s)}) {
			e.must(err)
			if l.Value.P != s {
				e.Errorf("List %q: got %+v; want rows of that partition", s, l.Value)
			}
			got[l.Value.R] = l.Value.V
		}
		if want := map[string]int32{s: 2, "b" + s: 2, "d" + s: 1, "e" + s: 2}; fmt.Sprint(got) != fmt.Sprint(want) {
			e.Errorf("List %q: got %v; want %v", s, got, want)
		}
	}
	n := 0
	for _, err := range tab.Rows(ctx, table.Query[keyed]{TableScan: true}) {
		e.must(err)
		n++
	}
	if n != 40 {
		e.Errorf("got %d rows; want 40: an operation addressed another row", n)
	}
}

// moveInside: Move moves a row to another key of its partition with all its columns, or leaves it.
func moveInside(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, blindWrites())
	body := []byte(`{"PartitionKey":"Sales","RowKey":"empid_000223","LastName":"Jones","Badge@odata.type":"Edm.Int64","Badge":"4711","_life":"00f"}`)
	_, err := e.acc.Tables().NewClient(staff.Name()).AddEntity(ctx, body, nil)
	e.must(err)
	got, err := staff.Get(ctx, at("Sales", 223))
	e.must(err)
	e.counter.Take()
	got.Value.ID = 7
	if err := staff.Replace(ctx, got); !errors.Is(err, table.ErrKeyChanged) {
		e.Errorf("Replace with another key: got error %v; want ErrKeyChanged", err)
	}
	e.must(staff.Move(ctx, got))
	e.wantRequests("1 transaction")
	if got.Key != at("Sales", 7) {
		e.Errorf("key after Move: got %v; want %v", got.Key, at("Sales", 7))
	}
	got.Value.Age = 9
	e.must(staff.Move(ctx, got)) // without a new key
	e.wantRequests("1 replace")
	row, err := got.Row()
	e.must(err)
	badge, _ := row.Get("Badge")
	incarnation, _ := row.Get("_life")
	if badge != int64(4711) || incarnation != "00f" {
		e.Errorf("Badge and _life after Move: got %v and %v; want 4711 and 00f", badge, incarnation)
	}
	if _, err := staff.Get(ctx, at("Sales", 223)); !errors.Is(err, table.ErrNotFound) {
		e.Errorf("Get of the old key: got error %v; want ErrNotFound", err)
	}
	_, err = staff.Insert(ctx, &employee{Department: "Sales", ID: 8})
	e.must(err)
	got.Value.ID = 8
	if err := staff.Move(ctx, got); !errors.Is(err, table.ErrExists) || got.Key != at("Sales", 7) {
		e.Errorf("Move to an existing key: got error %v, key %v; want ErrExists and the old key", err, got.Key)
	}
}
