package table_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestPlannedAgainExactly: an exact write that has to be replanned, and cannot be, is still told for certain.
func TestExactReplanned(t *testing.T) {
	t.Parallel()
	ctx := context.Background()

	// The request is lost, and before it is sent again a concurrent writer deletes the row: then there is nothing to merge into.
	people, s := newTown(t, nil)
	people = people.Exact()
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	s.SetFaults(batchFault(1, storagetest.LostRequest()))
	s.beforeBatch(func(n int) {
		if n == 2 {
			check(residentRows(s).DeleteAny(ctx, residentAt(1)))
		}
	})
	if err := people.MergeAny(ctx, e.Key, eMail.Set("b")); !errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrUnknownOutcome) {
		t.Error(err)
	}

	// A list is in the way that should not be there; the network has a copy of the request; and the list cannot be read. The
	// copy then finds the marker.
	people, s = newTown(t, nil)
	people = people.Exact()
	e = insertAll(t, people, s, resident{"S", 1, "Smith", "a"})[0]
	rows := residentRows(s)
	s.SetFaults(storagetest.First(batchFault(1, storagetest.Again(1000)), storagetest.When(func(q storagetest.Request) bool {
		return q.Kind == "get" && len(s.Underway()) > 0
	}, storagetest.Refuse(403, "AuthorizationFailure"))))
	s.beforeBatch(func(n int) {
		if n == 1 {
			_, err := rows.Insert(ctx, residentRow("last_New", map[string]any{"IDs": "7"}))
			check(err)
		}
	})
	e.Value.Last = "New"
	err := people.Replace(ctx, e)
	s.SetFaults(nil)
	check(rows.DeleteAny(ctx, keys.At(keys.Raw("S"), keys.Raw("last_New"))))
	s.Deliver()
	if now, gerr := people.Get(ctx, residentAt(1)); gerr != nil || err == nil || errors.Is(err, table.ErrUnknownOutcome) || now.Value.Last != "Smith" {
		t.Error(now, gerr, err)
	}
}

// TestEffectsOfAnEarlierPlan: where the first plan of a write had effects and a later one has none, the write stays announced:
// it may be the first that was done.
func TestEffectsOfEarlierPlan(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := &memoryOutbox{}
	people, s := townWithEffects(t, d)
	s.SetFaults(batchFault(1, storagetest.Late(1000)))
	s.beforeBatch(func(n int) {
		switch n {
		case 2:
			_, err := residentRows(s).Insert(ctx, residentRow("p_000001", map[string]any{"Last": "Smith", "Email": ""}))
			check(err)
		case 3:
			check(residentRows(s).DeleteAny(ctx, residentAt(1)))
			s.Deliver()
		}
	})
	_, err := people.Upsert(ctx, &resident{"S", 1, "Smith", "x"}, table.ReplaceExisting)
	i, ierr := people.CommitRecords().Get(ctx, keys.Raw("S"), d.last.OperationID)
	if err != nil || ierr != nil || i.State != table.CommitPending || strings.Join(d.calls, " ") != "hint show" {
		t.Error(err, i, ierr, d.calls)
	}

	// And where a later one was done, the first is not done any more, whenever it arrives.
	people, s = townWithEffects(t, &memoryOutbox{})
	s.SetFaults(batchFault(1, storagetest.Late(1000)))
	s.beforeBatch(func(n int) {
		if n == 2 {
			_, err := residentRows(s).Insert(ctx, residentRow("p_000001", map[string]any{"Last": "Smith", "Email": ""}))
			check(err)
		}
	})
	_, err = people.Upsert(ctx, &resident{"S", 1, "Smith", "x"}, table.ReplaceExisting)
	check(err)
	check(people.DeleteAny(ctx, residentAt(1)))
	s.Deliver()
	for _, row := range s.Rows("people") {
		if !strings.HasPrefix(row.RowKey, "~") {
			t.Error("it was done again:", row)
		}
	}
}

// TestIntentComesTooLate: where an earlier request without an intent is in doubt, one with an intent is not sent in its place.
func TestCommitRecordTooLate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := &memoryOutbox{}
	people, s := townWithEffects(t, d)
	insertAll(t, people, s, resident{"S", 1, "Smith", "a"})
	d.calls = nil
	s.SetFaults(batchFault(1, storagetest.Late(1000)))
	s.beforeRequest = func(r *http.Request) {
		switch {
		case isBatch(r):
			_ = residentRows(s).DeleteAny(ctx, keys.At(keys.Raw("S"), keys.Raw("email_a")))
		case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "email_a"): // which is repaired; and the write is one that changes the name now
			check(residentRows(s).MergeAny(ctx, residentAt(1), table.PropertyOf[string]("Last").Set("Other")))
		}
	}
	_, err := people.Upsert(ctx, &resident{"S", 1, "Smith", "a"}, table.ReplaceExisting)
	if !errors.Is(err, table.ErrUnknownOutcome) || d.calls != nil {
		t.Error(err, d.calls)
	}
}

