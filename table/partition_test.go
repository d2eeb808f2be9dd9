package table_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// contested is a service where every transaction ends in the same way, and every row can be read.
func contested(outcome string) *wire {
	return &wire{answer: func(r *http.Request, _ string) (*http.Response, error) {
		switch {
		case r.Method == http.MethodPost:
			return accepted(outcome)
		case strings.Contains(r.URL.Path, "()"):
			return reply(200, `{"value":[`+row+`]}`), nil
		}
		_, id, _ := strings.Cut(r.URL.Path, "empid_")
		return reply(200, strings.Replace(row, "empid_000223", "empid_"+id[:6], 1), "ETag", etag), nil
	}}
}

// TestInPartitionRepeats only what a concurrent writer can have caused.
func TestInPartitionRepeats(t *testing.T) {
	t.Parallel()
	const rounds = 3
	changed := batch(broken(412, "UpdateConditionNotSatisfied", "1:The update condition specified in the request was not satisfied."))
	exists := batch(broken(409, "EntityAlreadyExists", "0:The specified entity already exists."))
	gone := batch(broken(404, "ResourceNotFound", "1:The specified resource does not exist."))
	busy := batch(broken(503, "ServerBusy", "0:x"))
	nobody := batch(broken(404, "ResourceNotFound", "99:x"))
	for what, c := range map[string]struct {
		outcome string
		read    func(*table.Tx, *table.Table[employee]) error
		want    error
		tries   int
	}{
		"changed":              {changed, nil, table.ErrChanged, rounds},
		"exists, not read":     {exists, nil, table.ErrExists, 1},
		"exists, read before":  {exists, readPoint, table.ErrExists, rounds},
		"exists, listed":       {exists, readList, table.ErrExists, rounds},
		"gone, not read":       {gone, nil, table.ErrNotFound, 1},
		"gone, listed":         {gone, readList, table.ErrNotFound, rounds},
		"gone, no such index":  {nobody, readList, table.ErrNotFound, 1},
		"unknown":              {busy, readList, table.ErrUnknownOutcome, 1},
		"exists, another read": {exists, readOther, table.ErrExists, 1},
	} {
		w := contested(c.outcome)
		o := once()
		o.Retry.ConflictAttempts, o.Retry.ConflictWait = rounds, -1
		staff, err := table.New(bare(w), "staff", staffSchema, o)
		if err != nil {
			t.Fatal(err)
		}
		e := stored(t, staff, w)
		tries := 0
		_, err = table.InPartition(context.Background(), dept.Of("Sales"), func(tx *table.Tx) error {
			tries++
			if c.read != nil {
				if err := c.read(tx, staff); err != nil {
					return err
				}
			}
			tx.Do(staff.InsertOp(&employee{"Sales", 100, "New", 1}), staff.ReplaceOp(e))
			return nil
		})
		if !errors.Is(err, c.want) || tries != c.tries {
			t.Errorf("%s: %v after %d rounds, want %v after %d", what, err, tries, c.want, c.tries)
		}
	}
}

func readPoint(tx *table.Tx, staff *table.Table[employee]) error {
	_, err := table.GetIn(tx, staff, empid.Of(100))
	return err
}

func readOther(tx *table.Tx, staff *table.Table[employee]) error {
	_, err := table.GetIn(tx, staff, empid.Of(101))
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

// TestInPartitionEnds with its context, also between two rounds.
func TestInPartitionEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := contested(batch(broken(412, "UpdateConditionNotSatisfied", "0:x")))
		o := once()
		o.Retry.ConflictWait, o.Retry.MaxConflictWait = time.Hour, time.Hour
		staff, err := table.New(bare(w), "staff", staffSchema, o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		rounds := 0
		_, err = table.InPartition(ctx, dept.Of("Sales"), func(tx *table.Tx) error {
			rounds++
			e, err := table.GetIn(tx, staff, empid.Of(223))
			if err == nil {
				tx.Do(staff.ReplaceOp(e))
			}
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) || rounds != 1 || errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("%v after %d rounds", err, rounds)
		}
	})
}

// TestListInOtherPartition is refused as a write there is.
func TestListInOtherPartition(t *testing.T) {
	t.Parallel()
	staff := newStaff(t, bare(deaf(t)))
	_, err := table.InPartition(context.Background(), dept.Of("Sales"), func(tx *table.Tx) error {
		for _, err := range table.ListIn(tx, staff, table.Query[employee]{Partition: dept.Of("Marketing")}) {
			return err
		}
		return nil
	})
	if !errors.Is(err, table.ErrOtherPartition) {
		t.Error(err)
	}
}

