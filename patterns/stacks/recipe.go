package stacks

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "stack",
	Title:       "A stack with its charts and its quota, or none of it",
	Guide:       []string{recipe.Beyond},
	Related:     []string{"money", "quota", "unique-email", "several-types"},
	Consistency: "strong",
	Measured:    []string{"create a stack with two charts"},
	Problem: `A program that was written for a SQL database stores a stack, its charts and the count of its team in one transaction. In Table storage these are rows of
		three tables, and a program that writes them one after another leaves some of them when one is refused, or when it crashes: a stack without charts, or one
		that is not counted. A transaction of package txn reads the quota, and stores all of the rows or none, also if another program of the team creates a stack
		at the same time. It reads no lists: the stack names its charts, so that Delete finds them.`,
	Kept: "stacks",
	Run: func(ctx context.Context, r *recipe.Run) error {
		all := Open(r.Account(), r.StoreOptions("stacks", "quotas", "stacks", "charts"))
		if err := r.Ensure(ctx, all); err != nil {
			return err
		}
		redis, nginx := Chart{Name: "redis", Version: "1.2"}, Chart{Name: "nginx", Version: "3.0"}
		rows := func() error {
			return errors.Join(r.Stored(ctx, "quotas"), r.Stored(ctx, "stacks"), r.Stored(ctx, "charts"))
		}
		old := func() error { // what an older program has left
			_, err := all.Charts.Insert(ctx, &Chart{Team: "web", Stack: "mail", Name: "nginx", Version: "1.0"})
			return err
		}
		for _, step := range []struct {
			what  string
			run   func() error
			shown bool
		}{
			{"a team may have two stacks", func() error { return all.Allow(ctx, "web", 2) }, false},
			{"create a stack with two charts: read the quota, 5 transactions for three tables, 2 requests for the message, and 1 that marks the record as done", func() error {
				return all.Create(ctx, "web", "shop", redis, nginx)
			}, true},
			{"an older program, which has no transactions, has left a chart of the stack mail", old, false},
			{"create the stack mail with this chart: refused", func() error {
				return r.Refused(all.Create(ctx, "web", "mail", redis, nginx), table.ErrExists)
			}, true},
			{"create another stack", func() error { return all.Create(ctx, "web", "blog", redis) }, false},
			{"create one beyond the quota: refused", func() error {
				return r.Refused(all.Create(ctx, "web", "wiki", redis), ErrQuota)
			}, false},
			{"delete the first stack: read it, its two charts and the quota, and delete all", func() error { return all.Delete(ctx, "web", "shop") }, true},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
			if step.shown {
				if err := rows(); err != nil {
					return err
				}
			}
		}
		err := r.Naive("write the rows one after another: the chart exists, and the stack and the count stay", func() error {
			q, err := all.Quotas.Get(ctx, all.Quotas.Key(Quota{Team: "web"}))
			if err != nil {
				return err
			}
			q.Value.Used++
			if err := all.Quotas.Replace(ctx, q); err != nil {
				return err
			}
			if _, err := all.Stacks.Insert(ctx, &Stack{Team: "web", Name: "mail", Charts: []string{"nginx"}}); err != nil {
				return err
			}
			return r.Refused(old(), table.ErrExists)
		})
		return errors.Join(err, rows())
	},
}