// TestDamagedInDoubt: a derived row that is missing is repaired also where an earlier request is in doubt.
func TestRepairInDoubt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	check(residentRows(s).DeleteAny(ctx, keys.At(keys.Raw("S"), keys.Raw("email_a"))))
	s.SetFaults(batchFault(1, storagetest.LostRequest()))
	if err := people.Merge(ctx, e, eMail.Set("a")); err != nil || people.Repaired() != 1 {
		t.Error(err, people.Repaired())
	}
	if err := checkDerivedRows(s.Service); err != nil {
		t.Error(err)
	}
}

// TestTakerIsToBlame: where one operation takes what another one keeps, it is refused, whichever comes first.
func TestTakerIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	es := insertAll(t, people, s, resident{"S", 1, "Jones", "a"}, resident{"S", 2, "Smith", "b"})
	es[0].Value.Last, es[1].Value.Email = "Good", "a"
	ops := []table.Op{people.ReplaceOp(es[1]), people.ReplaceOp(es[0])}
	var be *table.BatchError
	if _, err := table.Transact(ctx, ops...); !errors.As(err, &be) || be.Index != 0 || !errors.Is(err, errTaken) || !strings.Contains(err.Error(), errTaken.Error()) {
		t.Error(err)
	}
	if _, err := table.Transact(ctx, ops[1], ops[0]); !errors.As(err, &be) || be.Index != 1 {
		t.Error(err)
	}
	r, err := table.Bulk(ctx, stream(2, func(i int) table.Op { return ops[i] }), &table.BulkOptions{Skip: func(int, error) bool { return true }})
	if err != nil || r != (table.BulkResult{Done: 1, Skipped: 1, ResumeAt: 2}) || es[0].Value.Last != "Good" {
		t.Error(r, err)
	}
	if err := checkDerivedRows(s.Service); err != nil {
		t.Error(err)
	}
}

// TestRoundsDoNotMultiply: what the write path has tried again is not tried again around it; and what is taken stays taken.
func TestAttemptsDoNotMultiply(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := &table.Options{}
	o.Retry.ConflictAttempts = 8
	people, s := newTown(t, o)
	insertAll(t, people, s, resident{"S", 1, "Jones", "a"}, resident{"S", 2, "Smith", "b"})
	calls := 0
	_, err := table.InPartition(ctx, keys.Raw("S"), func(tx *table.Tx) error {
		calls++
		e, err := table.GetIn(tx, people, residentID.Of(2))
		if err != nil {
			return err
		}
		e.Value.Email = "a"
		tx.Do(people.ReplaceOp(e))
		return nil
	})
	if calls != 1 || !errors.Is(err, errTaken) {
		t.Error(calls, err)
	}
	rows := residentRows(s)
	transactions := 0
	s.beforeBatch(func(n int) {
		transactions = n
		_, err := rows.Upsert(ctx, residentRow("last_Smith", map[string]any{"IDs": "2"}), table.ReplaceExisting)
		check(err)
	})
	_, err = people.Update(ctx, residentAt(1), func(v *resident) error { return changeResident(v, "Smith", "a") })
	if !errors.Is(err, table.ErrContended) || errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrNotFound) || transactions != 8 {
		t.Error(transactions, err)
	}
}

