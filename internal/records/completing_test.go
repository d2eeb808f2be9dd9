package records_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestCompleting: a write that completes an effect removes it from the commit record and adds its own effects, in one
// transaction and without a notification. Without effects left, the record is done.
func TestCompleting(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s, d, e, i := pendingEffect(t)
	e.Value.Last = "Smith"
	if err := records.Completing(staff, i, 0).Replace(ctx, e); err != nil || i.State != commit.Pending || len(i.Effects) != 1 {
		t.Fatalf("got %v, %+v; want no error and i.State == commit.Pending and len(i.Effects) == 1", err, i)
	}
	if got := s.Count().String(); got != "1 transaction" || len(d.notes) > 0 {
		t.Errorf(`got %q, %v; want "1 transaction" and no notification`, got, d.notes)
	}
	last := records.Completing(staff, i, 0)
	if err := last.Delete(ctx, e); err != nil || i.State != commit.Done {
		t.Fatalf("got %v, %+v; want no error and i.State == commit.Done", err, i)
	}
	if is, err := records.Of(staff).Get(ctx, keys.RawPartition("S"), i.OperationID); err != nil || is.State != commit.Done || len(is.Effects) > 0 {
		t.Errorf("got %+v, %v; want no error and is.State == commit.Done and len(is.Effects) <= 0", is, err)
	}
	if len(s.Rows("staff")) != 1 {
		t.Errorf(`got %v; want len(s.Rows("staff")) == 1`, s.Rows("staff"))
	}
}

// TestCompletingRaces: an effect that a concurrent worker has completed is not completed again. An effect that replaced it is
// not marked done unseen.
func TestCompletingRaces(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, _, _, e, mine := pendingEffect(t)
	concurrent, err := records.Of(staff).Get(ctx, keys.RawPartition("S"), mine.OperationID)
	noError(t, err)
	e.Value.Last = "Smith"
	noError(t, records.Completing(staff, concurrent, 0).Replace(ctx, e))
	if err := records.Completing(staff, mine, 0).Delete(ctx, e); !errors.Is(err, table.ErrChanged) {
		t.Errorf("got %v; want ErrChanged", err)
	}
	if err := records.Of(staff).MarkDone(ctx, mine); !errors.Is(err, table.ErrChanged) || mine.State != commit.Pending {
		t.Errorf("got %v; want ErrChanged and mine.State == commit.Pending", err)
	}
	noError(t, records.Of(staff).MarkDone(ctx, concurrent))
	if err := records.Of(staff).MarkDone(ctx, mine); err != nil || mine.State != commit.Done { // the record is done already
		t.Errorf("got %v; want no error and mine.State == commit.Done", err)
	}
}

// TestCompletingFaults: the write and the completion of the effect are both applied or neither, under each fault.
func TestCompletingFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, f := range []storagetest.Fault{
		storagetest.LostResponse(), storagetest.Twice(), storagetest.LostRequest(), storagetest.ExecuteThenRefuse(503, "ServerBusy"), storagetest.NotSent(), storagetest.Cut(0),
		storagetest.RefuseInTransaction(412, "UpdateConditionNotSatisfied"),
	} {
		staff, s, _, e, i := pendingEffect(t)
		once := true
		s.SetFaults(func(storagetest.Request) (is storagetest.Fault) {
			if once {
				is, once = f, false
			}
			return is
		})
		err := records.Completing(staff, i, 0).Delete(ctx, e)
		done := len(s.Rows("staff")) == 1
		is, gerr := records.Of(staff).Get(ctx, keys.RawPartition("S"), i.OperationID)
		noError(t, gerr)
		if (err == nil) != done || done != (is.State == commit.Done) || is.State != i.State {
			t.Errorf("%v: got %v, deleted %v, the records %+v and %+v; want all or nothing done, and equal states", f, err, done, is, i)
		}
	}
}

