package txn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
	"github.com/aztablekit/aztablekit/verify"
)

// TestMaintainers: what follows from the entities of all participants follows from a transaction, in the partitions of the entities and elsewhere: copies, lists, summaries,
// unique values and effects.
func TestMaintainers(t *testing.T) {
	t.Parallel()
	cents := func(a *bankAccount) (string, bool) { return fmt.Sprint(a.Cents), true }
	byCents := index.New("copies", keys.Ordered(), cents, nil)
	byCentsAnywhere := index.NewGlobal("anywhere", keys.Ordered(), cents, nil)
	lists := index.NewLists("lists", keys.Ordered(), cents, nil)
	heads := index.NewSummary("heads", keys.Text().Named("heads"), func(a *bankAccount) (string, bool) { return a.City, true }, nil)
	unique := index.NewUnique("no", keys.Ordered(), func(a *bankAccount) (string, bool) { return fmt.Sprint(a.City, a.ID), true }, nil)
	var mu sync.Mutex
	var told []string
	tell := eventual.On("tell", func(c *eventual.Change[bankAccount]) (string, bool) {
		if c.New == nil {
			return c.Old.City + " is closed", true
		}
		return fmt.Sprint(c.New.City, " has ", c.New.Cents), true
	}, func(_ context.Context, _ eventual.Job, text string) error {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, text)
		return nil
	})
	s, b := newBank(t, aztablekit.Definition[bankAccount](byCents), byCentsAnywhere, lists, heads, unique, tell)
	ctx := t.Context()
	testkit.NoError(t, b.Drain(ctx))
	told = nil
	err := txn.Run(ctx, b, func(tx *txn.Tx) error {
		bern, err1 := txn.Get(tx, b.accounts, accountKey("Bern", 1))
		ulm, err2 := txn.Get(tx, b.accounts, accountKey("Ulm", 2))
		_, err3 := txn.Get(tx, b.accounts, accountKey("Zug", 3))
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		bern.Value.Cents = 7
		tx.Do(b.accounts.ReplaceOp(bern), b.accounts.DeleteOp(ulm), b.accounts.InsertOp(&bankAccount{"Rom", 4, 9}))
		return nil
	})
	testkit.NoError(t, err)
	for _, c := range []struct{ in, cents, want string }{{"Bern", "7", "Bern 1"}, {"Bern", "100", ""}, {"Ulm", "100", ""}, {"Rom", "9", "Rom 4"}, {"Zug", "100", "Zug 3"}} {
		found, listed := "", ""
		for e, err := range byCents.List(ctx, b.accounts, city.Of(c.in), c.cents) {
			testkit.NoError(t, err)
			found += fmt.Sprint(e.Value.City, " ", e.Value.ID)
		}
		for e, err := range lists.List(ctx, b.accounts, city.Of(c.in), c.cents) {
			testkit.NoError(t, err)
			listed += fmt.Sprint(e.Value.City, " ", e.Value.ID)
		}
		testkit.Expect(t, "the copies of "+c.cents+" in "+c.in, found, c.want)
		testkit.Expect(t, "the list of "+c.cents+" in "+c.in, listed, c.want)
	}
	testkit.NoError(t, b.Drain(ctx))
	slices.Sort(told)
	testkit.Expect(t, "effects", strings.Join(told, ", "), "Bern has 7, Rom has 9, Ulm is closed")
	found := ""
	for e, err := range byCentsAnywhere.Query(ctx, b.accounts, "9", table.Query[bankAccount]{}) {
		testkit.NoError(t, err)
		found += fmt.Sprint(e.Value.City, " ", e.Value.ID)
	}
	testkit.Expect(t, "the copies elsewhere", found, "Rom 4")
	report, err := verify.Check(ctx, b.accounts, nil)
	if err != nil || len(derived.Kinds(report)) > 0 {
		t.Errorf("got %v, %v; want no faults", report, err)
	}
	testkit.NoError(t, left(s, "accounts", "accountsanywhere", "accountsno"))
}

// TestLacksDefinition: a release that lacks a definition of a participant's table, in its home or elsewhere, writes nothing.
func TestLacksDefinition(t *testing.T) {
	t.Parallel()
	cents := func(a *bankAccount) (string, bool) { return fmt.Sprint(a.Cents), true }
	s, b := newBank(t, index.New("copies", keys.Ordered(), cents, nil))
	ctx := t.Context()
	older := openBank(s, &aztablekit.Options{Daily: -1})
	err := txn.Run(ctx, older, func(tx *txn.Tx) error {
		bern, err := txn.Get(tx, older.accounts, accountKey("Bern", 1))
		if err != nil {
			return err
		}
		bern.Value.Cents = 7
		tx.Do(older.ledger.InsertOp(&posting{"Bern", "line", 1}), older.accounts.ReplaceOp(bern))
		return nil
	})
	if !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("got %v; want ErrUnknownMaintainer", err)
	}
	err = txn.Run(ctx, older, func(tx *txn.Tx) error {
		tx.Do(older.ledger.InsertOp(&posting{"Bern", "line", 1}), older.accounts.InsertOp(&bankAccount{"Rom", 1, 1}))
		return nil
	})
	if !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("got %v; want ErrNotDeclared", err)
	}
	testkit.Expect(t, "accounts", b.cents(t), untouched)
	testkit.NoError(t, left(s, "accounts", "ledger"))
}

// TestOtherWorker: a worker whose store lacks the table of a participant finishes the transaction of a crashed program there.
func TestOtherWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, b := newBank(t)
		ctx := t.Context()
		crashed := cut(t, s, 3) // after the commit
		err := txn.Run(ctx, crashed, func(tx *txn.Tx) error {
			bern, err := txn.Get(tx, crashed.accounts, accountKey("Bern", 1))
			if err != nil {
				return err
			}
			bern.Value.Cents = 7
			tx.Do(crashed.accounts.ReplaceOp(bern), crashed.ledger.InsertOp(&posting{"Bern", "line", 1}))
			return nil
		})
		testkit.NoError(t, err)
		half := aztablekit.Open(s, "bank", &aztablekit.Options{Daily: -1})
		aztablekit.Table(half, "accounts", city, id)
		time.Sleep(5 * time.Minute) // until the message is visible
		testkit.NoError(t, half.Drain(ctx))
		testkit.NoError(t, left(s, "accounts", "ledger"))
		line, err := b.ledger.Get(ctx, keys.At(ledgerCity.Of("Bern"), ledgerID.Of("line")))
		testkit.NoError(t, err)
		testkit.Expect(t, "the line", line.Value.Cents, 1)
	})
}
