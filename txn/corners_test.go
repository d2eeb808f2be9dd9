package txn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

func uniqueCents(in string) *index.Unique[bankAccount, string] {
	return index.NewUnique("cents", keys.Ordered(), func(a *bankAccount) (string, bool) {
		return fmt.Sprint(a.Cents), in == "" && a.Cents != 100 || a.City == in
	}, nil)
}

// TestForeignGivenUp: an error of the function that wraps the error of another write is returned.
func TestForeignGivenUp(t *testing.T) {
	t.Parallel()
	_, b := newBank(t)
	mine := fmt.Errorf("another store: %w", table.ErrGivenUp)
	calls := 0
	err := txn.Run(t.Context(), b, func(*txn.Tx) error { calls++; return mine })
	if err != mine || calls != 1 {
		t.Errorf("got %v after %d calls; want the error of the function", err, calls)
	}
}

// TestNoNetwork: a transaction that does not reach the service does not say that others are in its way.
func TestNoNetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := newBank(t)
		o := &aztablekit.Options{Common: table.Common{Retry: table.Retry{ConflictAttempts: 1}}, Daily: -1}
		err := openBank(behind(t, s, 1), o).transfer(t.Context(), accountKey("Bern", 1), accountKey("Zug", 3), 30, "")
		if !errors.Is(err, table.ErrGivenUp) || errors.Is(err, table.ErrContended) {
			t.Errorf("got %v; want ErrGivenUp", err)
		}
	})
}

// TestOldPin: a pin of a version that the function has not read is not left out.
func TestOldPin(t *testing.T) {
	t.Parallel()
	_, b := newBank(t)
	ctx := t.Context()
	old, err := b.accounts.Get(ctx, accountKey("Bern", 1))
	testkit.NoError(t, err)
	changed := *old
	testkit.NoError(t, baretest.Touch(ctx, b.accounts, &changed))
	err = txn.Run(ctx, b, func(tx *txn.Tx) error {
		tx.Do(tabledoor.PinOp(b.accounts, old), b.accounts.InsertOp(&bankAccount{"Rom", 1, 1}))
		return nil
	})
	if !errors.Is(err, table.ErrChanged) {
		t.Errorf("got %v; want ErrChanged", err)
	}
}

// TestContextEnds: a function whose context has ended is not believed in what it has read at several moments, nor in its error, of which the text is left.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	_, b := newBank(t)
	for _, own := range []error{nil, errNoMoney} {
		ctx, cancel := context.WithCancel(t.Context())
		err := txn.Run(ctx, b, func(tx *txn.Tx) error {
			_, err1 := txn.Get(tx, b.accounts, accountKey("Bern", 1))
			_, err2 := txn.Get(tx, b.accounts, accountKey("Zug", 3))
			cancel()
			return errors.Join(err1, err2, own)
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, errNoMoney) {
			t.Errorf("got %v; want context.Canceled", err)
		}
		if own != nil && !strings.Contains(fmt.Sprint(err), own.Error()) {
			t.Errorf("got %v; want the text %q in it", err, own)
		}
	}
}

