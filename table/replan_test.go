package table_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestExactReplanned: an exact write that must be replanned, and cannot be, still has a known outcome.
func TestExactReplanned(t *testing.T) {
	t.Parallel()
	ctx := context.Background()

	// The request is lost, and a concurrent writer deletes the row before the second attempt.
	people, s := newTown(t, nil)
	people = people.Exact()
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	s.SetFaults(batchFault(1, storagetest.LostRequest()))
	beforeBatch(s, func(n int) {
		if n == 2 {
			noError(t, residentRows(t, s).DeleteAny(ctx, residentAt(1)))
		}
	})
	if err := people.MergeAny(ctx, e.Key, eMail.Set("b")); !errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("got %v; want ErrNotFound and not ErrUnknownOutcome", err)
	}

	// An unexpected list refuses the write, the network has a copy of the request, and the list cannot be read. The copy then finds
	// the abort record.
	people, s = newTown(t, nil)
	people = people.Exact()
	e = insertAll(t, people, s, resident{"S", 1, "Smith", "a"})[0]
	rows := residentRows(t, s)
	s.SetFaults(storagetest.First(batchFault(1, storagetest.LateDuplicate(1000)), storagetest.When(func(q storagetest.Request) bool {
		return q.Kind == requests.Get && len(s.LateRequests()) > 0
	}, storagetest.Refuse(403, "AuthorizationFailure"))))
	beforeBatch(s, func(n int) {
		if n == 1 {
			_, err := rows.Insert(ctx, residentRow(t, "last_New", map[string]any{"IDs": "7"}))
			noError(t, err)
		}
	})
	e.Value.Last = "New"
	err := people.Replace(ctx, e)
	s.SetFaults(nil)
	noError(t, rows.DeleteAny(ctx, keys.At(keys.RawPartition("S"), keys.RawRow("last_New"))))
	s.Deliver()
	if now, gerr := people.Get(ctx, residentAt(1)); gerr != nil || err == nil || errors.Is(err, table.ErrUnknownOutcome) || now.Value.Last != "Smith" {
		t.Errorf(`got %+v, %v, %v; want gerr == nil and an error and not ErrUnknownOutcome and now.Value.Last == "Smith"`, now, gerr, err)
	}
}

// TestEffectsOfEarlierPlan: if the first plan of a write has effects and a later plan has none, the notification stays, since
// the first request may have been applied.
func TestEffectsOfEarlierPlan(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := &memoryOutbox{}
	people, s := townWithEffects(t, d)
	s.SetFaults(batchFault(1, storagetest.Late(1000)))
	beforeBatch(s, func(n int) {
		switch n {
		case 2:
			_, err := residentRows(t, s).Insert(ctx, residentRow(t, "p_000001", map[string]any{"Last": "Smith", "Email": ""}))
			noError(t, err)
		case 3:
			noError(t, residentRows(t, s).DeleteAny(ctx, residentAt(1)))
			s.Deliver()
		}
	})
	_, err := people.Upsert(ctx, &resident{"S", 1, "Smith", "x"}, table.ReplaceExisting)
	i, ierr := records.Of(people).Get(ctx, keys.RawPartition("S"), d.last.OperationID)
	if err != nil || ierr != nil || i.State != commit.Pending || strings.Join(d.calls, " ") != "notify show" {
		t.Errorf(`got %v, %+v, %v, %v; want no error and ierr == nil and i.State == commit.Pending and strings.Join(d.calls, " ") == "notify show"`, err, i, ierr, d.calls)
	}

	// If a later request was applied, the first is refused whenever it arrives.
	people, s = townWithEffects(t, &memoryOutbox{})
	s.SetFaults(batchFault(1, storagetest.Late(1000)))
	beforeBatch(s, func(n int) {
		if n == 2 {
			_, err := residentRows(t, s).Insert(ctx, residentRow(t, "p_000001", map[string]any{"Last": "Smith", "Email": ""}))
			noError(t, err)
		}
	})
	_, err = people.Upsert(ctx, &resident{"S", 1, "Smith", "x"}, table.ReplaceExisting)
	noError(t, err)
	noError(t, people.DeleteAny(ctx, residentAt(1)))
	s.Deliver()
	for _, row := range s.Rows("people") {
		if !strings.HasPrefix(row.RowKey, "~") {
			t.Errorf("got %+v; want no row, since the first request comes too late", row)
		}
	}
}

