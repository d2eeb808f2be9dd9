package txn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
	"github.com/aztablekit/aztablekit/verify"
)

// inBank calls a function with a bank in which no two accounts have the same number of cents.
func inBank(do func(ctx context.Context, b *bank) error) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		acc, err := account.FromTransport(p, nil)
		if err != nil {
			return err
		}
		byCents := index.NewUnique("cents", keys.Ordered(), func(a *bankAccount) (string, bool) { return fmt.Sprint(a.Cents), true }, nil)
		return do(ctx, openBank(acc, &aztablekit.Options{Daily: -1}, byCents))
	}
}

// swap exchanges what two accounts have, which is unique.
func swap(ctx context.Context, b *bank) error {
	return txn.Run(ctx, b, func(tx *txn.Tx) error {
		a, err := txn.Get(tx, b.accounts, accountKey("Bern", 1))
		if err != nil {
			return err
		}
		z, err := txn.Get(tx, b.accounts, accountKey("Zug", 3))
		if err != nil {
			return err
		}
		a.Value.Cents, z.Value.Cents = z.Value.Cents, a.Value.Cents
		tx.Do(b.accounts.ReplaceOp(a), b.accounts.ReplaceOp(z))
		return nil
	})
}

// cascade deletes an account, the account of another city that belongs to it, and their line in the ledger.
func cascade(ctx context.Context, b *bank) error {
	return txn.Run(ctx, b, func(tx *txn.Tx) error {
		for _, k := range []keys.Key{accountKey("Bern", 1), accountKey("Zug", 3)} {
			a, err := txn.Get(tx, b.accounts, k)
			if errors.Is(err, table.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			tx.Do(b.accounts.DeleteOp(a))
		}
		line, err := txn.Get(tx, b.ledger, keys.At(ledgerCity.Of("Bern"), ledgerID.Of("line")))
		if err == nil {
			tx.Do(b.ledger.DeleteOp(line))
		} else if !errors.Is(err, table.ErrNotFound) {
			return err
		}
		return nil
	})
}

// naive moves money by two updates, one after the other.
func naive(ctx context.Context, b *bank) error {
	add := func(k keys.Key, cents int) error {
		_, err := b.accounts.Update(ctx, k, func(a *bankAccount) error { a.Cents += cents; return nil })
		return err
	}
	return errors.Join(add(accountKey("Bern", 1), -10), add(accountKey("Zug", 3), 10))
}

// bankRows returns what is stored, as text, and the sum of all accounts.
func bankRows(s *storagetest.Service) (text string, sum int64) {
	for _, of := range []string{"accounts", "ledger"} {
		for _, r := range s.Rows(of) {
			if cents, is := r.Get("Cents").(int64); is && r.Get("_sys") == nil {
				text += fmt.Sprintf("%s %s %s %d; ", of, r.PartitionKey, r.RowKey, cents)
				if of == "accounts" {
					sum += cents
				}
			}
		}
	}
	return text, sum
}

// bankWorkload is programs beside each other. check gets what is stored at the end.
func bankWorkload(check func(text string, sum int64) error, programs ...func(context.Context, *bank) error) crashtest.Workload {
	w := crashtest.Workload{
		Setup: inBank(func(ctx context.Context, b *bank) error {
			if err := b.Ensure(ctx); err != nil {
				return err
			}
			for _, a := range []bankAccount{{"Bern", 1, 100}, {"Zug", 3, 300}} {
				if _, err := b.accounts.Insert(ctx, &a); err != nil {
					return err
				}
			}
			_, err := b.ledger.Insert(ctx, &posting{"Bern", "line", 1})
			return errors.Join(err, b.Drain(ctx))
		}),
		Drain: inBank(func(ctx context.Context, b *bank) error {
			time.Sleep(2 * time.Minute)
			if err := testkit.WithoutFailures(b.Drain(ctx)); err != nil {
				return err
			}
			report, err := verify.Check(ctx, b.accounts, nil)
			if err == nil && len(derived.Kinds(report)) > 0 {
				err = fmt.Errorf("got faults %v; want none", report)
			}
			return err
		}),
		Check: func(s *storagetest.Service) error {
			return errors.Join(left(s, "accounts", "ledger", "accountscents"), check(bankRows(s)))
		},
	}
	for _, program := range programs {
		w.Processes = append(w.Processes, inBank(func(ctx context.Context, b *bank) error {
			_ = program(ctx, b)
			return nil
		}))
	}
	return w
}

// oneOf returns an error unless one of some texts is stored.
func oneOf(texts ...string) func(string, int64) error {
	return func(text string, _ int64) error {
		for _, want := range texts {
			if text == want {
				return nil
			}
		}
		return fmt.Errorf("got %q; want one of %q", text, texts)
	}
}

// TestBankFaults: with each fault at each request, an exchange of unique values, a deletion of what belongs together and a transfer happen or do not, with the rows that
// follow.
func TestBankFaults(t *testing.T) {
	t.Parallel()
	const before = "accounts Bern 0001 100; accounts Zug 0003 300; ledger Bern line 1; "
	transfer := func(ctx context.Context, b *bank) error {
		return b.transfer(ctx, accountKey("Bern", 1), accountKey("Zug", 3), 10, "second")
	}
	for name, c := range map[string]struct {
		check    func(string, int64) error
		programs []func(context.Context, *bank) error
	}{
		"a transfer":       {oneOf(before, "accounts Bern 0001 90; accounts Zug 0003 310; ledger Bern line 1; ledger Bern second -10; "), []func(context.Context, *bank) error{transfer}},
		"a swap":           {oneOf(before, "accounts Bern 0001 300; accounts Zug 0003 100; ledger Bern line 1; "), []func(context.Context, *bank) error{swap}},
		"two swaps":        {oneOf(before, "accounts Bern 0001 300; accounts Zug 0003 100; ledger Bern line 1; "), []func(context.Context, *bank) error{swap, swap}},
		"a cascade":        {oneOf(before, ""), []func(context.Context, *bank) error{cascade}},
		"a cascade, twice": {oneOf(before, ""), []func(context.Context, *bank) error{cascade, cascade}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Enumerate(t, func() crashtest.Workload { return bankWorkload(c.check, c.programs...) }, testkit.Crash(crashtest.Options{PairLimit: -1, Sample: testkit.Sample(14)}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestNaive: two updates one after the other lose or make money with many of the faults.
func TestNaive(t *testing.T) {
	t.Parallel()
	r := crashtest.Enumerate(t, func() crashtest.Workload {
		return bankWorkload(func(_ string, sum int64) error {
			if sum != 400 {
				return fmt.Errorf("the sum is %d; want 400", sum)
			}
			return nil
		}, naive)
	}, testkit.Crash(crashtest.Options{PairLimit: -1, Sample: testkit.Sample(2)}))
	if len(r.Violations) == 0 && !testkit.Few() {
		t.Errorf("got %v; want violations", r)
	}
	t.Log(r)
}
