package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// A large list, of which two processes each read a part.
type resumeEmployee struct {
	Department string
	ID         int
}

var (
	resumeDept   = keys.Tuple1(keys.Text())
	resumeID     = keys.Tuple1(keys.Digits[int](6))
	resumeSchema = table.Schema[resumeEmployee]{
		Partition: keys.Bind1(resumeDept, func(e *resumeEmployee) *string { return &e.Department }),
		Row:       keys.Bind1(resumeID, func(e *resumeEmployee) *int { return &e.ID }),
	}
)

var resume = recipe{
	name:  "resume",
	title: "A large list, left here and taken up elsewhere",
	guide: []string{"G42"},
	problem: `The service gives a list in pages, with a continuation token for the next one. A program that shows pages, or a job
		that may die, must remember its place: also in the middle of a page, after a limit, and for another process. A cursor
		is that place, and its token a text to be stored. It names table and query, so that it cannot be used for another.`,
	run: func(ctx context.Context, r *Run) error {
		staff, err := table.New(r.Tables(), r.Table("staff"), resumeSchema, nil)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		var ops []table.Op
		for id := range 25 {
			ops = append(ops, staff.InsertOp(&resumeEmployee{"Sales", id + 1}))
		}
		if _, err := table.Transact(ctx, ops...); err != nil {
			return err
		}
		dir, err := os.MkdirTemp("", "aztablekit")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, "token")

		q := table.Query[resumeEmployee]{Partition: resumeDept.Of("Sales"), PageSize: 10, Cursor: new(table.Cursor)}
		ex, err := staff.Explain(q)
		if err != nil {
			return err
		}
		if err := r.Ask("read 7 of 25 and store the place", ex, func() error {
			last := 0
			for e, err := range staff.List(ctx, q) {
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
		if err := r.Do("another process goes on, with the file and nothing else", func() error {
			return r.Other(ctx, staff.Name(), file)
		}); err != nil {
			return err
		}
		if err := r.Do("pages of 10 for a program that shows them", func() error {
			q := table.Query[resumeEmployee]{Partition: resumeDept.Of("Sales"), Limit: 10}
			for token := ""; ; {
				page, err := staff.Page(ctx, q, token)
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
		return r.Do("the token with another query", func() error {
			token, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			_, err = staff.Page(ctx, table.Query[resumeEmployee]{Partition: resumeDept.Of("Marketing")}, string(token))
			var refused *table.TokenError
			if !errors.As(err, &refused) {
				return errors.Join(errors.New("it was taken"), err)
			}
			r.Answer("refused before anything was sent: %v", refused)
			return nil
		})
	},
	other: func(ctx context.Context, r *Run, words []string) error {
		token, err := os.ReadFile(words[1])
		if err != nil {
			return err
		}
		staff, err := table.New(r.Tables(), words[0], resumeSchema, nil)
		if err != nil {
			return err
		}
		q := table.Query[resumeEmployee]{Partition: resumeDept.Of("Sales"), PageSize: 10, Cursor: table.NewCursor(strings.TrimSpace(string(token)))}
		first, last := 0, 0
		for e, err := range staff.List(ctx, q) {
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
