// Package money moves money between accounts, with a ledger of it. A transfer is done once, however often it is sent, and all of it or nothing.
package money

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

// ID is the city and the number of an account.
type ID struct {
	City   string
	Number int
}

func (id ID) String() string { return fmt.Sprintf("%s %d", id.City, id.Number) }

// Account is stored by city.
type Account struct {
	ID
	Cents int64
}

// Posting is a line of the ledger. It is stored by account; each transfer has two.
type Posting struct {
	ID
	Transfer string // the ID of the transfer
	Other    string // the other account
	Cents    int64  // less than 0 for the account that pays
}

var (
	city   = keys.Partition(keys.Text(), func(a *Account) *string { return &a.City })
	number = keys.Row(keys.Digits[int](6).Named("account"), func(a *Account) *int { return &a.Number })

	posted   = keys.Partition2(keys.Text(), keys.Digits[int](6), func(p *Posting) (*string, *int) { return &p.City, &p.Number }) // Bern_000001
	transfer = keys.Row(keys.Text().Named("transfer"), func(p *Posting) *string { return &p.Transfer })
)

// Bank is the accounts of all cities, and their ledger.
type Bank struct {
	*aztablekit.Store
	Accounts *table.Table[Account]
	Ledger   *table.Table[Posting]
}

// Open declares the tables of the accounts and of the ledger. Call Ensure of the result when the program starts, and Run in one program, which finishes the
// transfers of crashed programs.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Bank {
	s := aztablekit.Open(acc, "bank", o)
	return &Bank{s, aztablekit.Table(s, "accounts", city, number), aztablekit.Table(s, "ledger", posted, transfer)}
}

// OpenAccount stores a new account, table.ErrExists if there is one. 1 request.
func (b *Bank) OpenAccount(ctx context.Context, id ID, cents int64) error {
	_, err := b.Accounts.Insert(ctx, &Account{id, cents})
	return err
}

var (
	// ErrNoMoney: the account that pays has less than the transfer takes.
	ErrNoMoney = errors.New("there is not enough money on the account")
	// ErrOtherTransfer: the account that pays has a transfer of this ID to another account, or of another amount.
	ErrOtherTransfer = errors.New("another transfer has the ID")
	// ErrInvalid: the accounts are one, or the amount is not more than 0.
	ErrInvalid = errors.New("a transfer takes more than 0 from one account to another one")
)

// Transfer moves money between two accounts, and posts it in the ledger of both. The caller gives an ID, which is unique for the account that pays: a transfer
// that was done is not done again. So, call Transfer again with the same ID if the outcome is unknown (table.ErrUnknownOutcome). If it fails, it has moved
// nothing: ErrNoMoney, ErrOtherTransfer, ErrInvalid; table.ErrNotFound without one of the accounts; table.ErrExists if the account that is paid has a transfer
// of this ID from another account; table.ErrContended if concurrent transfers change the accounts at every attempt. 12 requests for accounts of two cities; 1 for a transfer
// that was done, and 4 for ErrNoMoney.
func (b *Bank) Transfer(ctx context.Context, id string, from, to ID, cents int64) error {
	if from == to || cents <= 0 {
		return ErrInvalid
	}
	return txn.Run(ctx, b, func(tx *txn.Tx) error {
		done, err := txn.Get(tx, b.Ledger, keys.At(posted.Of(from.City, from.Number), transfer.Of(id)))
		switch {
		case err == nil && (done.Value.Other != to.String() || done.Value.Cents != -cents):
			return ErrOtherTransfer
		case !errors.Is(err, table.ErrNotFound):
			return err // nil: the transfer was done
		}
		payer, err := txn.Get(tx, b.Accounts, key(from))
		if err != nil {
			return err
		}
		if payer.Value.Cents < cents {
			return ErrNoMoney
		}
		paid, err := txn.Get(tx, b.Accounts, key(to))
		if err != nil {
			return err
		}
		payer.Value.Cents -= cents
		paid.Value.Cents += cents
		tx.Do(b.Accounts.ReplaceOp(payer), b.Accounts.ReplaceOp(paid),
			b.Ledger.InsertOp(&Posting{from, id, to.String(), -cents}), b.Ledger.InsertOp(&Posting{to, id, from.String(), cents}))
		return nil
	})
}

// Balances returns what is on some accounts, all at one moment; table.ErrNotFound without one of them. 1 request for each account, and 1 more for each except the last.
func (b *Bank) Balances(ctx context.Context, of ...ID) (cents []int64, err error) {
	err = txn.Run(ctx, b, func(tx *txn.Tx) error {
		cents = nil
		for _, id := range of {
			a, err := txn.Get(tx, b.Accounts, key(id))
			if err != nil {
				return err
			}
			cents = append(cents, a.Value.Cents)
		}
		return nil
	})
	return cents, err
}

func key(id ID) keys.Key { return keys.At(city.Of(id.City), number.Of(id.Number)) }