// TestCommitRecordTooLate: a plan with a commit record is not sent while an earlier request without one is in doubt.
func TestCommitRecordTooLate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := &memoryOutbox{}
	people, s := townWithEffects(t, d)
	insertAll(t, people, s, resident{"S", 1, "Smith", "a"})
	d.calls = nil
	s.SetFaults(batchFault(1, storagetest.Late(1000)))
	s.BeforeRequest = func(r *http.Request) {
		switch {
		case isBatch(r):
			_ = residentRows(t, s).DeleteAny(ctx, keys.At(keys.RawPartition("S"), keys.RawRow("email_a")))
		case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "email_a"): // the repair reads this row; meanwhile the write becomes one that changes the name
			noError(t, residentRows(t, s).MergeAny(ctx, residentAt(1), table.PropertyOf[string]("Last").Set("Other")))
		}
	}
	_, err := people.Upsert(ctx, &resident{"S", 1, "Smith", "a"}, table.ReplaceExisting)
	if !errors.Is(err, table.ErrUnknownOutcome) || d.calls != nil {
		t.Errorf("got %v, %v; want ErrUnknownOutcome and d.calls == nil", err, d.calls)
	}
}

// TestRepairInDoubt: a missing derived row is repaired even if an earlier request is in doubt.
func TestRepairInDoubt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	noError(t, residentRows(t, s).DeleteAny(ctx, keys.At(keys.RawPartition("S"), keys.RawRow("email_a"))))
	s.SetFaults(batchFault(1, storagetest.LostRequest()))
	if err := people.Merge(ctx, e, eMail.Set("a")); err != nil || baretest.Repaired(people) != 1 {
		t.Errorf("got %v, %v; want no error and people.Repaired() == 1", err, baretest.Repaired(people))
	}
	if err := checkDerivedRows(s.Service); err != nil {
		t.Error(err)
	}
}

// TestTakerIsRefused: if one operation takes a unique value that another operation keeps, the first is refused, in either
// order.
func TestTakerIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	es := insertAll(t, people, s, resident{"S", 1, "Jones", "a"}, resident{"S", 2, "Smith", "b"})
	es[0].Value.Last, es[1].Value.Email = "Good", "a"
	ops := []table.Op{people.ReplaceOp(es[1]), people.ReplaceOp(es[0])}
	var be *table.BatchError
	if _, err := table.Transact(ctx, ops...); !errors.As(err, &be) || be.Index != 0 || !errors.Is(err, errTaken) || !strings.Contains(err.Error(), errTaken.Error()) {
		t.Errorf("got %v; want a *BatchError and be.Index == 0 and errTaken and strings.Contains(err.Error(), errTaken.Error())", err)
	}
	if _, err := table.Transact(ctx, ops[1], ops[0]); !errors.As(err, &be) || be.Index != 1 {
		t.Errorf("got %v; want a *BatchError and be.Index == 1", err)
	}
	r, err := door.Bulk(ctx, stream(2, func(i int) table.Op { return ops[i] }), &engine.BulkOptions{Skip: func(int, error) bool { return true }})
	if err != nil || r != (engine.BulkResult{Applied: 1, Skipped: 1, ResumeAt: 2}) || es[0].Value.Last != "Good" {
		t.Errorf(`got %+v, %v; want no error and r == engine.BulkResult{Done: 1, Skipped: 1, ResumeAt: 2} and es[0].Value.Last == "Good"`, r, err)
	}
	if err := checkDerivedRows(s.Service); err != nil {
		t.Error(err)
	}
}

// TestAttemptsDoNotMultiply: the attempts of the write path are not repeated by its callers. A refusal by a maintainer is not
// repeated.
func TestAttemptsDoNotMultiply(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	ctx := context.Background()
	o := &table.Options{}
	o.Retry.ConflictAttempts = 8
	people, s := newTown(t, o)
	insertAll(t, people, s, resident{"S", 1, "Jones", "a"}, resident{"S", 2, "Smith", "b"})
	calls := 0
	_, err := people.Update(ctx, residentAt(2), func(v *resident) error {
		calls++
		v.Email = "a"
		return nil
	})
	if calls != 1 || !errors.Is(err, errTaken) {
		t.Errorf("got %v, %v; want calls == 1 and errTaken", calls, err)
	}
	rows := residentRows(t, s)
	transactions := 0
	beforeBatch(s, func(n int) {
		transactions = n
		_, err := rows.Upsert(ctx, residentRow(t, "last_Smith", map[string]any{"IDs": "2"}), table.ReplaceExisting)
		noError(t, err)
	})
	_, err = people.Update(ctx, residentAt(1), func(v *resident) error { return changeResident(v, "Smith", "a") })
	if !errors.Is(err, table.ErrContended) || errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrNotFound) || transactions != 8 {
		t.Errorf("got %v, %v; want ErrContended and not ErrExists and not ErrNotFound and transactions == 8", transactions, err)
	}
}

