package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// resumeEmployee is an entity of the list. Two processes each read a part of it.
type resumeEmployee struct {
	Department string
	ID         int
}

var (
	resumeDept   = keys.Partition(keys.Text(), func(e *resumeEmployee) *string { return &e.Department })
	resumeID     = keys.Row(keys.Digits[int](6), func(e *resumeEmployee) *int { return &e.ID })
	resumeSchema = table.Schema[resumeEmployee]{Partition: resumeDept, Row: resumeID}
)

var resume = recipe{
	name:        "resume",
	title:       "Resume a large list in another process",
	guide:       []string{"G42"},
	related:     []string{"parallel", "bulk", "new-index"},
	consistency: "by part",
	measured:    []string{"read 7 of 25"},
	problem: `The service returns a list in pages, each with a continuation token for the next page. A program that shows pages,
		or a job that may crash, must store its position: also in the middle of a page, after a limit, and for another process.
		A Cursor is that position, and its token is text that can be stored. A token names its table and query, and cannot be
		used with another query.`,
	run: func(ctx context.Context, r *Run) error {
		staff, err := table.New(r.Tables(), r.TableName("staff"), resumeSchema, nil)
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
		if err := r.Ask("read 7 of 25 employees and store the position", ex, func() error {
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
		if err := r.Do("continue in another process, which has only the stored token", func() error {
			return r.RunChild(ctx, staff.Name(), file)
		}); err != nil {
			return err
		}
		if err := r.Do("read pages of 10", func() error {
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
		return r.Do("use the token with another query", func() error {
			token, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			_, err = staff.Page(ctx, table.Query[resumeEmployee]{Partition: resumeDept.Of("Marketing")}, string(token))
			var refused *table.TokenError
			if !errors.As(err, &refused) {
				return fmt.Errorf("got error %v, want a TokenError", err)
			}
			r.Answer("refused: %v", refused)
			return nil
		})
	},
	child: func(ctx context.Context, r *Run, words []string) error {
		tableName, file := words[0], words[1]
		token, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		staff, err := table.New(r.Tables(), tableName, resumeSchema, nil)
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
