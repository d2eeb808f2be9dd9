package main

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var optimistic = recipe{
	name:  "optimistic",
	title: "Two writers, and nothing lost",
	guide: []string{"G45"},
	problem: `Two programs read the same entity, change it, and write it back: the second write undoes the first. An ETag names
		the version that was read, and a write that carries it is refused if the row has moved on. Entities carry theirs from
		one write to the next; going past it has a name of its own.`,
	run: func(ctx context.Context, r *Run) error {
		type Account struct {
			Owner   string
			Balance int64
			Note    string
		}
		note := table.FieldOf(func(a *Account) *string { return &a.Note })
		owner := keys.Tuple1(keys.Text())
		accounts, err := table.New(r.Tables(), r.Table("accounts"), table.Schema[Account]{
			Partition: keys.Bind1(owner, func(a *Account) *string { return &a.Owner }),
			Row:       keys.Const[Account]("account"),
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
		if err := r.Do("another program adds 50, and I, who read before, take 30", func() error {
			theirs, err := accounts.Get(ctx, key)
			if err != nil {
				return err
			}
			theirs.Value.Balance += 50
			if err := accounts.Replace(ctx, theirs); err != nil {
				return err
			}
			mine.Value.Balance -= 30
			if err := accounts.Replace(ctx, mine); !errors.Is(err, table.ErrChanged) {
				return errors.Join(errors.New("the second write was not refused"), err)
			}
			r.Answer("refused: %v", table.ErrChanged)
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("Update reads, changes and writes, and starts again where it lost a race", func() error {
			rounds := 0
			e, err := accounts.Update(ctx, key, func(a *Account) error {
				if rounds++; rounds == 1 { // somebody is faster, once
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
			r.Answer("after %d rounds the balance is %d and the note is %q", rounds, e.Value.Balance, e.Value.Note)
			return nil
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "accounts"); err != nil {
			return err
		}
		return r.Naive("write without looking", func() error {
			mine.Value.Balance = 70
			if err := accounts.ReplaceAny(ctx, mine); err != nil {
				return err
			}
			r.Answer("the balance is 70: the 50 are lost")
			return nil
		})
	},
}
