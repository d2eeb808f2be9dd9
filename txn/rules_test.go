package txn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

// TestOnePartition: a transaction in one partition is one transaction of the service, with the accounts that are only read, and those that are read and then written
// (dynamodb-transactions#8).
func TestOnePartition(t *testing.T) {
	t.Parallel()
	s, b := newBank(t)
	ctx := t.Context()
	_, err := b.accounts.Insert(ctx, &bankAccount{"Bern", 2, 7})
	testkit.NoError(t, err)
	s.Count()
	err = txn.Run(ctx, b, func(tx *txn.Tx) error {
		read, err1 := txn.Get(tx, b.accounts, accountKey("Bern", 1))
		e, err2 := txn.Get(tx, b.accounts, accountKey("Bern", 2))
		again, err3 := txn.Get(tx, b.accounts, accountKey("Bern", 2))
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		testkit.Expect(t, "the same entity", again == e, true)
		e.Value.Cents += read.Value.Cents
		tx.Do(b.accounts.ReplaceOp(e))
		return nil
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "requests", s.Count().String(), "2 get, 1 insert-or-replace, 1 transaction")
	testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 100; Bern 2: 107; Ulm 2: 100; Zug 3: 100; ")
}

// TestReadsAlone: a function that writes nothing costs its reads, and reads all but one of them again.
func TestReadsAlone(t *testing.T) {
	t.Parallel()
	s, b := newBank(t)
	reads := func(all ...keys.Key) error {
		return txn.Run(t.Context(), b, func(tx *txn.Tx) error {
			for _, k := range all {
				if _, err := txn.Get(tx, b.accounts, k); err != nil && !errors.Is(err, table.ErrNotFound) {
					return err
				}
			}
			return nil
		})
	}
	bern, ulm, zug := accountKey("Bern", 1), accountKey("Ulm", 2), accountKey("Zug", 3)
	none, nowhere := accountKey("Bern", 9), accountKey("Rom", 9)
	for _, c := range []struct {
		what string
		keys []keys.Key
		want string
	}{
		{"one", []keys.Key{bern}, "1 get"},
		{"one that is absent", []keys.Key{none}, "1 get"},
		{"two", []keys.Key{bern, zug}, "3 get"},
		{"three", []keys.Key{bern, zug, ulm}, "5 get"},
		{"the last is absent", []keys.Key{bern, none}, "3 get"},
		{"the first is absent", []keys.Key{none, bern}, "4 get"},
		{"two are absent: they are reserved", []keys.Key{none, nowhere}, "2 get, 1 insert-or-replace, 1 merge, 1 message-delete, 1 message-put, 5 transaction"},
		{"two are absent in one partition", []keys.Key{none, accountKey("Bern", 8)}, "2 get, 1 merge, 1 message-delete, 1 message-put, 3 transaction"},
	} {
		s.Count()
		testkit.NoError(t, reads(c.keys...))
		testkit.Expect(t, c.what, s.Count().String(), c.want)
	}
	testkit.NoError(t, errors.Join(b.Drain(t.Context()), left(s, "accounts")))
}

// TestReadsAtOnce: of reads at the same time, none is known to be the last, so all are read again.
func TestReadsAtOnce(t *testing.T) {
	t.Parallel()
	s, b := newBank(t)
	err := txn.Run(t.Context(), b, func(tx *txn.Tx) error {
		var all errgroup.Group
		var under sync.WaitGroup
		under.Add(2)
		for _, k := range []keys.Key{accountKey("Bern", 1), accountKey("Ulm", 2)} {
			all.Go(func() error {
				_, err := txn.Find(tx, b.accounts, func(ctx context.Context) (*table.Entity[bankAccount], error) {
					under.Done()
					under.Wait()
					return b.accounts.Get(ctx, k)
				})
				return err
			})
		}
		return all.Wait()
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "requests", s.Count().String(), "4 get")
}

// TestReservedInHome: an absent row of the only partition that is written is prepared there.
func TestReservedInHome(t *testing.T) {
	t.Parallel()
	s, b := newBank(t)
	err := txn.Run(t.Context(), b, func(tx *txn.Tx) error {
		e, err := txn.Get(tx, b.accounts, accountKey("Bern", 1))
		if err != nil {
			return err
		}
		if _, err := txn.Get(tx, b.accounts, accountKey("Bern", 2)); !errors.Is(err, table.ErrNotFound) {
			return err
		}
		e.Value.Cents++
		tx.Do(b.accounts.ReplaceOp(e))
		return nil
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "requests", s.Count().String(), "2 get, 1 insert-or-replace, 1 merge, 1 message-delete, 1 message-put, 3 transaction")
	testkit.NoError(t, errors.Join(b.Drain(t.Context()), left(s, "accounts")))
	testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 101; Ulm 2: 100; Zug 3: 100; ")
}

// TestHome: the commit record is where it costs least, whatever the function has touched first.
func TestHome(t *testing.T) {
	t.Parallel()
	s, b := newBank(t)
	ctx := t.Context()
	err := txn.Run(ctx, b, func(tx *txn.Tx) error {
		bern, err1 := txn.Get(tx, b.accounts, accountKey("Bern", 1))
		ulm, err2 := txn.Get(tx, b.accounts, accountKey("Ulm", 2))
		if _, err := txn.Get(tx, b.accounts, accountKey("Bern", 9)); !errors.Is(err, table.ErrNotFound) {
			return errors.Join(err, err1, err2)
		}
		bern.Value.Cents, ulm.Value.Cents = 99, 101
		tx.Do(b.accounts.ReplaceOp(bern), b.accounts.ReplaceOp(ulm))
		return errors.Join(err1, err2)
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "requests, with an absent row in one of two partitions that are written", s.Count().String(), "3 get, 1 insert-or-replace, 1 merge, 1 message-delete, 1 message-put, 3 transaction")
	testkit.NoError(t, errors.Join(b.Drain(ctx), left(s, "accounts")))
}

// TestLimits: as many partitions and rows as the documentation says, and not one more.
func TestLimits(t *testing.T) {
	t.Parallel()
	_, b := newBank(t)
	ctx := t.Context()
	for i := range 60 {
		for _, in := range []string{"Many", "Few"} {
			_, err := b.accounts.Insert(ctx, &bankAccount{in, i, 0})
			testkit.NoError(t, err)
		}
	}
	changes := func(tx *txn.Tx, in string, n int) error {
		for i := range n {
			e, err := txn.Get(tx, b.accounts, accountKey(in, i))
			if err != nil {
				return err
			}
			e.Value.Cents++
			tx.Do(b.accounts.ReplaceOp(e))
		}
		return nil
	}
	inserts := func(tx *txn.Tx, in string, n int) error {
		for i := range n {
			tx.Do(b.accounts.InsertOp(&bankAccount{in, i, 0}))
		}
		return nil
	}
	partitions := func(n int) func(*txn.Tx) error {
		return func(tx *txn.Tx) error {
			for i := range n {
				tx.Do(b.accounts.InsertOp(&bankAccount{fmt.Sprint("city", n, "_", i), 1, 1}))
			}
			return nil
		}
	}
	for _, c := range []struct {
		what string
		call func(*txn.Tx) error
		fits bool
	}{
		{"10 partitions", partitions(10), true},
		{"11 partitions", partitions(11), false},
		{"60 changes in the home, which is touched behind another", func(tx *txn.Tx) error { return errors.Join(changes(tx, "Few", 1), changes(tx, "Many", 60)) }, true},
		{"60 changes and an absent row in one of two partitions", func(tx *txn.Tx) error {
			if _, err := txn.Get(tx, b.accounts, accountKey("Many", 99)); !errors.Is(err, table.ErrNotFound) {
				return err
			}
			return errors.Join(changes(tx, "Few", 1), changes(tx, "Many", 60))
		}, true},
		{"49 changes beside the home", func(tx *txn.Tx) error { return errors.Join(changes(tx, "Few", 49), changes(tx, "Many", 60)) }, true},
		{"50 changes beside the home", func(tx *txn.Tx) error { return errors.Join(changes(tx, "Few", 50), changes(tx, "Many", 60)) }, false},
		{"99 inserts beside the home", func(tx *txn.Tx) error { return errors.Join(changes(tx, "Few", 1), inserts(tx, "New", 99)) }, true},
		{"100 inserts beside the home", func(tx *txn.Tx) error { return errors.Join(changes(tx, "Few", 1), inserts(tx, "Newer", 100)) }, false},
		{"99 inserts in the home", func(tx *txn.Tx) error { return errors.Join(inserts(tx, "Home", 99), inserts(tx, "Other", 1)) }, true},
		{"100 inserts in the home", func(tx *txn.Tx) error { return errors.Join(inserts(tx, "Homes", 100), inserts(tx, "Others", 1)) }, false},
	} {
		err := txn.Run(ctx, b, c.call)
		var limit *table.LimitError
		if c.fits && err != nil || !c.fits && !errors.As(err, &limit) {
			t.Errorf("%s: got %v; want no error: %v, and a *LimitError otherwise", c.what, err, c.fits)
		}
	}
}

// TestAfterwards: what a function has left running adds nothing to its transaction, in the middle of a call or after it, and harms nothing.
func TestAfterwards(t *testing.T) {
	t.Parallel()
	_, b := newBank(t)
	for _, writes := range []bool{true, false} {
		for range 20 {
			var late errgroup.Group
			ended := make(chan struct{})
			err := txn.Run(t.Context(), b, func(tx *txn.Tx) error {
				for i := range 4 {
					late.Go(func() error { // some of these reads are under way when the function returns
						_, err := txn.Get(tx, b.accounts, accountKey("Bern", i+1))
						if errors.Is(err, table.ErrNotFound) || errors.As(err, new(*table.ValueError)) {
							return nil
						}
						return err
					})
				}
				late.Go(func() error {
					<-ended
					tx.Do(b.accounts.InsertOp(&bankAccount{"Late", 1, 1}), b.accounts.DeleteAnyOp(accountKey("Bern", 1)))
					if _, err := txn.Get(tx, b.accounts, accountKey("Ulm", 2)); !errors.As(err, new(*table.ValueError)) {
						return fmt.Errorf("a late read: got %v; want a *ValueError", err)
					}
					return nil
				})
				zug, err1 := txn.Get(tx, b.accounts, accountKey("Zug", 3))
				_, err2 := txn.Get(tx, b.accounts, accountKey("Ulm", 2))
				if err := errors.Join(err1, err2); err != nil || !writes {
					return err
				}
				zug.Value.Cents++
				tx.Do(b.accounts.ReplaceOp(zug))
				return nil
			})
			close(ended)
			testkit.NoError(t, errors.Join(err, late.Wait()))
		}
	}
	testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 100; Ulm 2: 100; Zug 3: 120; ")
}

// TestStaysAsItWas: a row that is read and not written has afterwards what it had before, also what the type does not know, and its entity can be written again.
func TestStaysAsItWas(t *testing.T) {
	t.Parallel()
	s, b := newBank(t)
	ctx := t.Context()
	_, err := s.Tables().NewClient("accounts").UpdateEntity(ctx, []byte(`{"PartitionKey":"Zug","RowKey":"0003","Unknown":"kept"}`), nil)
	testkit.NoError(t, err)
	rowOf := func() string {
		for _, r := range s.Rows("accounts") {
			if r.PartitionKey == "Zug" && r.RowKey == "0003" {
				return fmt.Sprint(r.Get("Cents"), r.Get("Unknown"), r.Get("_op"), r.Get("_tx"))
			}
		}
		return "none"
	}
	before := rowOf()
	var pinned, written *table.Entity[bankAccount]
	err = txn.Run(ctx, b, func(tx *txn.Tx) (err error) {
		if written, err = txn.Get(tx, b.accounts, accountKey("Bern", 1)); err != nil {
			return err
		}
		if pinned, err = txn.Get(tx, b.accounts, accountKey("Zug", 3)); err != nil {
			return err
		}
		written.Value.Cents++
		tx.Do(b.accounts.ReplaceOp(written))
		return nil
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "the row", rowOf(), before)
	pinned.Value.Cents, written.Value.Cents = 5, 6
	testkit.NoError(t, b.accounts.Replace(ctx, pinned))
	testkit.NoError(t, b.accounts.Replace(ctx, written))
}

// TestKinds: merges, inserts and deletes in all partitions.
func TestKinds(t *testing.T) {
	t.Parallel()
	s, b := newBank(t)
	cents := table.FieldOf(func(a *bankAccount) *int { return &a.Cents })
	_, err := s.Tables().NewClient("accounts").UpdateEntity(t.Context(), []byte(`{"PartitionKey":"Zug","RowKey":"0003","Unknown":"kept"}`), nil)
	testkit.NoError(t, err)
	err = txn.Run(t.Context(), b, func(tx *txn.Tx) error {
		bern, err1 := txn.Get(tx, b.accounts, accountKey("Bern", 1))
		ulm, err2 := txn.Get(tx, b.accounts, accountKey("Ulm", 2))
		zug, err3 := txn.Get(tx, b.accounts, accountKey("Zug", 3))
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		tx.Do(b.accounts.MergeOp(bern, cents.Set(1)), b.accounts.DeleteOp(ulm), b.accounts.MergeOp(zug, cents.Set(3)), b.accounts.InsertOp(&bankAccount{"Rom", 4, 4}))
		return nil
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 1; Rom 4: 4; Zug 3: 3; ")
	for _, r := range s.Rows("accounts") {
		if r.PartitionKey == "Zug" && r.RowKey == "0003" && r.Get("Unknown") != "kept" {
			t.Errorf("got %v; want what the type does not know", r)
		}
	}
}

// TestInsertOfWhatExists: an insert of what the function has not read is an error if there is a row.
func TestInsertOfWhatExists(t *testing.T) {
	t.Parallel()
	s, b := newBank(t)
	err := txn.Run(t.Context(), b, func(tx *txn.Tx) error {
		tx.Do(b.accounts.InsertOp(&bankAccount{"Rom", 4, 4}), b.accounts.InsertOp(&bankAccount{"Genf", 4, 4}), b.accounts.InsertOp(&bankAccount{"Bern", 1, 4}))
		return nil
	})
	if !errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrContended) {
		t.Errorf("got %v; want ErrExists", err)
	}
	testkit.NoError(t, errors.Join(b.Drain(t.Context()), left(s, "accounts")))
	testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 100; Ulm 2: 100; Zug 3: 100; ")
}

// TestInsertBesideOthers: an insert of what exists is ErrExists, also if the function reads or
// writes rows of other partitions. The first call prepares these and rolls them back.
func TestInsertBesideOthers(t *testing.T) {
	t.Parallel()
	for _, writes := range []bool{false, true} {
		s, b := newBank(t)
		calls := 0
		err := txn.Run(t.Context(), b, func(tx *txn.Tx) error {
			calls++
			ulm, err1 := txn.Get(tx, b.accounts, accountKey("Ulm", 2))
			zug, err2 := txn.Get(tx, b.accounts, accountKey("Zug", 3))
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			if writes {
				tx.Do(b.accounts.MergeOp(ulm, cents.Set(1)), b.accounts.MergeOp(zug, cents.Set(3)))
			}
			tx.Do(b.accounts.InsertOp(&bankAccount{"Bern", 1, 4}))
			return nil
		})
		if !errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrContended) || calls > 2 {
			t.Errorf("writes %v: got %v after %d calls; want ErrExists after two", writes, err, calls)
		}
		testkit.NoError(t, errors.Join(b.Drain(t.Context()), left(s, "accounts")))
		testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 100; Ulm 2: 100; Zug 3: 100; ")
	}
}

// TestInsertBesideAbsent: an insert of what exists is ErrExists, also if the function has read
// another row as absent.
func TestInsertBesideAbsent(t *testing.T) {
	t.Parallel()
	_, b := newBank(t)
	err := txn.Run(t.Context(), b, func(tx *txn.Tx) error {
		if _, err := txn.Get(tx, b.accounts, accountKey("Rom", 4)); !errors.Is(err, table.ErrNotFound) {
			return err
		}
		tx.Do(b.accounts.InsertOp(&bankAccount{"Bern", 1, 4}))
		return nil
	})
	if !errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrContended) {
		t.Errorf("got %v; want ErrExists", err)
	}
}

// TestInsertByOldReads: an insert that is refused since another program has inserted the row, and
// has changed what the function has read, is no error: the function is called again. Without that
// change it is one, after 5 requests.
func TestInsertByOldReads(t *testing.T) {
	t.Parallel()
	s, b := newBank(t)
	ctx := t.Context()
	next := func(tx *txn.Tx) (*table.Entity[bankAccount], error) {
		return txn.Get(tx, b.accounts, accountKey("Bern", 1))
	}
	calls := 0
	err := txn.Run(ctx, b, func(tx *txn.Tx) error {
		calls++
		bern, err := next(tx)
		if err != nil {
			return err
		}
		id := int(bern.Value.Cents) // of the next account
		if calls == 1 {
			testkit.NoError(t, b.accounts.MergeAny(ctx, bern.Key, cents.Set(101)))
			_, err := b.accounts.Insert(ctx, &bankAccount{"Bern", id, 0})
			testkit.NoError(t, err)
		}
		tx.Do(b.accounts.InsertOp(&bankAccount{"Bern", id, 0}))
		return nil
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "calls", calls, 2)
	testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 101; Bern 100: 0; Bern 101: 0; Ulm 2: 100; Zug 3: 100; ")
	s.Count()
	err = txn.Run(ctx, b, func(tx *txn.Tx) error {
		_, err := next(tx)
		tx.Do(b.accounts.InsertOp(&bankAccount{"Bern", 100, 0}))
		return err
	})
	if !errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrContended) {
		t.Errorf("got %v; want ErrExists", err)
	}
	testkit.Expect(t, "requests", s.Count().String(), "3 get, 1 insert, 1 transaction")
}

// TestReadInHome: what the function has read in the partition that it writes is as it was read, or
// the function is called again.
func TestReadInHome(t *testing.T) {
	t.Parallel()
	for name, elsewhere := range map[string][]bankAccount{"one partition": nil, "two partitions": {{"Ulm", 9, 1}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, b := newBank(t)
			ctx := t.Context()
			calls := 0
			err := txn.Run(ctx, b, func(tx *txn.Tx) error {
				calls++
				bern, err := txn.Get(tx, b.accounts, accountKey("Bern", 1))
				if err != nil {
					return err
				}
				if calls == 1 {
					testkit.NoError(t, b.accounts.MergeAny(ctx, bern.Key, cents.Set(555)))
				}
				tx.Do(b.accounts.InsertOp(&bankAccount{"Bern", 2, bern.Value.Cents}))
				for _, other := range elsewhere {
					tx.Do(b.accounts.InsertOp(&other))
				}
				return nil
			})
			testkit.NoError(t, err)
			if got, want := b.cents(t), "Bern 1: 555; Bern 2: 555; Ulm 2: 100; "; !strings.HasPrefix(got, want) {
				t.Errorf("got accounts %q; want them to begin with %q", got, want)
			}
		})
	}
}

// TestErrorOfOldReads: an error of the function that goes by what was not true at one moment is not returned.
func TestErrorOfOldReads(t *testing.T) {
	t.Parallel()
	_, b := newBank(t)
	ctx := t.Context()
	calls := 0
	err := txn.Run(ctx, b, func(tx *txn.Tx) error {
		calls++
		bern, err := txn.Get(tx, b.accounts, accountKey("Bern", 1))
		if err != nil {
			return err
		}
		if calls == 1 {
			testkit.NoError(t, b.transfer(ctx, accountKey("Bern", 1), accountKey("Zug", 3), 100, ""))
		}
		zug, err := txn.Get(tx, b.accounts, accountKey("Zug", 3))
		if err != nil {
			return err
		}
		if sum := bern.Value.Cents + zug.Value.Cents; sum != 200 {
			return fmt.Errorf("the sum is %d", sum)
		}
		return nil
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "calls", calls, 2)
}

// TestMistakes: what a transaction cannot do is an error that says why, and nothing is written.
func TestMistakes(t *testing.T) {
	t.Parallel()
	s, b := newBank(t)
	ctx := t.Context()
	other := openBank(storagetest.New(nil), &aztablekit.Options{Daily: -1})
	jones, err := b.accounts.Get(ctx, accountKey("Bern", 1))
	testkit.NoError(t, err)
	old := *jones
	testkit.NoError(t, baretest.Touch(ctx, b.accounts, jones))
	does := func(ops ...table.Op) func(*txn.Tx) error {
		return func(tx *txn.Tx) error { tx.Do(ops...); return nil }
	}
	many := func(tx *txn.Tx) error {
		for i := range 11 {
			tx.Do(b.accounts.InsertOp(&bankAccount{fmt.Sprint("city", i), 1, 1}))
		}
		return nil
	}
	large := func(tx *txn.Tx) error {
		for i := range 100 {
			tx.Do(b.accounts.InsertOp(&bankAccount{"Rom", i, 1}))
		}
		tx.Do(b.accounts.InsertOp(&bankAccount{"Genf", 1, 1}))
		return nil
	}
	var kept *txn.Tx
	var value *table.ValueError
	var limit *table.LimitError
	for _, c := range []struct {
		what string
		call func(*txn.Tx) error
		want any
	}{
		{"no function", nil, &value},
		{"an upsert", does(b.accounts.UpsertOp(&bankAccount{"Bern", 1, 1}, table.ReplaceExisting)), &value},
		{"any version", does(b.accounts.DeleteAnyOp(accountKey("Bern", 1))), &value},
		{"twice", does(b.accounts.InsertOp(&bankAccount{"Rom", 1, 1}), b.accounts.InsertOp(&bankAccount{"Rom", 1, 2})), errs.ErrDuplicateRow},
		{"another store", does(other.accounts.InsertOp(&bankAccount{"Rom", 1, 1})), &value},
		{"eleven partitions", many, &limit},
		{"a hundred rows beside the commit record", large, &limit},
		{"an older version", does(b.accounts.ReplaceOp(&old)), table.ErrChanged},
		{"a zero operation", does(table.Op{}), &value},
		{"a read of another store", func(tx *txn.Tx) error {
			_, err := txn.Get(tx, other.accounts, accountKey("Bern", 1))
			return err
		}, &value},
		{"a read of what is written", func(tx *txn.Tx) error {
			kept = tx
			tx.Do(b.accounts.InsertOp(&bankAccount{"Rom", 1, 1}))
			_, err := txn.Get(tx, b.accounts, accountKey("Rom", 1))
			return err
		}, &value},
		{"after its call", func(*txn.Tx) error {
			_, err := txn.Get(kept, b.accounts, accountKey("Rom", 1))
			return err
		}, &value},
	} {
		err := txn.Run(ctx, b, c.call)
		is := false
		switch want := c.want.(type) {
		case error:
			is = errors.Is(err, want)
		default:
			is = errors.As(err, want)
		}
		if !is || errors.Is(err, table.ErrContended) {
			t.Errorf("%s: got %v; want a %T %v", c.what, err, c.want, c.want)
		}
	}
	testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 100; Ulm 2: 100; Zug 3: 100; ")
	testkit.NoError(t, errors.Join(b.Drain(t.Context()), left(s, "accounts")))
	if err := txn.Run(ctx, nil, many); !errors.As(err, &value) {
		t.Errorf("a nil store: got %v; want a *ValueError", err)
	}
}

// TestFind: an entity that a unique value finds stays as it is, also if the look-up has read a copy; one that was not found does not let the transaction write.
func TestFind(t *testing.T) {
	t.Parallel()
	byCents := index.NewUnique("cents", keys.Ordered(), func(a *bankAccount) (string, bool) { return fmt.Sprint(a.Cents), a.City == "Bern" }, nil)
	_, b := newBank(t, byCents)
	ctx := t.Context()
	add := func(cents string) error {
		return txn.Run(ctx, b, func(tx *txn.Tx) error {
			found, err := txn.Find(tx, b.accounts, func(ctx context.Context) (*table.Entity[bankAccount], error) {
				return byCents.Get(ctx, b.accounts, cents)
			})
			if err != nil && !errors.Is(err, table.ErrNotFound) {
				return err
			}
			more := 0
			if err == nil {
				more = found.Value.Cents
			}
			zug, err := txn.Get(tx, b.accounts, accountKey("Zug", 3))
			if err != nil {
				return err
			}
			zug.Value.Cents += more
			tx.Do(b.accounts.ReplaceOp(zug))
			return nil
		})
	}
	testkit.NoError(t, add("100"))
	testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 100; Ulm 2: 100; Zug 3: 200; ")
	if err := add("5"); !errors.Is(err, txn.ErrUnprotected) {
		t.Errorf("got %v; want ErrUnprotected", err)
	}
}
