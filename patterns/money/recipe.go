package money

import (
	"context"
	"errors"
	"sync"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "money",
	Title:       "Money between accounts, with a ledger: all of it or nothing",
	Guide:       []string{recipe.Beyond},
	Related:     []string{"stack", "move-department", "optimistic", "once"},
	Consistency: "strong",
	Measured:    []string{"transfer 30 from Bern to Zug"},
	Problem: `Accounts are stored by city, and their postings in another table, by account. A transfer changes two accounts and adds two postings, and no
		transaction of the service covers two partitions. A program that changes one account after the other may crash in between: the money is on no
		account. A transaction of package txn reads what it needs, from any partitions and tables of a store, and writes all or nothing, if everything
		that it has read is still so. The caller gives each transfer an ID, so one that was sent again, because its outcome was unknown, is done once.`,
	Kept: "money",
	Run: func(ctx context.Context, r *recipe.Run) error {
		bank := Open(r.Account(), r.StoreOptions("bank", "accounts", "ledger"))
		if err := r.Ensure(ctx, bank); err != nil {
			return err
		}
		bern, zug := ID{City: "Bern", Number: 1}, ID{City: "Zug", Number: 7}
		balances := func() error {
			cents, err := bank.Balances(ctx, bern, zug)
			if err == nil {
				r.Answer("%v: %d, %v: %d", bern, cents[0], zug, cents[1])
			}
			return err
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"open two accounts", func() error {
				return errors.Join(bank.OpenAccount(ctx, bern, 100), bank.OpenAccount(ctx, zug, 50))
			}},
			{"transfer 30 from Bern to Zug: three reads, 7 transactions for four partitions of two tables, 2 requests for the message, and 1 that marks the record as done", func() error {
				return bank.Transfer(ctx, "rent", bern, zug, 30)
			}},
			{"send the same transfer again: its posting is there, so nothing happens", func() error { return bank.Transfer(ctx, "rent", bern, zug, 30) }},
			{"transfer more than is there: refused when a second read shows that all of it was so at one moment", func() error {
				return r.Refused(bank.Transfer(ctx, "car", bern, zug, 71), ErrNoMoney)
			}},
			{"the balances, of one moment: nothing was written", balances},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		var there, back error
		var both sync.WaitGroup
		both.Go(func() { there = bank.Transfer(ctx, "books", bern, zug, 20) })
		both.Go(func() { back = bank.Transfer(ctx, "deposit", zug, bern, 5) })
		both.Wait()
		if err := errors.Join(there, back); err != nil {
			return err
		}
		if err := r.Do("the balances after two transfers at the same time, 20 to Zug and 5 to Bern, whose requests are not counted here", balances); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "accounts"), r.Stored(ctx, "ledger")); err != nil {
			return err
		}
		return r.Naive("change one account after the other, without a ledger: a crash in between loses the money", func() error {
			add := func(id ID, cents int64) error {
				a, err := bank.Accounts.Update(ctx, bank.Accounts.Key(Account{ID: id}), func(a *Account) error {
					a.Cents += cents
					return nil
				})
				if err == nil {
					r.Answer("%v: %d", id, a.Value.Cents)
				}
				return err
			}
			if err := add(bern, -10); err != nil {
				return err
			}
			r.Answer("a program that crashes here has taken 10, which are on no account")
			return add(zug, 10)
		})
	},
}
