package largeentity_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/internal/testkit/valuestest"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// page is an entity with parts, two of which have large values.
type page struct {
	Site    string
	ID      int
	Title   string
	Visits  []int32          `table:"Day,each=365,part=1"`
	Article string           `table:",chunks,part=3"`
	Cover   largeentity.Blob `table:",part=3"`
	Icon    largeentity.Blob
}

// newPages returns a table of pages, and its large values.
func newPages(t *testing.T, s *storagetest.Service) (*table.Table[page], valuestest.Values[page]) {
	t.Helper()
	ctx := context.Background()
	base, err := bare.NewTable(s.Tables(), "pages", table.Schema[page]{
		Partition: keys.Partition(dept, func(p *page) *string { return &p.Site }),
		Row:       keys.Row(empid, func(p *page) *int { return &p.ID }),
	}, nil)
	must(t, err)
	must(t, tabledoor.Ensure(ctx, base))
	values, pages, err := valuestest.New(base, s, "photos", small())
	must(t, err)
	must(t, values.Ensure(ctx))
	return pages, values
}

// TestParts: an entity with parts has large values in its head and in its parts.
func TestParts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	pages, store := newPages(t, s)
	upload := func(n int) largeentity.Blob {
		b, err := store.Upload(ctx, at(1), strings.NewReader(text(n)), "")
		must(t, err)
		return b
	}
	rows := func() (all []string) {
		for _, r := range s.Rows("pages") {
			if state, _ := r.Get("State").(string); strings.HasPrefix(r.RowKey, "~b|") && state != "unlinked" {
				all = append(all, state)
			}
		}
		return all
	}
	value := &page{Site: "Sales", ID: 1, Title: "Home", Visits: make([]int32, 365), Article: strings.Repeat("An article. ", 10_000), Cover: upload(20), Icon: upload(30)}
	e, err := pages.Insert(ctx, value)
	must(t, err)
	testkit.Expect(t, "rows", len(rows()), 2)
	e.Value.Cover = upload(40)
	must(t, pages.Replace(ctx, e))
	testkit.Expect(t, "blobs", len(s.StoredBlobs("photos")), 2)
	r, e, err := store.OpenAt(ctx, at(1), func(p *page) largeentity.Blob { return p.Cover })
	must(t, err)
	must(t, r.Close())
	got, err := readAll(store.Open(ctx, e.Value.Cover))
	must(t, err)
	testkit.Expect(t, "cover", string(got), text(40))
	cover := table.FieldOf(func(p *page) *largeentity.Blob { return &p.Cover })
	must(t, pages.Merge(ctx, e, cover.Set(upload(50))))
	testkit.Expect(t, "blobs after a merge", len(s.StoredBlobs("photos")), 2)
	report, err := store.Sweep(ctx, nil)
	must(t, err)
	testkit.Expect(t, "linked", report.Counts["linked"], 2)

	// It is archived with its parts, and restored.
	old, err := workertest.Place(&host.Host{Tables: s.Tables()}, archive.ToTable("archive", nil))
	must(t, err)
	out, err := bareworker.NewOutbox(s.Queues().NewQueueClient("moves"), nil)
	must(t, err)
	mover, err := workertest.NewMover("pages/archive", pages, old, out)
	must(t, err)
	w, err := bareworker.New(s.Queues().NewQueueClient("moves"), s.Queues().NewQueueClient("poison"), []host.Handler{mover.Handler}, nil)
	must(t, err)
	must(t, errors.Join(old.Ensure(ctx), w.Ensure(ctx)))
	e, err = pages.Get(ctx, at(1))
	must(t, err)
	must(t, mover.Archive(ctx, e))
	must(t, w.Drain(ctx))
	testkit.Expect(t, "rows", strings.Join(rows(), " "), "moved moved")
	_, err = mover.Restore(ctx, at(1))
	must(t, err)
	must(t, w.Drain(ctx))
	e, err = pages.Get(ctx, at(1))
	must(t, err)
	got, err = readAll(store.Open(ctx, e.Value.Cover))
	must(t, err)
	testkit.Expect(t, "restored cover", string(got), text(50))
	testkit.Expect(t, "restored article", len(e.Value.Article), 120_000)
	must(t, pages.DeleteAny(ctx, at(1)))
	testkit.Expect(t, "blobs after a delete", len(s.StoredBlobs("photos")), 0)
}
