package table_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// pendingEffect returns a table, a resident whose letter is still to be sent, and the commit record with that effect.
func pendingEffect(t testing.TB) (people *table.Table[resident], s *hookedService, d *memoryOutbox, e *table.Entity[resident], i *table.CommitRecord) {
	t.Helper()
	ctx := context.Background()
	d = &memoryOutbox{}
	people, s = townWithEffects(t, d)
	e, err := people.Insert(ctx, &resident{"S", 1, "Jones", "a"})
	noError(t, err)
	i, err = people.CommitRecords().Get(ctx, keys.Raw("S"), d.last.OperationID)
	noError(t, err)
	s.Count()
	d.calls = nil
	return people, s, d, e, i
}

// TestCompleting: a write that completes an effect removes it from the commit record and adds its own effects, in one
// transaction and without a notification. Without effects left, the record is done.
func TestCompleting(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s, d, e, i := pendingEffect(t)
	e.Value.Last = "Smith"
	if err := people.Completing(i, 0).Replace(ctx, e); err != nil || i.State != table.CommitPending || len(i.Effects) != 1 {
		t.Fatalf("got %v, %+v; want no error and i.State == table.CommitPending and len(i.Effects) == 1", err, i)
	}
	if got := s.Count().String(); got != "1 transaction" || len(d.calls) > 0 {
		t.Errorf(`got %q, %v; want "1 transaction" and len(d.calls) <= 0`, got, d.calls)
	}
	last := people.Completing(i, 0)
	if err := last.Delete(ctx, e); err != nil || i.State != table.CommitDone {
		t.Fatalf("got %v, %+v; want no error and i.State == table.CommitDone", err, i)
	}
	if is, err := people.CommitRecords().Get(ctx, keys.Raw("S"), i.OperationID); err != nil || is.State != table.CommitDone || len(is.Effects) > 0 {
		t.Errorf("got %+v, %v; want no error and is.State == table.CommitDone and len(is.Effects) <= 0", is, err)
	}
	if len(s.Rows("people")) != 1 {
		t.Errorf(`got %v; want len(s.Rows("people")) == 1`, s.Rows("people"))
	}
}

// TestCompletingRaces: an effect that a concurrent worker has completed is not completed again. An effect that replaced it is
// not marked done unseen.
func TestCompletingRaces(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, _, _, e, mine := pendingEffect(t)
	concurrent, err := people.CommitRecords().Get(ctx, keys.Raw("S"), mine.OperationID)
	noError(t, err)
	e.Value.Last = "Smith"
	noError(t, people.Completing(concurrent, 0).Replace(ctx, e))
	if err := people.Completing(mine, 0).Delete(ctx, e); !errors.Is(err, table.ErrChanged) {
		t.Errorf("got %v; want ErrChanged", err)
	}
	if err := people.CommitRecords().MarkDone(ctx, mine); !errors.Is(err, table.ErrChanged) || mine.State != table.CommitPending {
		t.Errorf("got %v; want ErrChanged and mine.State == table.CommitPending", err)
	}
	noError(t, people.CommitRecords().MarkDone(ctx, concurrent))
	if err := people.CommitRecords().MarkDone(ctx, mine); err != nil || mine.State != table.CommitDone { // the record is done already
		t.Errorf("got %v; want no error and mine.State == table.CommitDone", err)
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
		people, s, _, e, i := pendingEffect(t)
		once := true
		s.SetFaults(func(storagetest.Request) (is storagetest.Fault) {
			if once {
				is, once = f, false
			}
			return is
		})
		err := people.Completing(i, 0).Delete(ctx, e)
		done := len(s.Rows("people")) == 1
		is, gerr := people.CommitRecords().Get(ctx, keys.Raw("S"), i.OperationID)
		noError(t, gerr)
		if (err == nil) != done || done != (is.State == table.CommitDone) || is.State != i.State {
			t.Errorf("%v: got %v, deleted %v, the records %+v and %+v; want all or nothing done, and equal states", f, err, done, is, i)
		}
	}
}

// TestCompletingRefused: misuse of Completing is refused before any request.
func TestCompletingRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s, _, e, i := pendingEffect(t)
	var ve *table.ValueError
	for what, err := range map[string]error{
		"no such effect": people.Completing(i, 1).Delete(ctx, e),
		"below":          people.Completing(i, -1).Delete(ctx, e),
		"nil":            people.Completing(nil, 0).Delete(ctx, e),
		"not pending":    people.Completing(&table.CommitRecord{Partition: keys.Raw("S"), Effects: i.Effects}, 0).Delete(ctx, e),
	} {
		if !errors.As(err, &ve) {
			t.Errorf("%s: got %v; want a *ValueError", what, err)
		}
	}
	_, err := table.Transact(ctx, people.Completing(i, 0).DeleteOp(e), people.Completing(i, 0).InsertOp(&resident{"S", 2, "Cao", "b"}))
	if !errors.As(err, &ve) {
		t.Errorf("got %v; want a *ValueError", err)
	}
	if _, err := people.Completing(i, 0).Insert(ctx, &resident{"T", 2, "Cao", "b"}); !errors.Is(err, table.ErrOtherPartition) {
		t.Errorf("got %v; want ErrOtherPartition", err)
	}
	if got := s.Count().String(); got != "none" {
		t.Errorf("got %q; want %q", got, "none")
	}
	once := people.Completing(i, 0)
	noError(t, once.Delete(ctx, e))
	if _, err := once.Insert(ctx, &resident{"S", 2, "Cao", "b"}); !errors.As(err, &ve) {
		t.Errorf("got %v; want a *ValueError", err)
	}
}
