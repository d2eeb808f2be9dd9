package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var entityTypes = recipe{
	name:        "entity-types",
	title:       "Store several types in one table, and change their form",
	guide:       []string{"G47"},
	related:     []string{"several-types", "reviews", "replace-merge"},
	consistency: "strong",
	measured:    []string{"list each row"},
	problem: `A table has no schema: employees, contractors and future types share it. A reader must know the type of each row.
		An older program must not damage what a newer program has written. A new form of a type must not make old rows
		unreadable. Here each row contains its type (_type) and version (_v). A reader gets each row as its own type, upgrades
		old versions, and gets rows of unknown types as table.Row.`,
	run: func(ctx context.Context, r *Run) error {
		type OldEmployee struct {
			ID   int
			Name string
		}
		type Employee struct {
			ID          int
			First, Last string
		}
		type Contractor struct {
			ID     int
			Name   string
			Agency string
		}
		id := keys.Digits[int](6)
		at := func(n int) keys.Key { return keys.At(keys.RawPartition("Sales"), id.RowKey(n)) }

		// Last year's program.
		old, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[OldEmployee]{
			Partition: keys.OnePartition[OldEmployee]("Sales"), Row: keys.Row(id, func(e *OldEmployee) *int { return &e.ID }), Type: "employee",
		}, nil)
		if err != nil {
			return err
		}
		if err := old.Ensure(ctx); err != nil {
			return err
		}
		for _, e := range []OldEmployee{{1, "Jessy Jones"}, {2, "Kim Smith"}} {
			if _, err := old.Insert(ctx, &e); err != nil {
				return err
			}
		}

		// This year's program: the name has two properties, and another type has RowKeys of the same form.
		staff, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{
			Partition: keys.OnePartition[Employee]("Sales"), Row: keys.Row(id, func(e *Employee) *int { return &e.ID }), Type: "employee", Version: 1,
			Upgrade: map[int]func(*table.Row) error{0: func(row *table.Row) error {
				name, _ := row.Get("Name")
				first, last, _ := strings.Cut(fmt.Sprint(name), " ")
				row.Delete("Name")
				return errors.Join(row.Set("First", first), row.Set("Last", last))
			}},
		}, nil)
		if err != nil {
			return err
		}
		contractors, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Contractor]{
			Partition: keys.OnePartition[Contractor]("Sales"), Row: keys.Row(id, func(c *Contractor) *int { return &c.ID }), Type: "contractor",
		}, nil)
		if err != nil {
			return err
		}
		reader, err := table.NewMixed(staff, contractors)
		if err != nil {
			return err
		}
		robot := table.Row{Key: at(4)}
		if err := robot.Set("Model", "R2"); err != nil {
			return err
		}
		if _, err := reader.Rows().Insert(ctx, &robot); err != nil {
			return err
		}
		if _, err := contractors.Insert(ctx, &Contractor{3, "Cao", "Contoso"}); err != nil {
			return err
		}
		if err := r.Do("the new program changes an old row, and so upgrades it", func() error {
			_, err := staff.Update(ctx, at(1), func(e *Employee) error { e.Last = "Johnson"; return nil })
			return err
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		q := table.Query[table.Row]{Partition: keys.RawPartition("Sales")}
		ex, err := reader.Rows().Explain(q)
		if err != nil {
			return err
		}
		if err := r.Ask("list each row as its own type", ex, func() error {
			for x, err := range reader.List(ctx, q) {
				if err != nil {
					return err
				}
				switch x := x.(type) {
				case *table.Entity[Employee]:
					r.Answer("employee %d: %s, %s", x.Value.ID, x.Value.Last, x.Value.First)
				case *table.Entity[Contractor]:
					r.Answer("contractor %d: %s of %s", x.Value.ID, x.Value.Name, x.Value.Agency)
				case *table.Entity[table.Row]:
					model, _ := x.Value.Get("Model")
					r.Answer("row of an unknown type: model %v", model)
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("add a badge to each row, whatever its type", func() error {
			for row, err := range reader.Rows().List(ctx, q) {
				if err != nil {
					return err
				}
				if err := row.Value.Set("Badge", 1000); err != nil {
					return err
				}
				if err := reader.Rows().Replace(ctx, row); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("a program that does not know badges changes a contractor, and keeps the badge", func() error {
			_, err := contractors.Update(ctx, at(3), func(c *Contractor) error { c.Agency = "Fabrikam"; return nil })
			return err
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		return r.Do("last year's program refuses to read this year's row", func() error {
			_, err := old.Get(ctx, at(1))
			var newer *table.VersionError
			if !errors.As(err, &newer) {
				return fmt.Errorf("got error %v, want a VersionError", err)
			}
			r.Answer("refused: %v", newer)
			return nil
		})
	},
}
