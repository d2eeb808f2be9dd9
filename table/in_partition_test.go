package table_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// conflictingService gives each transaction the same response. Every row can be read.
func conflictingService(outcome string) *fakeTransport {
	return &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		switch {
		case r.Method == http.MethodPost:
			return batchResponse(outcome)
		case strings.Contains(r.URL.Path, "()"):
			return jsonResponse(200, `{"value":[`+employeeJSON+`]}`), nil
		}
		_, id, _ := strings.Cut(r.URL.Path, "empid_")
		return jsonResponse(200, strings.Replace(employeeJSON, "empid_000223", "empid_"+id[:6], 1), "ETag", etag), nil
	}}
}

// TestInPartitionRepeats: InPartition repeats its function only after an error that a concurrent writer can have caused.
func TestInPartitionRepeats(t *testing.T) {
	t.Parallel()
	const most = 3
	changed := batchBody(failedPart(412, "UpdateConditionNotSatisfied", "1:The update condition specified in the request was not satisfied."))
	exists := batchBody(failedPart(409, "EntityAlreadyExists", "0:The specified entity already exists."))
	gone := batchBody(failedPart(404, "ResourceNotFound", "1:The specified resource does not exist."))
	busy := batchBody(failedPart(503, "ServerBusy", "0:x"))
	unindexed := batchBody(failedPart(404, "ResourceNotFound", "99:x"))
	for what, c := range map[string]struct {
		outcome  string
		read     func(*table.Tx, *table.Table[employee]) error
		want     error
		attempts int
	}{
		"changed":              {changed, nil, table.ErrChanged, most},
		"exists, not read":     {exists, nil, table.ErrExists, 1},
		"exists, read before":  {exists, readPoint, table.ErrExists, most},
		"exists, listed":       {exists, readList, table.ErrExists, most},
		"gone, not read":       {gone, nil, table.ErrNotFound, 1},
		"gone, listed":         {gone, readList, table.ErrNotFound, most},
		"gone, no such index":  {unindexed, readList, table.ErrNotFound, 1},
		"unknown":              {busy, readList, table.ErrUnknownOutcome, 1},
		"exists, another read": {exists, readOther, table.ErrExists, 1},
	} {
		w := conflictingService(c.outcome)
		o := singleAttempt()
		o.Retry.ConflictAttempts, o.Retry.ConflictWait = most, -1
		staff, err := bare.NewTable(sdkClient(t, w), "staff", staffSchema, o)
		noError(t, err)
		e := readEmployee(t, staff, w)
		attempts := 0
		_, err = table.InPartition(context.Background(), dept.PartitionKey("Sales"), func(tx *table.Tx) error {
			attempts++
			if c.read != nil {
				if err := c.read(tx, staff); err != nil {
					return err
				}
			}
			tx.Do(staff.InsertOp(&employee{"Sales", 100, "New", 1}), staff.ReplaceOp(e))
			return nil
		})
		if !errors.Is(err, c.want) || attempts != c.attempts {
			t.Errorf("%s: got %v after %d attempts; want %v after %d", what, err, attempts, c.want, c.attempts)
		}
	}
}

// readPoint, readOther and readList read a row, another row and all rows.
func readPoint(tx *table.Tx, staff *table.Table[employee]) error {
	_, err := table.GetIn(tx, staff, empid.RowKey(100))
	return err
}

func readOther(tx *table.Tx, staff *table.Table[employee]) error {
	_, err := table.GetIn(tx, staff, empid.RowKey(101))
	return err
}

