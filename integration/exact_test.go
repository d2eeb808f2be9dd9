package integration

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/table"
)

// exactWrites: the commit record of each exact write is in the entity's partition, tells the outcome of the write, and is in no
// list.
func exactWrites(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, nil).Exact()
	e.counter.Take()
	v := jones
	worker, err := staff.Insert(ctx, &v)
	e.must(err)
	e.wantRequests("1 transaction")
	e.must(staff.Merge(ctx, worker, age.Set(45)))
	e.wantRequests("1 transaction")
	if _, err := staff.Insert(ctx, &v); !errors.Is(err, table.ErrExists) {
		e.Errorf("Insert of an existing entity: got error %v; want ErrExists", err)
	}
	e.wantRequests("1 insert, 1 transaction")
	e.must(staff.Delete(ctx, worker))
	states := map[commit.State]int{}
	var op string
	for i, err := range records.Of(staff).List(ctx, dept.PartitionKey("Sales"), time.Now().Add(time.Hour)) {
		e.must(err)
		if states[i.State]++; i.State == commit.Done {
			op = i.OperationID
		}
	}
	if states[commit.Done] != 3 || states[commit.Aborted] != 1 {
		e.Errorf("states of commit records: got %v; want 3 done and 1 aborted", states)
	}
	e.counter.Take()
	i, err := records.Of(staff).Resolve(ctx, dept.PartitionKey("Sales"), op)
	e.must(err)
	e.wantRequests("1 get")
	if i.State != commit.Done {
		e.Errorf("Resolve of a committed write: got state %v; want done", i.State)
	}
	i, err = records.Of(staff).Resolve(ctx, dept.PartitionKey("Sales"), op[:10]+"0123456789ABCDEF")
	e.must(err)
	if i.State != commit.Aborted {
		e.Errorf("Resolve of an unknown write: got state %v; want aborted", i.State)
	}
	n, err := staff.Count(ctx, table.Query[employee]{TableScan: true})
	e.must(err)
	if n != 0 {
		e.Errorf("Count: got %d; want 0", n)
	}
}