// TestCompletingRefused: misuse of Completing is refused before any request.
func TestCompletingRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s, _, e, i := pendingEffect(t)
	var ve *table.ValueError
	for what, err := range map[string]error{
		"no such effect": records.Completing(staff, i, 1).Delete(ctx, e),
		"below":          records.Completing(staff, i, -1).Delete(ctx, e),
		"nil":            records.Completing(staff, nil, 0).Delete(ctx, e),
		"not pending":    records.Completing(staff, &commit.Record{Partition: keys.RawPartition("S"), Effects: i.Effects}, 0).Delete(ctx, e),
	} {
		if !errors.As(err, &ve) {
			t.Errorf("%s: got %v; want a *ValueError", what, err)
		}
	}
	_, err := table.Transact(ctx, records.Completing(staff, i, 0).DeleteOp(e), records.Completing(staff, i, 0).InsertOp(&employee{"S", 2, "Cao", 1}))
	if !errors.As(err, &ve) {
		t.Errorf("got %v; want a *ValueError", err)
	}
	if _, err := records.Completing(staff, i, 0).Insert(ctx, &employee{"T", 2, "Cao", 1}); !errors.Is(err, errs.ErrOtherPartition) {
		t.Errorf("got %v; want ErrOtherPartition", err)
	}
	if got := s.Count().String(); got != "none" {
		t.Errorf("got %q; want %q", got, "none")
	}
	once := records.Completing(staff, i, 0)
	noError(t, once.Delete(ctx, e))
	if _, err := once.Insert(ctx, &employee{"S", 2, "Cao", 1}); !errors.As(err, &ve) {
		t.Errorf("got %v; want a *ValueError", err)
	}
}

// TestBulkCompleting: an effect is completed in the same transaction as its operation, wherever the stream is cut into
// transactions.
func TestBulkCompleting(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, at := range []int{0, 10, 49, 80} {
		staff, s, _, e, i := pendingEffect(t)
		r, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
			for n := range 81 {
				op := staff.InsertOp(&employee{"S", n + 10, "Jones", 44})
				if n == at {
					op = records.Completing(staff, i, 0).DeleteOp(e)
				}
				if !yield(op, nil) {
					return
				}
			}
		}, nil)
		if err != nil || r.Applied != 81 {
			t.Errorf("%v: got %+v, %v; want no error and r.Done == 81", at, r, err)
		}
		is, err := records.Of(staff).Get(ctx, keys.RawPartition("S"), i.OperationID)
		noError(t, err)
		for _, r := range s.Rows("staff") {
			if r.RowKey == e.Key.RowKey() {
				t.Errorf("operation %d: got the effect %v without its write; want both or neither", at, is.State)
			}
		}
	}
}

// TestCompletingOneOfSeveral: a write completes the effect that it names, and the other effects of the commit record stay.
func TestCompletingOneOfSeveral(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for at, left := range []string{"Dear Cao", "Dear Jones"} {
		staff, _, out, e, _ := pendingEffect(t)
		_, err := table.Transact(ctx, staff.InsertOp(&employee{"S", 2, "Jones", 44}), staff.InsertOp(&employee{"S", 3, "Cao", 30}))
		noError(t, err)
		r, err := records.Of(staff).Get(ctx, keys.RawPartition("S"), out.notes[0].OperationID)
		noError(t, err)
		noError(t, records.Completing(staff, r, at).Delete(ctx, e))
		stored, err := records.Of(staff).Get(ctx, keys.RawPartition("S"), r.OperationID)
		noError(t, err)
		for what, is := range map[string]*commit.Record{"the record": r, "the stored record": stored} {
			if is.State != commit.Pending || len(is.Effects) != 1 || string(is.Effects[0].Payload) != left {
				t.Errorf("effect %d is completed: %s: got %v with %q; want it pending with %q alone", at, what, is.State, is.Effects, left)
			}
		}
	}
}

// badge is a maintainer that plans a row in the partition of all departments.
type badge struct{ staff *table.Table[employee] }

func (badge) Name() string { return "badge" }
func (badge) MaxRows() int { return 1 }

func (m badge) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	there, err := door.Participant(p, door.Table(m.staff), "company")
	if err == nil && c.New != nil && c.Old == nil {
		err = there.Insert(&table.Row{Key: keys.Raw("company", c.New.Last)}, nil)
	}
	return err
}

// TestCompletingParticipants: a write over several partitions has a commit record of its own. The record of which it completes an effect
// can be written further.
func TestCompletingParticipants(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for range 20 { // the rows of a transaction may have one time, and then one ETag
		staff, s, _, _, r := pendingEffect(t)
		with, err := bare.With(staff, badge{staff})
		noError(t, err)
		_, err = records.Completing(with, r, 0).Insert(ctx, &employee{"S", 2, "Cao", 30})
		noError(t, err)
		if r.State != commit.Pending || len(r.Effects) != 1 || string(r.Effects[0].Payload) != "Dear Cao" {
			t.Fatalf("got %v with %q; want the record pending with the effect of the write", r.State, r.Effects)
		}
		s.Count()
		noError(t, records.Of(staff).MarkDone(ctx, r))
		if got := s.Count().String(); got != "1 merge" && got != "1 replace" {
			t.Fatalf("MarkDone: got requests %q; want 1", got)
		}
	}
}
