package txn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

// This file has what transactions of other libraries got wrong.

// readBoth pays 10 into the account in Bern if that in Zug has money.
func readBoth(b *bank) func(*txn.Tx) error {
	return func(tx *txn.Tx) error {
		bern, err := txn.Get(tx, b.accounts, accountKey("Bern", 1))
		if err != nil {
			return err
		}
		zug, err := txn.Get(tx, b.accounts, accountKey("Zug", 3))
		if err != nil {
			return err
		}
		if zug.Value.Cents > 0 {
			bern.Value.Cents += 10
		}
		tx.Do(b.accounts.ReplaceOp(bern))
		return nil
	}
}

// TestOnlyReadIsFreed: a row that a transaction has only read is free again when its program has crashed (orleans#4838, dynamodb-transactions#27, #33).
func TestOnlyReadIsFreed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, b := newBank(t)
		ctx := t.Context()
		crashed := cut(t, s, 2)
		if err := txn.Run(ctx, crashed, readBoth(crashed)); !errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("got %v; want ErrUnknownOutcome", err)
		}
		began := time.Now()
		_, err := b.accounts.Update(ctx, accountKey("Zug", 3), func(a *bankAccount) error { a.Cents++; return nil })
		testkit.NoError(t, err)
		if took := time.Since(began); took > 1100*time.Millisecond {
			t.Errorf("got an update after %v; want at most a second", took)
		}
		testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 100; Ulm 2: 100; Zug 3: 101; ")
	})
}

// TestInvalidMember: an operation that the service would refuse leaves no other one applied (dynamodb-transactions#4).
func TestInvalidMember(t *testing.T) {
	t.Parallel()
	s, b := newBank(t)
	err := txn.Run(t.Context(), b, func(tx *txn.Tx) error {
		tx.Do(b.accounts.InsertOp(&bankAccount{"Rom", 1, 1}), b.ledger.InsertOp(&posting{"Rom", strings.Repeat("x", 2000), 1}))
		return nil
	})
	if err == nil || errors.Is(err, table.ErrContended) {
		t.Errorf("got %v; want the mistake of the operation", err)
	}
	testkit.Expect(t, "requests", s.Count().String(), "none")
	testkit.Expect(t, "accounts", b.cents(t), untouched)
}

// TestNothingKept: what the function has made of an entity in a call that was in vain is not there in the next (orleans#10376).
func TestNothingKept(t *testing.T) {
	t.Parallel()
	_, b := newBank(t)
	ctx := t.Context()
	calls := 0
	err := txn.Run(ctx, b, func(tx *txn.Tx) error {
		if calls++; calls > 1 {
			return readBoth(b)(tx)
		}
		err := readBoth(b)(tx)
		_, changed := b.accounts.Update(ctx, accountKey("Bern", 1), func(a *bankAccount) error { a.Cents = 1; return nil })
		return errors.Join(err, changed)
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "calls", calls, 2)
	testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 11; Ulm 2: 100; Zug 3: 100; ")
}

// TestSuspended: a transaction whose program sleeps before its commit is rolled back by a reader, and is done again when the program has woken; a shorter sleep does no harm,
// nor do clocks that differ by half a second.
func TestSuspended(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sleeps, behind time.Duration // behind is how much the clock of the reader is behind that of the writer
		calls          int
	}{
		{500 * time.Millisecond, 0, 1}, {2 * time.Second, 0, 2},
		{300 * time.Millisecond, 500 * time.Millisecond, 1}, {300 * time.Millisecond, -500 * time.Millisecond, 1},
		{500 * time.Millisecond, -2 * time.Second, 2}, {500 * time.Millisecond, 2 * time.Second, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, others := newBank(t)
			ctx := t.Context()
			now := func() time.Time { return time.Now().Add(-c.behind) }
			reader := openBank(s, &aztablekit.Options{Now: now, Daily: -1})
			var reads errgroup.Group
			b := beforeBatch(t, s, func(n int) {
				if n != 2 { // the commit
					return
				}
				reads.Go(func() error {
					_, err := reader.accounts.Get(ctx, accountKey("Zug", 3))
					return err
				})
				time.Sleep(c.sleeps)
			})
			calls := 0
			err := txn.Run(ctx, b, func(tx *txn.Tx) error { calls++; return readBoth(b)(tx) })
			testkit.NoError(t, err)
			testkit.NoError(t, reads.Wait())
			testkit.Expect(t, fmt.Sprintf("calls for a sleep of %v beside a clock that is behind by %v", c.sleeps, c.behind), calls, c.calls)
			testkit.Expect(t, "accounts", others.cents(t), "Bern 1: 110; Ulm 2: 100; Zug 3: 100; ")
		})
	}
}

// TestForgedMark: a mark that names a table outside of the store does not count, and no request goes there.
func TestForgedMark(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	b := openBank(s, nil)
	ctx := t.Context()
	testkit.NoError(t, b.Ensure(ctx))
	for _, a := range []bankAccount{{"Bern", 1, 100}, {"Zug", 3, 100}} {
		_, err := b.accounts.Insert(ctx, &a)
		testkit.NoError(t, err)
	}
	for i, fate := range []string{"delete", "insert", "replace", "pin", "reserve"} {
		mark := fmt.Sprintf(`{"PartitionKey":"Zug","RowKey":"0003","_tx":"01M8HMN39W96XCFX2ZH56NJAP1/evil/Zug/%s/0/x"}`, fate)
		_, err := s.Tables().NewClient("accounts").UpdateEntity(ctx, []byte(mark), &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeMerge})
		testkit.NoError(t, err)
		s.Count()
		testkit.NoError(t, b.transfer(ctx, accountKey("Bern", 1), accountKey("Zug", 3), 10, ""))
		for _, r := range s.Requests() {
			if r.Table == "evil" {
				t.Errorf("%s: got a request to the forged table: %v", fate, r)
			}
		}
		testkit.Expect(t, "accounts beside a forged "+fate, b.cents(t), fmt.Sprintf("Bern 1: %d; Zug 3: %d; ", 90-10*i, 110+10*i))
	}
}
