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
	name:  "entity-types",
	title: "Many types in one table, and their versions",
	guide: []string{"G47"},
	problem: `A table has no schema: employees, contractors and whatever next year brings stand side by side. A reader must know
		what each row is, an older program must not damage what a newer one has written, and a form that changes must not make
		old rows unreadable. A row says what it is in _type and _v; readers get each as its own type, old ones upgraded, and
		what they do not know as a bag of properties.`,
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
		id := keys.Tuple1(keys.Digits[int](6))
		at := func(n int) keys.Key { return keys.At(keys.Raw("Sales"), id.Of(n)) }

		// Last year's program.
		old, err := table.New(r.Tables(), r.Table("staff"), table.Schema[OldEmployee]{
			Partition: keys.Const[OldEmployee]("Sales"), Row: keys.Bind1(id, func(e *OldEmployee) *int { return &e.ID }), Type: "employee",
		}, nil)
		if err != nil {
			return err
		}
		if err := errors.Join(old.Ensure(ctx), insert(ctx, old, &OldEmployee{1, "Jessy Jones"}), insert(ctx, old, &OldEmployee{2, "Kim Smith"})); err != nil {
			return err
		}

		// This year's: names in two properties, and another type with RowKeys of the same form.
		staff, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Employee]{
			Partition: keys.Const[Employee]("Sales"), Row: keys.Bind1(id, func(e *Employee) *int { return &e.ID }), Type: "employee", Version: 1,
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
		contractors, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Contractor]{
			Partition: keys.Const[Contractor]("Sales"), Row: keys.Bind1(id, func(c *Contractor) *int { return &c.ID }), Type: "contractor",
		}, nil)
		if err != nil {
			return err
		}
		types, err := table.NewTypes(staff, contractors)
		if err != nil {
			return err
		}
		robot := table.Row{Key: at(4)}
		if err := errors.Join(robot.Set("Model", "R2"), insert(ctx, contractors, &Contractor{3, "Cao", "Contoso"}), insert(ctx, types.Rows(), &robot)); err != nil {
			return err
		}
		if err := r.Do("an old row is changed by the new program", func() error {
			_, err := staff.Update(ctx, at(1), func(e *Employee) error { e.Last = "Johnson"; return nil })
			return err
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		q := table.Query[table.Row]{Partition: keys.Raw("Sales")}
		ex, err := types.Rows().Explain(q)
		if err != nil {
			return err
		}
		if err := r.Ask("each row as what it is", ex, func() error {
			for x, err := range types.List(ctx, q) {
				switch x := x.(type) {
				case *table.Entity[Employee]:
					r.Answer("employee %d: %s, %s", x.Value.ID, x.Value.Last, x.Value.First)
				case *table.Entity[Contractor]:
					r.Answer("contractor %d: %s of %s", x.Value.ID, x.Value.Name, x.Value.Agency)
				case *table.Entity[table.Row]:
					r.Answer("something: %v", r.properties(&x.Value))
				default:
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("every row gets a badge, whatever it is", func() error {
			for row, err := range types.Rows().List(ctx, q) {
				if err != nil {
					return err
				}
				if err := errors.Join(row.Value.Set("Badge", 1000), types.Rows().Replace(ctx, row)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("a program that does not know badges changes a contractor, and leaves it", func() error {
			_, err := contractors.Update(ctx, at(3), func(c *Contractor) error { c.Agency = "Fabrikam"; return nil })
			return err
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		return r.Do("last year's program meets this year's row", func() error {
			_, err := old.Get(ctx, at(1))
			var newer *table.VersionError
			if !errors.As(err, &newer) {
				return errors.Join(errors.New("it was read"), err)
			}
			r.Answer("refused: %v", newer)
			return nil
		})
	},
}
