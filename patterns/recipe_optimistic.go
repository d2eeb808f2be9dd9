package main

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var optimistic = recipe{
	name:        "optimistic",
	title:       "Prevent lost updates",
	guide:       []string{"G45"},
	related:     []string{"replace-merge", "batch-errors", "lost-notifications"},
	consistency: "strong",
	measured:    []string{"another program adds 50"},
	problem: `Two programs read the same entity, change it, and write it. Without a check, the second write undoes the first. An
		ETag names the version that was read, and a write with this ETag fails if the row has changed meanwhile. Each Entity
		contains its ETag; a method that overwrites any version has Any in its name.`,
	run: func(ctx context.Context, r *Run) error {
		type Account struct {
			Owner   string
			Balance int64
			Note    string
		}
		note := table.FieldOf(func(a *Account) *string { return &a.Note })
		owner := keys.Partition(keys.Text(), func(a *Account) *string { return &a.Owner })
		accounts, err := table.New(r.Tables(), r.TableName("accounts"), table.Schema[Account]{
			Partition: owner,
			Row:       keys.OneRow[Account]("account"),
		}, nil)
		if err != nil {
			return err
		}
		if err := accounts.Ensure(ctx); err != nil {
			return err
		}
		mine, err := accounts.Insert(ctx, &Account{Owner: "jonesj", Balance: 100})
		if err != nil {
			return err
		}
		key := mine.Key
		if err := r.Do("another program adds 50, and then this program takes 30 from the balance that it read before", func() error {
			theirs, err := accounts.Get(ctx, key)
			if err != nil {
				return err
			}
			theirs.Value.Balance += 50
			if err := accounts.Replace(ctx, theirs); err != nil {
				return err
			}
			mine.Value.Balance -= 30
			return r.Refused(accounts.Replace(ctx, mine), table.ErrChanged)
		}); err != nil {
			return err
		}
		if err := r.Do("Update reads, changes and replaces the entity, and repeats this after a conflict", func() error {
			attempts := 0
			e, err := accounts.Update(ctx, key, func(a *Account) error {
				if attempts++; attempts == 1 { // cause one conflict
					if err := accounts.MergeAny(ctx, key, note.Set("audited")); err != nil {
						return err
					}
				}
				a.Balance -= 30
				return nil
			})
			if err != nil {
				return err
			}
			r.Answer("after %d attempts the balance is %d and the note is %q", attempts, e.Value.Balance, e.Value.Note)
			return nil
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "accounts"); err != nil {
			return err
		}
		return r.Naive("overwrite any version", func() error {
			mine.Value.Balance = 70
			if err := accounts.ReplaceAny(ctx, mine); err != nil {
				return err
			}
			r.Answer("the balance is 70; the 50 are lost")
			return nil
		})
	},
}
