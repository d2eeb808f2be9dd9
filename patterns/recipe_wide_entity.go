package main

import (
	"context"
	"strings"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var wideEntity = recipe{
	name:        "wide-entity",
	title:       "More than a row holds: 365 counts and a long text",
	guide:       []string{"G29"},
	related:     []string{"data-series", "large-entity", "several-types", "replace-merge"},
	consistency: "strong",
	measured:    []string{"store a page", "read the whole page"},
	problem: `A row has up to 252 properties and 1 MiB, so a year of daily counts needs two rows, and an entity with a long text more. By
		hand, a reader can find one row of the old version and one of the new, and a writer that stops between two rows leaves both.
		Package table stores such an entity as a head and parts, in one transaction, and tells parts of two versions apart.`,
	run: func(ctx context.Context, r *Run) error {
		type Page struct {
			Site    string
			Path    string
			Title   string
			Visits  []int32 `table:"Day,each=365,part=1"` // 200 days in part 1, and the others in part 2
			Article string  `table:",chunks,part=3"`      // in pieces of 64 KiB
		}
		pages, err := table.New(r.Tables(), r.TableName("pages"), table.Schema[Page]{
			Partition: keys.Partition(keys.Text(), func(p *Page) *string { return &p.Site }),
			Row:       keys.Row(keys.Text(), func(p *Page) *string { return &p.Path }),
		}, nil)
		if err != nil {
			return err
		}
		if err := pages.Ensure(ctx); err != nil {
			return err
		}
		var e *table.Entity[Page]
		if err := r.Do("store a page with its 365 counts and an article of 500 kB", func() (err error) {
			p := Page{Site: "blog", Path: "home", Title: "Home", Visits: make([]int32, 365), Article: strings.Repeat("An article. ", 500_000/12)}
			for i := range p.Visits {
				p.Visits[i] = int32(i % 7)
			}
			e, err = pages.Insert(ctx, &p)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("change the count of day 300: only its part is written, and the head", func() error {
			day300 := table.ElementOf(func(p *Page) *[]int32 { return &p.Visits }, 300)
			return pages.Merge(ctx, e, day300.Set(1000))
		}); err != nil {
			return err
		}
		if err := r.Do("read the whole page", func() error {
			got, err := pages.Get(ctx, e.Key)
			if err != nil {
				return err
			}
			sum := int32(0)
			for _, n := range got.Value.Visits {
				sum += n
			}
			r.Answer("%d visits in %d days, %d bytes of text", sum, len(got.Value.Visits), len(got.Value.Article))
			return nil
		}); err != nil {
			return err
		}
		visits := table.FieldOf(func(p *Page) *[]int32 { return &p.Visits })
		article := table.FieldOf(func(p *Page) *string { return &p.Article })
		if err := r.Do("read the counts without the article", func() error {
			got, err := pages.GetFields(ctx, e.Key, visits)
			if err != nil {
				return err
			}
			r.Answer("visits were read: %v; the article: %v", got.Has(visits), got.Has(article))
			return nil
		}); err != nil {
			return err
		}
		// The same by hand: a row for each part, which the program writes and reads one by one.
		type Part struct {
			Page   string
			Number int
			Counts []int32 `table:"Day,each=200"`
		}
		parts, err := table.New(r.Tables(), r.TableName("parts"), table.Schema[Part]{
			Partition: keys.Partition(keys.Text(), func(p *Part) *string { return &p.Page }),
			Row:       keys.Row(keys.Digits[int](2), func(p *Part) *int { return &p.Number }),
		}, &table.Options{BlindWrites: true})
		if err != nil {
			return err
		}
		if err := parts.Ensure(ctx); err != nil {
			return err
		}
		return r.Naive("a row for each part, written and read one by one", func() error {
			for i := range 2 {
				if _, err := parts.Upsert(ctx, &Part{"home", i, make([]int32, 180)}, table.ReplaceExisting); err != nil {
					return err
				}
			}
			for i := range 2 {
				if _, err := parts.Get(ctx, parts.Key(Part{Page: "home", Number: i})); err != nil {
					return err
				}
			}
			r.Answer("between two requests, a reader finds parts of two versions")
			return nil
		})
	},
}
