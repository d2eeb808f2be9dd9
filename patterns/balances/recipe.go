package balances

import (
	"context"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "optimistic",
	Title:       "Prevent lost updates",
	Guide:       []string{"G45"},
	Related:     []string{"replace-merge", "batch-errors", "lost-notifications"},
	Consistency: "strong",
	Measured:    []string{"another program adds 50"},
	Problem: `Two programs read the same entity, change it, and write it. Without a check, the second write undoes the first. An
		ETag names the version that was read, and a write with this ETag fails if the row has changed meanwhile. Each Entity
		contains its ETag; a method that overwrites any version has Any in its name.`,
	Kept: "balances",
	Run: func(ctx context.Context, r *recipe.Run) error {
		const jones = "jonesj"
		bank := Open(r.Account(), r.StoreOptions("bank", "accounts"))
		if err := r.Ensure(ctx, bank); err != nil {
			return err
		}
		mine, err := bank.Create(ctx, Account{Owner: jones, Balance: 100})
		if err != nil {
			return err
		}
		if err := r.Do("another program adds 50, and then this program takes 30 from the balance that it read before", func() error {
			theirs, err := bank.Get(ctx, jones)
			if err != nil {
				return err
			}
			theirs.Value.Balance += 50
			if err := bank.Save(ctx, theirs); err != nil {
				return err
			}
			mine.Value.Balance -= 30
			return r.Refused(bank.Save(ctx, mine), table.ErrChanged)
		}); err != nil {
			return err
		}
		if err := r.Do("Update reads, changes and replaces the entity, and repeats this after a conflict", func() error {
			attempts := 0
			a, err := bank.Update(ctx, jones, func(a *Account) error {
				if attempts++; attempts == 1 { // cause one conflict
					if err := bank.Annotate(ctx, jones, "audited"); err != nil {
						return err
					}
				}
				a.Balance -= 30
				return nil
			})
			if err != nil {
				return err
			}
			r.Answer("after %d attempts the balance is %d and the note is %q", attempts, a.Value.Balance, a.Value.Note)
			return nil
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "accounts"); err != nil {
			return err
		}
		return r.Naive("overwrite any version", func() error {
			mine.Value.Balance = 70
			if err := bank.Accounts.ReplaceAny(ctx, mine); err != nil {
				return err
			}
			r.Answer("the balance is 70; the 50 are lost")
			return nil
		})
	},
}
