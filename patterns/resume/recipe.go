package resume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "resume",
	Title:       "Resume a large list in another process",
	Guide:       []string{"G42"},
	Related:     []string{"parallel", "bulk", "new-index"},
	Consistency: "by part",
	Measured:    []string{"read 7 of 25"},
	Problem: `The service returns a list in pages, each with a continuation token for the next page. A program that shows pages,
		or a job that may crash, must store its position: also in the middle of a page, after a limit, and for another process.
		A Cursor is that position, and its token is text that can be stored. A token names its table and query, and cannot be
		used with another query.`,
	Kept: "resume",
	Run: func(ctx context.Context, r *recipe.Run) error {
		o := r.StoreOptions("company", "staff")
		staff := Open(r.Account(), o)
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		var ids []int
		for id := range 25 {
			ids = append(ids, id+1)
		}
		if err := staff.Hire(ctx, "Sales", ids...); err != nil {
			return err
		}
		dir, err := os.MkdirTemp("", "aztablekit")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, "token")

		q := Members("Sales", "")
		q.PageSize = 10
		ex, err := staff.Employees.Explain(q)
		if err != nil {
			return err
		}
		if err := r.Ask("read 7 of 25 employees and store the position", ex, func() error {
			last := 0
			for e, err := range staff.Employees.List(ctx, q) {
				if err != nil {
					return err
				}
				if last = e.Value.ID; last == 7 {
					break
				}
			}
			r.Answer("employees 1 to %d", last)
			return os.WriteFile(file, []byte(q.Cursor.Token()), 0o600)
		}); err != nil {
			return err
		}
		if err := r.Do("continue in another process, which has only the stored token", func() error {
			return r.RunChild(ctx, o.Prefix, file)
		}); err != nil {
			return err
		}
		if err := r.Do("read pages of 10", func() error {
			for token := ""; ; {
				page, err := staff.Page(ctx, "Sales", token, 10)
				if err != nil {
					return err
				}
				if n := len(page.Entities); n > 0 { // the last page may be empty
					r.Answer("employees %d to %d", page.Entities[0].Value.ID, page.Entities[n-1].Value.ID)
				}
				if token = page.Token; token == "" {
					return nil
				}
			}
		}); err != nil {
			return err
		}
		return r.Do("use the token with another query", func() error {
			token, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			_, err = staff.Page(ctx, "Marketing", string(token), 10)
			var refused *table.ValueError
			if !errors.As(err, &refused) || refused.Field != "token" {
				return fmt.Errorf("got error %v, want one about the token", err)
			}
			r.Answer("refused: %v", refused)
			return nil
		})
	},
	Child: func(ctx context.Context, r *recipe.Run, words []string) error {
		prefix, file := words[0], words[1]
		token, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		staff := Open(r.Account(), &aztablekit.Options{Prefix: prefix})
		q := Members("Sales", string(token))
		q.PageSize = 10
		first, last := 0, 0
		for e, err := range staff.Employees.List(ctx, q) {
			if err != nil {
				return err
			}
			if last = e.Value.ID; first == 0 {
				first = last
			}
		}
		r.Answer("employees %d to %d", first, last)
		return nil
	},
}
