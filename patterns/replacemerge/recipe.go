package replacemerge

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "replace-merge",
	Title:       "Choose between replace, merge and upsert",
	Guide:       []string{"G46"},
	Related:     []string{"optimistic", "data-series", "wide-entity"},
	Consistency: "strong",
	Measured:    []string{"Merge sets"},
	Problem: `Four kinds of writes look alike and differ in the properties that they delete. Replace makes the row equal to the
		value; Merge sets some properties and keeps the rest. Both fail if the row does not exist; as an Upsert, both insert it.
		A program with an older type must not delete the properties that a newer program has added.`,
	Kept: "replacemerge",
	Run: func(ctx context.Context, r *recipe.Run) error {
		type NewerEmployee struct {
			Employee
			Badge int64
		}
		options := r.StoreOptions("company", "staff")
		newer := aztablekit.Open(r.Account(), "company", options)
		badges := aztablekit.Table(newer, "staff",
			keys.Partition(keys.Text(), func(e *NewerEmployee) *string { return &e.Department }),
			keys.Row(keys.Digits[int](6), func(e *NewerEmployee) *int { return &e.ID }))
		staff := Open(r.Account(), options)
		if err := errors.Join(r.Ensure(ctx, newer), r.Ensure(ctx, staff)); err != nil {
			return err
		}
		age := int32(44)
		jones := Employee{Department: "Sales", ID: 1, LastName: "Jones", Age: &age}
		if _, err := badges.Insert(ctx, &NewerEmployee{jones, 4711}); err != nil {
			return err
		}
		for _, s := range []struct {
			what string
			do   func() error
		}{
			{"Merge sets the last name only, and reads nothing", func() error { return staff.Rename(ctx, "Sales", 1, "Smith") }},
			{"Replace by a program with the older type deletes Age, and keeps Badge, which this type does not have", func() error {
				e, err := staff.Get(ctx, "Sales", 1)
				if err != nil {
					return err
				}
				e.Value.Age = nil
				return staff.Save(ctx, e)
			}},
			{"Upsert with MergeExisting adds Age again", func() error {
				return staff.Add(ctx, Employee{Department: "Sales", ID: 1, LastName: "Smith", Age: &age})
			}},
			{"Upsert with ReplaceExisting makes the row equal to the value: Age and Badge are deleted", func() error {
				return staff.Overwrite(ctx, Employee{Department: "Sales", ID: 1, LastName: "Weber"})
			}},
		} {
			if err := r.Do(s.what, s.do); err != nil {
				return err
			}
			if err := r.Stored(ctx, "staff"); err != nil {
				return err
			}
		}
		return nil
	},
}