func readList(tx *table.Tx, staff *table.Table[employee]) error {
	for _, err := range table.ListIn(tx, staff, table.Query[employee]{}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestInPartitionEnds: InPartition ends with its context, also during the pause between two attempts.
func TestInPartitionEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := conflictingService(batchBody(failedPart(412, "UpdateConditionNotSatisfied", "0:x")))
		o := singleAttempt()
		o.Retry.ConflictWait, o.Retry.MaxConflictWait = time.Hour, time.Hour
		staff, err := bare.NewTable(sdkClient(t, w), "staff", staffSchema, o)
		noError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		attempts := 0
		_, err = table.InPartition(ctx, dept.PartitionKey("Sales"), func(tx *table.Tx) error {
			attempts++
			e, err := table.GetIn(tx, staff, empid.RowKey(223))
			if err == nil {
				tx.Do(staff.ReplaceOp(e))
			}
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) || attempts != 1 || errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("got %v after %d attempts; want DeadlineExceeded after 1", err, attempts)
		}
	})
}

// TestListInOtherPartition: ListIn refuses another partition, as a write does.
func TestListInOtherPartition(t *testing.T) {
	t.Parallel()
	staff := newStaff(t, sdkClient(t, noRequests(t)))
	_, err := table.InPartition(context.Background(), dept.PartitionKey("Sales"), func(tx *table.Tx) error {
		for _, err := range table.ListIn(tx, staff, table.Query[employee]{Partition: dept.PartitionKey("Marketing")}) {
			return err
		}
		return nil
	})
	if !errors.Is(err, table.ErrOtherPartition) {
		t.Errorf("got %v; want ErrOtherPartition", err)
	}
}

// TestInPartitionBounds: InPartition without operations sends nothing, returns its function's error unchanged, and refuses
// other partitions.
func TestInPartitionBounds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff := newStaff(t, sdkClient(t, noRequests(t)))
	r, err := table.InPartition(ctx, dept.PartitionKey("Sales"), func(*table.Tx) error { return nil })
	if err != nil || len(r.ETags) != 0 {
		t.Errorf("got %+v, %v; want no error and len(r.ETags) == 0", r, err)
	}
	no := errors.New("no")
	if _, err := table.InPartition(ctx, dept.PartitionKey("Sales"), func(tx *table.Tx) error {
		tx.Do(staff.DeleteAnyOp(employeeKey("Sales", 1)))
		return no
	}); err != no {
		t.Errorf("got %v; want %v", err, no)
	}
	for what, pk := range map[string]keys.PartitionKey{"another": dept.PartitionKey("Marketing"), "broken": dept.PartitionKey(""), "unset": {}} {
		_, err := table.InPartition(ctx, pk, func(tx *table.Tx) error {
			if tx.Context() != ctx {
				t.Error("got another context from the transaction; want that of the call")
			}
			tx.Do(staff.DeleteAnyOp(employeeKey("Sales", 1)))
			return nil
		})
		var be *table.BatchError
		if !errors.Is(err, table.ErrOtherPartition) || !errors.As(err, &be) {
			t.Errorf("%s: got %v; want ErrOtherPartition and a *BatchError", what, err)
		}
	}
	if _, err := table.InPartition(ctx, dept.PartitionKey("Sales"), func(tx *table.Tx) error { tx.Do(table.Op{}); return nil }); err == nil {
		t.Error("got no error for a zero operation; want one")
	}
}

// TestListInSamePartition: a partition key made by a layout equals that of a loaded row.
func TestListInSamePartition(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	ordered := keys.Partition(keys.Ordered(), func(p *resident) *string { return &p.Dept })
	named := peopleSchema
	named.Partition = ordered
	s := storagetest.New(nil)
	people, err := bare.NewTable(serviceOf(t, &testkit.Hooked{Service: s}), "people", named, nil)
	noError(t, err)
	noError(t, people.Ensure(ctx))
	e, err := people.Insert(ctx, &resident{"S", 1, "Jones", ""})
	noError(t, err)
	for partition, other := range map[keys.PartitionKey]keys.PartitionKey{e.Key.Partition(): ordered.Of("S"), ordered.Of("S"): e.Key.Partition()} {
		n := 0
		_, err = table.InPartition(ctx, partition, func(tx *table.Tx) error {
			for _, err := range table.ListIn(tx, people, table.Query[resident]{Partition: other}) {
				if n++; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || n != 1 {
			t.Errorf("got %v, %v; want no error and n == 1", n, err)
		}
	}
}