// TestByKeyRivals: a verb that reads the row first begins again where a concurrent writer was faster in between, whatever it did.
func TestConflictsByKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, method := range map[string]func(*table.Table[resident]) error{
		"Upsert": func(p *table.Table[resident]) error {
			_, err := p.Upsert(ctx, &resident{"S", 1, "New", "n"}, table.ReplaceExisting)
			return err
		},
		"MergeAny":  func(p *table.Table[resident]) error { return p.MergeAny(ctx, residentAt(1), lastName.Set("New")) },
		"DeleteAny": func(p *table.Table[resident]) error { return p.DeleteAny(ctx, residentAt(1)) },
	} {
		for which, concurrent := range map[string]func(*table.Table[resident]) error{
			"changes": func(p *table.Table[resident]) error { return p.MergeAny(ctx, residentAt(1), eMail.Set("r")) },
			"deletes": func(p *table.Table[resident]) error { return p.DeleteAny(ctx, residentAt(1)) },
		} {
			people, s := newTown(t, nil)
			insertAll(t, people, s, resident{"S", 1, "Jones", "a"})
			s.beforeBatch(func(n int) {
				if n == 1 {
					check(concurrent(people))
				}
			})
			err := method(people)
			if gone := which == "deletes" && what != "Upsert"; errors.Is(err, table.ErrNotFound) != gone || !gone && err != nil {
				t.Error(what, which, err)
			}
			if err := checkDerivedRows(s.Service); err != nil {
				t.Error(what, which, err)
			}
		}
	}
	people, s := newTown(t, nil)
	s.beforeBatch(func(n int) {
		if n == 1 {
			insertAll(t, people, s, resident{"S", 1, "Jones", "a"}) // inserts it
		}
	})
	if _, err := people.Upsert(ctx, &resident{"S", 1, "New", "n"}, table.ReplaceExisting); err != nil {
		t.Error(err)
	}
	if err := checkDerivedRows(s.Service); err != nil {
		t.Error(err)
	}
}

// changes its mind: a row of its own at first, and one that is shared where the entity exists.
type insertsThenShares struct{}

func (insertsThenShares) Name() string { return "mixed" }
func (insertsThenShares) MaxRows() int { return 1 }
func (insertsThenShares) Maintain(ctx context.Context, p *table.Plan, c *table.Change[resident]) error {
	r := residentRow("mixed", nil)
	if c.Old == nil {
		return p.Insert(r, nil)
	}
	if _, err := p.Load(ctx, r.Key.Row()); err != nil {
		return err
	}
	return p.Put(r)
}

// TestFoundThenShared: a row that was found out of order once is read again where a later plan shares it.
func TestReadRowThenShared(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := newTown(t, nil)
	plain := peopleOf(s.ConnectionString(), s, nil)
	people, err := plain.With(nil, insertsThenShares{})
	check(err)
	rows := residentRows(s)
	_, err = rows.Insert(ctx, residentRow("mixed", nil))
	check(err)
	s.beforeBatch(func(n int) {
		if n == 2 {
			_, err := rows.Upsert(ctx, residentRow("mixed", nil), table.ReplaceExisting)
			check(err)
			_, err = plain.Insert(ctx, &resident{"S", 1, "A", "a"})
			check(err)
		}
	})
	if _, err := people.Upsert(ctx, &resident{"S", 1, "Jones", "a"}, table.ReplaceExisting); err != nil {
		t.Error(err)
	}
}

// TestFoundIsOfAVersion: what was found of derived rows holds for the version of their primary that was read then. A concurrent writer who
// repairs a row in between does not leave it behind.
func TestReadRowsOfVersion(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, method := range map[string]func(*table.Table[resident]) error{
		"DeleteAny": func(p *table.Table[resident]) error { return p.DeleteAny(ctx, residentAt(1)) },
		"MergeAny":  func(p *table.Table[resident]) error { return p.MergeAny(ctx, residentAt(1), eMail.Set("b")) },
	} {
		people, s := newTown(t, nil)
		insertAll(t, people, s, resident{"S", 1, "Jones", "a"})
		check(residentRows(s).DeleteAny(ctx, keys.At(keys.Raw("S"), keys.Raw("email_a"))))
		concurrent, err := people.With(nil)
		check(err)
		s.beforeBatch(func(n int) {
			if n == 2 {
				check(concurrent.MergeAny(ctx, residentAt(1), lastName.Set("Rival")))
			}
		})
		if err := method(people); err != nil {
			t.Error(what, err)
		}
		if err := checkDerivedRows(s.Service); err != nil {
			t.Error(what, err)
		}
	}
}

// TestIntentInTime: a plan without an intent that was refused cleanly leaves no doubt to one with an intent.
func TestCommitRecordInTime(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := &memoryOutbox{}
	people, s := townWithEffects(t, d)
	insertAll(t, people, s, resident{"S", 1, "Smith", "a"})
	d.calls = nil
	s.SetFaults(batchFault(2, storagetest.LostRequest()))
	s.beforeBatch(func(n int) {
		switch n {
		case 1:
			check(residentRows(s).MergeAny(ctx, residentAt(1), table.PropertyOf[string]("Last").Set("Other")))
		case 3:
			check(residentRows(s).MergeAny(ctx, residentAt(1), table.PropertyOf[string]("Last").Set("Third")))
		}
	})
	_, err := people.Upsert(ctx, &resident{"S", 1, "Smith", "a"}, table.ReplaceExisting)
	if err != nil || strings.Join(d.calls, " ") != "hint show" {
		t.Error(err, d.calls)
	}
}
