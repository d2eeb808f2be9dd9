package txn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

var cents = table.FieldOf(func(a *bankAccount) *int { return &a.Cents })

// TestErrorWritesNothing: what a function has given to Do is not written if it returns an error, also if what it has read as absent is reserved for a look.
func TestErrorWritesNothing(t *testing.T) {
	t.Parallel()
	s, b := newBank(t)
	mine := errors.New("mine")
	err := txn.Run(t.Context(), b, func(tx *txn.Tx) error {
		e, err := txn.Get(tx, b.accounts, accountKey("Bern", 1))
		if err != nil {
			return err
		}
		for _, absent := range []string{"Rom", "Genf"} {
			if _, err := txn.Get(tx, b.accounts, accountKey(absent, 9)); !errors.Is(err, table.ErrNotFound) {
				return err
			}
		}
		e.Value.Cents = 0
		tx.Do(b.accounts.ReplaceOp(e), b.accounts.InsertOp(&bankAccount{"Ulm", 3, 7}))
		return mine
	})
	if !errors.Is(err, mine) {
		t.Errorf("got %v; want the error of the function", err)
	}
	testkit.Expect(t, "accounts", b.cents(t), untouched)
	testkit.NoError(t, errors.Join(b.Drain(t.Context()), left(s, "accounts")))
}

// TestFindsAnotherVersion: Find does not return an entity that does not have the value that was looked up.
func TestFindsAnotherVersion(t *testing.T) {
	t.Parallel()
	byCents := index.New("copies", keys.Ordered(), func(a *bankAccount) (string, bool) { return fmt.Sprint(a.Cents), true }, nil)
	_, b := newBank(t, byCents)
	ctx := t.Context()
	calls := 0
	err := txn.Run(ctx, b, func(tx *txn.Tx) error {
		calls++
		if _, err := txn.Get(tx, b.accounts, accountKey("Bern", 1)); err != nil {
			return err
		}
		if calls == 1 {
			testkit.NoError(t, b.accounts.MergeAny(ctx, accountKey("Bern", 1), cents.Set(555)))
		}
		found, err := txn.Find(tx, b.accounts, func(ctx context.Context) (*table.Entity[bankAccount], error) {
			return byCents.Get(ctx, b.accounts, city.Of("Bern"), "555")
		})
		if err != nil {
			return err
		}
		testkit.Expect(t, "what has 555", found.Value.Cents, 555)
		return nil
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "calls", calls, 2)
}

// TestInsertOfWhatWasRead: an insert of an entity that the function has read is refused at once.
func TestInsertOfWhatWasRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, b := newBank(t)
		s.Count()
		calls := 0
		err := txn.Run(t.Context(), b, func(tx *txn.Tx) error {
			calls++
			if _, err := txn.Get(tx, b.accounts, accountKey("Bern", 1)); err != nil {
				return err
			}
			tx.Do(b.accounts.InsertOp(&bankAccount{"Bern", 1, 4}))
			return nil
		})
		testkit.Expect(t, "requests", s.Count().String(), "1 get")
		if !errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrContended) || calls != 1 {
			t.Errorf("got %v after %d calls; want ErrExists after one", err, calls)
		}
	})
}

// loan is of another type, with the keys of accounts.
type loan struct {
	City string
	ID   int
}

// TestOneRowOfTwoSpellings: two handles of one table, whose name has another spelling, have one row under a key.
func TestOneRowOfTwoSpellings(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	store := aztablekit.Open(s, "bank", &aztablekit.Options{Daily: -1})
	accounts := aztablekit.Table(store, "accounts", city, id, &aztablekit.Settings[bankAccount]{Schema: table.Schema[bankAccount]{Type: "account"}})
	loanCity := keys.Partition(keys.Text(), func(l *loan) *string { return &l.City })
	loanID := keys.Row(keys.Digits[int](4), func(l *loan) *int { return &l.ID })
	loans := aztablekit.Table(store, "Accounts", loanCity, loanID, &aztablekit.Settings[loan]{Schema: table.Schema[loan]{Type: "loan"}})
	testkit.NoError(t, store.Ensure(t.Context()))
	_, err := accounts.Insert(t.Context(), &bankAccount{"Bern", 1, 100})
	testkit.NoError(t, err)
	s.Count()
	err = txn.Run(t.Context(), store, func(tx *txn.Tx) error {
		a, err := txn.Get(tx, accounts, accountKey("Bern", 1))
		if err != nil {
			return err
		}
		tx.Do(accounts.DeleteOp(a), loans.InsertOp(&loan{"Bern", 1}))
		return nil
	})
	if !errors.Is(err, errs.ErrDuplicateRow) {
		t.Errorf("got %v; want ErrDuplicateRow", err)
	}
	testkit.Expect(t, "requests", s.Count().String(), "1 get")
}