// TestInPartitionBounds: nothing to write is nothing sent, its function's error is its own, and other partitions are refused.
func TestInPartitionBounds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff := newStaff(t, bare(deaf(t)))
	r, err := table.InPartition(ctx, dept.Of("Sales"), func(*table.Tx) error { return nil })
	if err != nil || len(r.ETags) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	no := errors.New("no")
	if _, err := table.InPartition(ctx, dept.Of("Sales"), func(tx *table.Tx) error {
		tx.Do(staff.DeleteAnyOp(at("Sales", 1)))
		return no
	}); err != no {
		t.Error(err)
	}
	for what, pk := range map[string]keys.Enc{"another": dept.Of("Marketing"), "broken": dept.Of(""), "unset": {}} {
		_, err := table.InPartition(ctx, pk, func(tx *table.Tx) error {
			if tx.Context() != ctx {
				t.Error("another context")
			}
			tx.Do(staff.DeleteAnyOp(at("Sales", 1)))
			return nil
		})
		var be *table.BatchError
		if !errors.Is(err, table.ErrOtherPartition) || !errors.As(err, &be) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := table.InPartition(ctx, dept.Of("Sales"), func(tx *table.Tx) error { tx.Do(table.Op{}); return nil }); err == nil {
		t.Error("a zero operation")
	}
}

// TestRekeyRefuses: what cannot be moved stays, and so does the entity.
func TestRekeyRefuses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := deaf(t)
	staff := newStaff(t, bare(w))
	move := func(change func(*table.Entity[employee])) error {
		e := stored(t, staff, w)
		change(e)
		return staff.Rekey(ctx, e)
	}
	var ke *keys.KeyError
	for what, c := range map[string]struct {
		err error
		is  error
	}{
		"another partition": {move(func(e *table.Entity[employee]) { e.Value.Department = "Marketing" }), table.ErrOtherPartition},
		"no ETag":           {move(func(e *table.Entity[employee]) { e.Value.ID, e.ETag = 7, "" }), table.ErrNoETag},
		"not read":          {staff.Rekey(ctx, &table.Entity[employee]{Value: employee{"Sales", 7, "x", 1}, Key: at("Sales", 1), ETag: etag}), table.ErrPartial},
	} {
		if !errors.Is(c.err, c.is) {
			t.Errorf("%s: %v", what, c.err)
		}
	}
	if err := move(func(e *table.Entity[employee]) { e.Value.ID = -1 }); !errors.As(err, &ke) {
		t.Error(err)
	}
	if err := staff.Rekey(ctx, nil); err == nil {
		t.Error("nil")
	}
	for reply, want := range map[string]error{
		batch(broken(409, "EntityAlreadyExists", "1:x")):         table.ErrExists,
		batch(broken(412, "UpdateConditionNotSatisfied", "0:x")): table.ErrChanged,
		batch(broken(500, "InternalError", "0:x")):               table.ErrUnknownOutcome,
	} {
		w := answering(reply)
		staff := newStaff(t, bare(w))
		e := stored(t, staff, w)
		e.Value.ID = 7
		err := staff.Rekey(ctx, e)
		var oe *table.OpError
		if !errors.Is(err, want) || e.Key != at("Sales", 223) || string(e.ETag) != etag || !errors.As(err, &oe) || oe.Op != "Rekey" {
			t.Errorf("%v, %+v", err, e)
		}
		if want == table.ErrUnknownOutcome && oe.Key != at("Sales", 223) {
			t.Errorf("an unknown outcome of nobody: %+v", oe)
		}
		if parts := sentParts(w); len(parts) != 2 || !strings.HasPrefix(parts[0].line, "DELETE ") || !strings.HasPrefix(parts[1].line, "POST ") || parts[0].match != etag {
			t.Errorf("sent %+v", parts)
		}
		w.answer = func(*http.Request, string) (*http.Response, error) { return done(), nil }
		if again := staff.Delete(ctx, e); errors.Is(again, table.ErrUnknownOutcome) != (want == table.ErrUnknownOutcome) {
			t.Errorf("afterwards: %v", again)
		}
	}
}