// TestConflictsByKey: a method that reads the row first is repeated if a concurrent writer has changed or deleted the row.
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
		for which, write := range map[string]func(*table.Table[resident]) error{
			"changes": func(p *table.Table[resident]) error { return p.MergeAny(ctx, residentAt(1), eMail.Set("r")) },
			"deletes": func(p *table.Table[resident]) error { return p.DeleteAny(ctx, residentAt(1)) },
		} {
			people, s := newTown(t, nil)
			insertAll(t, people, s, resident{"S", 1, "Jones", "a"})
			beforeBatch(s, func(n int) {
				if n == 1 {
					noError(t, write(people))
				}
			})
			err := method(people)
			if gone := which == "deletes" && what != "Upsert"; errors.Is(err, table.ErrNotFound) != gone || !gone && err != nil {
				t.Errorf("%v, %v: got %v; want errors.Is(err, table.ErrNotFound) == %v and (gone or no error)", what, which, err, gone)
			}
			if err := checkDerivedRows(s.Service); err != nil {
				t.Errorf("%v, %v: got %v; want no error", what, which, err)
			}
		}
	}
	people, s := newTown(t, nil)
	beforeBatch(s, func(n int) {
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

// insertsThenShares inserts its row for a new entity, and loads and puts the row for an existing one.
type insertsThenShares struct{}

func (insertsThenShares) Name() string { return "mixed" }
func (insertsThenShares) MaxRows() int { return 1 }
func (insertsThenShares) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	r := &table.Row{Key: keys.At(keys.RawPartition("S"), keys.RawRow("mixed"))}
	if c.Old == nil {
		return p.Insert(r, nil)
	}
	if _, err := p.Load(ctx, r.Key.Row()); err != nil {
		return err
	}
	return p.Put(r)
}

// TestReadRowThenShared: a derived row that was read for repair is read again if a later plan loads it.
func TestReadRowThenShared(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := newTown(t, nil)
	base := peopleOf(t, s, nil)
	people, err := bare.With(base, insertsThenShares{})
	noError(t, err)
	rows := residentRows(t, s)
	_, err = rows.Insert(ctx, residentRow(t, "mixed", nil))
	noError(t, err)
	beforeBatch(s, func(n int) {
		if n == 2 {
			_, err := rows.Upsert(ctx, residentRow(t, "mixed", nil), table.ReplaceExisting)
			noError(t, err)
			_, err = base.Insert(ctx, &resident{"S", 1, "A", "a"})
			noError(t, err)
		}
	})
	if _, err := people.Upsert(ctx, &resident{"S", 1, "Jones", "a"}, table.ReplaceExisting); err != nil {
		t.Error(err)
	}
}

// TestReadRowsOfVersion: derived rows that were read for repair are valid for one version of their entity. A row that a
// concurrent writer repairs meanwhile is not left behind.
func TestReadRowsOfVersion(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, method := range map[string]func(*table.Table[resident]) error{
		"DeleteAny": func(p *table.Table[resident]) error { return p.DeleteAny(ctx, residentAt(1)) },
		"MergeAny":  func(p *table.Table[resident]) error { return p.MergeAny(ctx, residentAt(1), eMail.Set("b")) },
	} {
		people, s := newTown(t, nil)
		insertAll(t, people, s, resident{"S", 1, "Jones", "a"})
		noError(t, residentRows(t, s).DeleteAny(ctx, keys.At(keys.RawPartition("S"), keys.RawRow("email_a"))))
		concurrent, err := bare.With(people)
		noError(t, err)
		beforeBatch(s, func(n int) {
			if n == 2 {
				noError(t, concurrent.MergeAny(ctx, residentAt(1), lastName.Set("Concurrent")))
			}
		})
		if err := method(people); err != nil {
			t.Errorf("%v: got %v; want no error", what, err)
		}
		if err := checkDerivedRows(s.Service); err != nil {
			t.Errorf("%v: got %v; want no error", what, err)
		}
	}
}

// TestCommitRecordInTime: a plan with a commit record may follow a refused plan without one.
func TestCommitRecordInTime(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := &memoryOutbox{}
	people, s := townWithEffects(t, d)
	insertAll(t, people, s, resident{"S", 1, "Smith", "a"})
	d.calls = nil
	s.SetFaults(batchFault(2, storagetest.LostRequest()))
	beforeBatch(s, func(n int) {
		switch n {
		case 1:
			noError(t, residentRows(t, s).MergeAny(ctx, residentAt(1), table.PropertyOf[string]("Last").Set("Other")))
		case 3:
			noError(t, residentRows(t, s).MergeAny(ctx, residentAt(1), table.PropertyOf[string]("Last").Set("Third")))
		}
	})
	_, err := people.Upsert(ctx, &resident{"S", 1, "Smith", "a"}, table.ReplaceExisting)
	if err != nil || strings.Join(d.calls, " ") != "notify show" {
		t.Errorf(`got %v, %v; want no error and strings.Join(d.calls, " ") == "notify show"`, err, d.calls)
	}
}