// TestTakenMeanwhile: a unique value that was taken after the function had read which one is next does not refuse the transaction.
func TestTakenMeanwhile(t *testing.T) {
	t.Parallel()
	_, b := newBank(t, uniqueCents("Bern"))
	ctx := t.Context()
	calls := 0
	take := func(no int) func(*txn.Tx) error {
		return func(tx *txn.Tx) error {
			next, err := txn.Get(tx, b.accounts, accountKey("Zug", 3))
			if err != nil {
				return err
			}
			if no == 50 {
				calls++
			}
			next.Value.Cents++
			tx.Do(b.accounts.ReplaceOp(next), b.accounts.InsertOp(&bankAccount{"Bern", no, next.Value.Cents}))
			return nil
		}
	}
	err := txn.Run(ctx, b, func(tx *txn.Tx) error {
		err := take(50)(tx)
		if calls == 1 {
			testkit.NoError(t, txn.Run(ctx, b, take(77)))
		}
		return err
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "calls", calls, 2)
}

// TestTakenInThird: a unique value that is taken in the last of three partitions is ErrTaken.
func TestTakenInThird(t *testing.T) {
	t.Parallel()
	s, b := newBank(t, uniqueCents(""))
	ctx := t.Context()
	_, err := b.accounts.Insert(ctx, &bankAccount{"Owner", 1, 7})
	testkit.NoError(t, err)
	err = txn.Run(ctx, b, func(tx *txn.Tx) error {
		tx.Do(b.accounts.InsertOp(&bankAccount{"A", 1, 1}), b.accounts.InsertOp(&bankAccount{"B", 1, 2}), b.accounts.InsertOp(&bankAccount{"C", 1, 7}))
		return nil
	})
	if !errors.Is(err, table.ErrTaken) {
		t.Errorf("got %v; want ErrTaken", err)
	}
	testkit.NoError(t, errors.Join(b.Drain(ctx), left(s, "accounts")))
}

// TestTakenBesideReads: a unique value that is taken, over all partitions or in one, is ErrTaken,
// also if the function has read rows of other partitions, or found none there. The first call
// prepares these and rolls them back.
func TestTakenBesideReads(t *testing.T) {
	t.Parallel()
	cents := func(a *bankAccount) (string, bool) { return fmt.Sprint(a.Cents), a.City == "C" }
	for name, unique := range map[string]aztablekit.Definition[bankAccount]{
		"over all partitions": uniqueCents("C"),
		"in one partition":    index.New("cents", keys.Ordered(), cents, &index.Options{Unique: true}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := newBank(t, unique)
			ctx := t.Context()
			_, err := b.accounts.Insert(ctx, &bankAccount{"C", 9, 7})
			testkit.NoError(t, err)
			calls := 0
			err = txn.Run(ctx, b, func(tx *txn.Tx) error {
				calls++
				_, err1 := txn.Get(tx, b.accounts, accountKey("Ulm", 2))
				_, err2 := txn.Get(tx, b.accounts, accountKey("Zug", 3))
				tx.Do(b.accounts.InsertOp(&bankAccount{"C", 1, 7}))
				return errors.Join(err1, err2)
			})
			if !errors.Is(err, table.ErrTaken) || calls > 2 {
				t.Errorf("got %v after %d calls; want ErrTaken after two", err, calls)
			}
			err = txn.Run(ctx, b, func(tx *txn.Tx) error {
				for _, at := range []string{"Ulm", "Zug"} {
					if _, err := txn.Get(tx, b.accounts, accountKey(at, 999)); !errors.Is(err, table.ErrNotFound) {
						return fmt.Errorf("got %w; want ErrNotFound", err)
					}
				}
				tx.Do(b.accounts.InsertOp(&bankAccount{"C", 1, 7}))
				return nil
			})
			if !errors.Is(err, table.ErrTaken) {
				t.Errorf("beside absent keys: got %v; want ErrTaken", err)
			}
			testkit.NoError(t, errors.Join(b.Drain(ctx), left(s, "accounts")))
		})
	}
}

// TestFitsIntoHomeOnly: the partition of a value that was taken is the home of the next call again,
// if its rows fit into the home only.
func TestFitsIntoHomeOnly(t *testing.T) {
	t.Parallel()
	cents := func(a *bankAccount) (string, bool) { return fmt.Sprint(a.Cents), a.City == "C" }
	s, b := newBank(t, index.New("cents", keys.Ordered(), cents, &index.Options{Unique: true}))
	ctx := t.Context()
	const n = 30
	for i := range n + 1 {
		_, err := b.accounts.Insert(ctx, &bankAccount{"C", i, 1000 + i})
		testkit.NoError(t, err)
	}
	calls := 0
	err := txn.Run(ctx, b, func(tx *txn.Tx) error {
		if calls++; calls == 2 {
			testkit.NoError(t, b.accounts.DeleteAny(ctx, accountKey("C", n)))
		}
		if _, err := txn.Get(tx, b.accounts, accountKey("Ulm", 2)); err != nil {
			return err
		}
		for i := range n {
			e, err := txn.Get(tx, b.accounts, accountKey("C", i))
			if err != nil {
				return err
			}
			e.Value.Cents = 2000 + i
			if i == 0 {
				e.Value.Cents = 1000 + n
			}
			tx.Do(b.accounts.ReplaceOp(e))
		}
		return nil
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "calls", calls, 2)
	testkit.NoError(t, errors.Join(b.Drain(ctx), left(s, "accounts")))
}

// TestTwoVersions: a function that has read an entity, and finds another version of it, is called again.
func TestTwoVersions(t *testing.T) {
	t.Parallel()
	byCents := index.New("copies", keys.Ordered(), func(a *bankAccount) (string, bool) { return fmt.Sprint(a.Cents), true }, nil)
	_, b := newBank(t, byCents)
	ctx := t.Context()
	calls := 0
	err := txn.Run(ctx, b, func(tx *txn.Tx) error {
		calls++
		first, err := txn.Get(tx, b.accounts, accountKey("Bern", 1))
		if err != nil {
			return err
		}
		if calls == 1 {
			e, err := b.accounts.Get(ctx, accountKey("Bern", 1))
			testkit.NoError(t, err)
			e.Value.Cents = 555
			testkit.NoError(t, b.accounts.Replace(ctx, e))
		}
		found, err := txn.Find(tx, b.accounts, func(ctx context.Context) (*table.Entity[bankAccount], error) {
			return byCents.Get(ctx, b.accounts, city.Of("Bern"), "555")
		})
		if err != nil {
			return err
		}
		testkit.Expect(t, "the same entity", found == first, true)
		found.Value.Cents++
		tx.Do(b.accounts.ReplaceOp(found))
		return nil
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "calls", calls, 2)
	testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 556; Ulm 2: 100; Zug 3: 100; ")
}
