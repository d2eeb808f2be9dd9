// Package wideentity keeps the pages of web sites, each with the visits of 365 days and a long article: more than a row holds.
package wideentity

import (
	"context"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Page is stored by site, in several rows: a head, and the parts that the tags name. All rows of a page change in one transaction.
type Page struct {
	Site    string
	Path    string
	Title   string
	Visits  []int32 `table:"Day,each=365,part=1"` // 200 days in part 1, and the others in part 2
	Article string  `table:",chunks,part=3"`      // in pieces of 64 KiB
}

var (
	siteKey = keys.Partition(keys.Text(), func(p *Page) *string { return &p.Site })
	pathKey = keys.Row(keys.Text(), func(p *Page) *string { return &p.Path })

	visits = table.FieldOf(func(p *Page) *[]int32 { return &p.Visits })
)

// Sites is the pages of web sites.
type Sites struct {
	*aztablekit.Store
	pages *table.Table[Page]
}

// Open declares the table of the pages. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Sites {
	s := aztablekit.Open(acc, "sites", o)
	return &Sites{s, aztablekit.Table(s, "pages", siteKey, pathKey)}
}

// Add stores a new page, table.ErrExists if the site has the path. 1 transaction.
func (s *Sites) Add(ctx context.Context, p Page) (*table.Entity[Page], error) {
	return s.pages.Insert(ctx, &p)
}

// SetVisits stores the visits of a day, counted from 0, unless another program has changed the page (table.ErrChanged). Only the head and
// the part with the day are written. 1 transaction.
func (s *Sites) SetVisits(ctx context.Context, page *table.Entity[Page], day int, n int32) error {
	return s.pages.Merge(ctx, page, table.ElementOf(func(p *Page) *[]int32 { return &p.Visits }, day).Set(n))
}

// Page returns a whole page, table.ErrNotFound for none. 1 request.
func (s *Sites) Page(ctx context.Context, site, path string) (*table.Entity[Page], error) {
	return s.pages.Get(ctx, keys.At(siteKey.Of(site), pathKey.Of(path)))
}

// Visits returns a page of which only the visits are read, table.ErrNotFound for none. 1 request.
func (s *Sites) Visits(ctx context.Context, site, path string) (*table.Entity[Page], error) {
	return s.pages.GetFields(ctx, keys.At(siteKey.Of(site), pathKey.Of(path)), visits)
}
