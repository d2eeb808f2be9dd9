package txn_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

// beforeBatch returns a bank whose requests go on when a function has returned, which gets the number of each transaction of the service.
func beforeBatch(t *testing.T, s *storagetest.Service, do func(n int), of ...aztablekit.Definition[bankAccount]) *bank {
	t.Helper()
	n := 0
	p := &testkit.Hooked{Service: s, BeforeRequest: func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "$batch") {
			n++
			do(n)
		}
	}}
	acc, err := account.FromTransport(p, nil)
	testkit.NoError(t, err)
	return openBank(acc, &aztablekit.Options{Daily: -1}, of...)
}

// TestListsBeside: a list and a read beside a transaction do not see the rows that it reserves, before its commit and after it.
func TestListsBeside(t *testing.T) {
	t.Parallel()
	s, others := newBank(t)
	seen := map[int]string{}
	b := beforeBatch(t, s, func(n int) { seen[n] = others.cents(t) })
	err := txn.Run(t.Context(), b, func(tx *txn.Tx) error {
		e, err := txn.Get(tx, b.accounts, accountKey("Bern", 1))
		if err != nil {
			return err
		}
		if _, err := txn.Get(tx, b.accounts, accountKey("Ulm", 9)); !errors.Is(err, table.ErrNotFound) {
			return err
		}
		e.Value.Cents = 5
		tx.Do(b.accounts.ReplaceOp(e))
		return nil
	})
	testkit.NoError(t, err)
	testkit.Expect(t, "before the preparation, the commit and the end", fmt.Sprint(seen), fmt.Sprint(map[int]string{
		1: "Bern 1: 100; Ulm 2: 100; Zug 3: 100; ", 2: "Bern 1: 100; Ulm 2: 100; Zug 3: 100; ", 3: "Bern 1: 5; Ulm 2: 100; Zug 3: 100; ",
	}))
}

// TestReadBeside: a read by key of what a transaction has committed, and not ended, finds that, and a write by it loses nothing (glassdb 2026-06).
func TestReadBeside(t *testing.T) {
	t.Parallel()
	s, others := newBank(t)
	var read []int
	b := beforeBatch(t, s, func(n int) {
		if n != 3 { // the end of a transaction that has committed
			return
		}
		e, err := others.accounts.Get(t.Context(), accountKey("Zug", 3))
		testkit.NoError(t, err)
		read = append(read, e.Value.Cents)
		e.Value.Cents++
		testkit.NoError(t, others.accounts.Replace(t.Context(), e))
	})
	testkit.NoError(t, b.transfer(t.Context(), accountKey("Bern", 1), accountKey("Zug", 3), 30, ""))
	testkit.Expect(t, "what a reader has found after the commit", fmt.Sprint(read), "[130]")
	testkit.Expect(t, "accounts", others.cents(t), "Bern 1: 70; Ulm 2: 100; Zug 3: 131; ")
	testkit.NoError(t, errors.Join(others.Drain(t.Context()), left(s, "accounts")))
}

// TestOldCopy: a look-up whose copy is older than its entity finds nothing that a transaction goes by.
func TestOldCopy(t *testing.T) {
	t.Parallel()
	byCents := index.NewGlobal("cents", keys.Ordered(), func(a *bankAccount) (string, bool) { return fmt.Sprint(a.Cents), true }, nil)
	_, b := newBank(t, byCents)
	ctx := t.Context()
	testkit.NoError(t, b.Drain(ctx))
	e, err := b.accounts.Get(ctx, accountKey("Bern", 1))
	testkit.NoError(t, err)
	e.Value.Cents = 7
	testkit.NoError(t, b.accounts.Replace(ctx, e)) // no worker has changed the copy
	calls := 0
	err = txn.Run(ctx, b, func(tx *txn.Tx) error {
		calls++
		_, err := txn.Find(tx, b.accounts, func(ctx context.Context) (*table.Entity[bankAccount], error) {
			for found, err := range byCents.List(ctx, b.accounts, "100") {
				if err != nil || found.Value.City == "Bern" {
					return found, err
				}
			}
			return nil, table.ErrNotFound
		})
		return err
	})
	if !errors.Is(err, table.ErrContended) || calls != 1 {
		t.Errorf("got %v after %d calls; want ErrContended", err, calls)
	}
}
