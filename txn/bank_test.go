package txn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

type bankAccount struct {
	City  string
	ID    int
	Cents int
}

var (
	city = keys.Partition(keys.Text(), func(a *bankAccount) *string { return &a.City })
	id   = keys.Row(keys.Digits[int](4), func(a *bankAccount) *int { return &a.ID })
)

// posting is a line of the ledger of a city.
type posting struct {
	City  string
	ID    string
	Cents int
}

var (
	ledgerCity = keys.Partition(keys.Text(), func(p *posting) *string { return &p.City })
	ledgerID   = keys.Row(keys.Text(), func(p *posting) *string { return &p.ID })
)

// bank is a store with accounts, and a ledger in another table.
type bank struct {
	*aztablekit.Store
	accounts *table.Table[bankAccount]
	ledger   *table.Table[posting]
}

func openBank(acc aztablekit.Account, o *aztablekit.Options, of ...aztablekit.Definition[bankAccount]) *bank {
	s := aztablekit.Open(acc, "bank", o)
	return &bank{s, aztablekit.Table(s, "accounts", city, id, of...), aztablekit.Table(s, "ledger", ledgerCity, ledgerID)}
}

func accountKey(in string, n int) keys.Key { return keys.At(city.Of(in), id.Of(n)) }

var errNoMoney = errors.New("there is not enough on the account")

// transfer moves money from an account to another one, and posts it in the ledger of both cities.
func (b *bank) transfer(ctx context.Context, from, to keys.Key, cents int, posted string) error {
	return txn.Run(ctx, b, func(tx *txn.Tx) error {
		a, err := txn.Get(tx, b.accounts, from)
		if err != nil {
			return err
		}
		z, err := txn.Get(tx, b.accounts, to)
		if err != nil {
			return err
		}
		if a.Value.Cents < cents {
			return errNoMoney
		}
		a.Value.Cents -= cents
		z.Value.Cents += cents
		ops := []table.Op{b.accounts.ReplaceOp(a), b.accounts.ReplaceOp(z)}
		if posted != "" {
			ops = append(ops, b.ledger.InsertOp(&posting{a.Value.City, posted, -cents}))
		}
		tx.Do(ops...)
		return nil
	})
}

func newBank(t *testing.T, of ...aztablekit.Definition[bankAccount]) (*storagetest.Service, *bank) {
	t.Helper()
	s := storagetest.New(nil)
	b := openBank(s, &aztablekit.Options{Daily: -1}, of...)
	testkit.NoError(t, b.Ensure(t.Context()))
	for i, in := range []string{"Bern", "Ulm", "Zug"} {
		_, err := b.accounts.Insert(t.Context(), &bankAccount{in, i + 1, 100})
		testkit.NoError(t, err)
	}
	s.Count()
	return s, b
}

// cents returns what is on all accounts, by partition and row.
func (b *bank) cents(t *testing.T) (all string) {
	t.Helper()
	for e, err := range b.accounts.List(t.Context(), table.Query[bankAccount]{TableScan: true}) {
		testkit.NoError(t, err)
		all += fmt.Sprintf("%s %d: %d; ", e.Value.City, e.Value.ID, e.Value.Cents)
	}
	return all
}

// TestTransfer: money moves between partitions, and a ledger in another table, with 2P − 1 transactions for P partitions, one message that is withdrawn, and nothing for a worker.
func TestTransfer(t *testing.T) {
	t.Parallel()
	s, b := newBank(t)
	testkit.NoError(t, b.transfer(t.Context(), accountKey("Bern", 1), accountKey("Zug", 3), 30, ""))
	testkit.Expect(t, "requests for two partitions", s.Count().String(), "2 get, 1 insert-or-replace, 1 merge, 1 message-delete, 1 message-put, 3 transaction")
	testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 70; Ulm 2: 100; Zug 3: 130; ")
	s.Count()
	testkit.NoError(t, b.transfer(t.Context(), accountKey("Bern", 1), accountKey("Zug", 3), 30, "first"))
	testkit.Expect(t, "requests for three partitions", s.Count().String(), "3 get, 1 merge, 1 message-delete, 1 message-put, 5 transaction")
	err := b.transfer(t.Context(), accountKey("Bern", 1), accountKey("Zug", 3), 41, "second")
	testkit.Expect(t, "too much", errors.Is(err, errNoMoney), true)
	testkit.Expect(t, "requests of what is refused", s.Count().String(), "3 get")
	testkit.NoError(t, b.Drain(t.Context()))
	testkit.Expect(t, "requests of the worker", s.Count().String(), "1 message-get")
	testkit.Expect(t, "accounts", b.cents(t), "Bern 1: 40; Ulm 2: 100; Zug 3: 160; ")
}
