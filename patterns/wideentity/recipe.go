package wideentity

import (
	"context"
	"strings"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "wide-entity",
	Title:       "More than a row holds: 365 counts and a long text",
	Guide:       []string{"G29"},
	Related:     []string{"data-series", "large-entity", "several-types", "replace-merge"},
	Consistency: "strong",
	Measured:    []string{"store a page", "read the whole page"},
	Problem: `A row has up to 252 properties and 1 MiB, so a year of daily counts needs two rows, and an entity with a long text more. By
		hand, a reader can find one row of the old version and one of the new, and a writer that stops between two rows leaves both.
		Package table stores such an entity as a head and parts, in one transaction, and tells parts of two versions apart.`,
	Kept: "wideentity",
	Run: func(ctx context.Context, r *recipe.Run) error {
		sites := Open(r.Account(), r.StoreOptions("sites", "pages"))
		if err := r.Ensure(ctx, sites); err != nil {
			return err
		}
		var e *table.Entity[Page]
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"store a page with its 365 counts and an article of 500 kB", func() (err error) {
				p := Page{Site: "blog", Path: "home", Title: "Home", Visits: make([]int32, 365), Article: strings.Repeat("An article. ", 500_000/12)}
				for i := range p.Visits {
					p.Visits[i] = int32(i % 7)
				}
				e, err = sites.Add(ctx, p)
				return err
			}},
			{"change the count of day 300: only its part is written, and the head", func() error { return sites.SetVisits(ctx, e, 300, 1000) }},
			{"read the whole page", func() error {
				got, err := sites.Page(ctx, "blog", "home")
				if err != nil {
					return err
				}
				sum := int32(0)
				for _, n := range got.Value.Visits {
					sum += n
				}
				r.Answer("%d visits in %d days, %d bytes of text", sum, len(got.Value.Visits), len(got.Value.Article))
				return nil
			}},
			{"read the counts without the article", func() error {
				got, err := sites.Visits(ctx, "blog", "home")
				if err != nil {
					return err
				}
				visits := table.FieldOf(func(p *Page) *[]int32 { return &p.Visits })
				article := table.FieldOf(func(p *Page) *string { return &p.Article })
				r.Answer("visits were read: %v; the article: %v", got.Has(visits), got.Has(article))
				return nil
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		// The same by hand: a row for each part, which the program writes and reads one by one.
		type Part struct {
			Page   string
			Number int
			Counts []int32 `table:"Day,each=200"`
		}
		page := keys.Partition(keys.Text(), func(p *Part) *string { return &p.Page })
		number := keys.Row(keys.Digits[int](2), func(p *Part) *int { return &p.Number })
		naive := aztablekit.Open(r.Account(), "naive", r.StoreOptions("naive", "parts"))
		parts := aztablekit.Table(naive, "parts", page, number, &aztablekit.Settings[Part]{Options: table.Options{BlindWrites: true}})
		if err := r.Ensure(ctx, naive); err != nil {
			return err
		}
		return r.Naive("a row for each part, written and read one by one", func() error {
			for i := range 2 {
				if _, err := parts.Upsert(ctx, &Part{"home", i, make([]int32, 180)}, table.ReplaceExisting); err != nil {
					return err
				}
			}
			for i := range 2 {
				if _, err := parts.Get(ctx, keys.At(page.Of("home"), number.Of(i))); err != nil {
					return err
				}
			}
			r.Answer("between two requests, a reader finds parts of two versions")
			return nil
		})
	},
}
