package largeentity_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// loseRows deletes the library's rows, as a restore does that leaves out the rows that begin with ~.
func loseRows(t testing.TB, s *storagetest.Service, name string) {
	t.Helper()
	for _, r := range s.Rows(name) {
		if strings.HasPrefix(r.RowKey, "~") {
			_, err := s.Tables().NewClient(name).DeleteEntity(context.Background(), r.PartitionKey, r.RowKey, nil)
			must(t, err)
		}
	}
}

// TestSweepWithoutRows: after a restore without the rows of blobs, a sweep deletes no blob that an entity links, and fails, until a
// sweep with Relink has stored the rows again. That sweep deletes nothing; the next one deletes the blobs that no entity links.
func TestSweepWithoutRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, c := newSweepFixture(t)
	const n = 6
	blobs := map[keys.Key]largeentity.Blob{}
	for i := range n {
		e := employee{Department: []string{"Sales", "Marketing"}[i%2], ID: i}
		k := keys.At(dept.PartitionKey(e.Department), empid.RowKey(i))
		b, err := fx.photos.Upload(ctx, k, strings.NewReader(text(20+i)), "")
		must(t, err)
		e.Photo = b
		_, err = fx.staff.Insert(ctx, &e)
		must(t, err)
		blobs[k] = b
	}
	_, err := fx.photos.Upload(ctx, at(99), strings.NewReader(text(9)), "")
	must(t, err)
	c.ahead = 25 * time.Hour
	loseRows(t, s, "staff")

	for _, o := range []*largeentity.SweepOptions{nil, {DryRun: true}} {
		var ue *largeentity.UnrecordedLinkError
		r, err := fx.photos.Sweep(ctx, o)
		if !errors.As(err, &ue) || blobs[ue.Key].Name() != ue.Blob || r.Orphans+r.Replaced > 0 {
			t.Fatalf("options %+v: got report %+v, error %v; want an *UnrecordedLinkError", o, r, err)
		}
	}
	testkit.Expect(t, "states after the refusal", states(s), ", 7 blobs")
	r, err := fx.photos.Sweep(ctx, &largeentity.SweepOptions{Relink: true, DryRun: true})
	must(t, err)
	testkit.Expect(t, "dry run", r, largeentity.SweepReport{Blobs: n + 1, Linked: n, Relinked: n})
	testkit.Expect(t, "states after a dry run", states(s), ", 7 blobs")
	var found []verify.Fault
	r, err = fx.photos.Sweep(ctx, &largeentity.SweepOptions{Relink: true, Fault: func(f verify.Fault) { found = append(found, f) }})
	must(t, err)
	testkit.Expect(t, "with Relink", r, largeentity.SweepReport{Blobs: n + 1, Linked: n, Relinked: n})
	testkit.Expect(t, "faults", len(found), n)
	for _, f := range found {
		if want := blobs[f.Entity].Name(); f.Kind != verify.StateMismatch || f.Blob != want || !f.Repaired {
			t.Errorf("got fault %+v; want blob %s", f, want)
		}
	}
	testkit.Expect(t, "states", states(s), "live live live live live live, 7 blobs")
	r, err = fx.photos.Sweep(ctx, &largeentity.SweepOptions{Relink: true})
	must(t, err)
	testkit.Expect(t, "with Relink again", r, largeentity.SweepReport{Blobs: n + 1, Linked: n})
	r, err = fx.photos.Sweep(ctx, nil)
	must(t, err)
	testkit.Expect(t, "with all rows", r, largeentity.SweepReport{Blobs: n + 1, Linked: n, Orphans: 1, Rows: n + 1})
	testkit.Expect(t, "states", states(s), "condemned live live live live live live, 6 blobs")
	for k, b := range blobs {
		fx.expectContent(t, k.String(), b, text(int(b.Size())))
	}

	// The rows are as a write stores them: a replaced value and a deleted entity leave nothing.
	_, err = fx.photos.Sweep(ctx, nil)
	must(t, err)
	for k := range blobs {
		must(t, fx.staff.DeleteAny(ctx, k))
	}
	testkit.Expect(t, "blobs of deleted entities", len(s.StoredBlobs("photos")), 0)
}

// TestRelinkDeletesNothing: a sweep with Relink leaves the blobs of entities that are gone and of replaced values. It also stores the rows of
// young blobs.
func TestRelinkDeletesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, c := newSweepFixture(t)
	for i := range 2 {
		b, err := fx.photos.Upload(ctx, at(i), strings.NewReader(text(20)), "")
		must(t, err)
		_, err = fx.staff.Insert(ctx, &employee{Department: "Sales", ID: i, Photo: b})
		must(t, err)
	}
	rows, err := bare.NewTable(fx.account.Tables(), "staff", table.Schema[table.Row]{}, nil)
	must(t, err)
	library := door.Rows[table.Table[table.Row]](door.Table(rows), false)
	var first keys.Key
	for _, r := range s.Rows("staff") {
		if strings.HasPrefix(r.RowKey, "~b|") && r.Get("Entity") == "empid_000000" {
			first = keys.Raw(r.PartitionKey, r.RowKey)
		}
	}
	// Clerk 0 has gone with its blob's row, as one that is archived; clerk 1 has lost the row alone.
	loseRows(t, s, "staff")
	must(t, library.DeleteAny(ctx, keys.Raw("Sales", "empid_000000")))
	r, err := fx.photos.Sweep(ctx, &largeentity.SweepOptions{Relink: true})
	must(t, err)
	testkit.Expect(t, "young", r, largeentity.SweepReport{Blobs: 2, Linked: 1, Relinked: 1})
	c.ahead = 25 * time.Hour
	e, err := library.Insert(ctx, &table.Row{Key: first})
	must(t, err)
	must(t, e.Value.Set("State", "unlinked"))
	must(t, e.Value.Set("Entity", "empid_000000"))
	must(t, library.Replace(ctx, e))
	r, err = fx.photos.Sweep(ctx, &largeentity.SweepOptions{Relink: true})
	must(t, err)
	testkit.Expect(t, "old", r, largeentity.SweepReport{Blobs: 2, Linked: 1})
	testkit.Expect(t, "states", states(s), "live unlinked, 2 blobs")
}

// TestRelinkParts: the row of a blob that a part of an entity links names the entity.
func TestRelinkParts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	pages, store := newPages(t, s)
	p := &page{Site: "Sales", ID: 1, Title: "Home", Visits: make([]int32, 365), Article: strings.Repeat("An article. ", 10_000)}
	for _, b := range []*largeentity.Blob{&p.Cover, &p.Icon} {
		var err error
		*b, err = store.Upload(ctx, at(1), strings.NewReader(text(20)), "")
		must(t, err)
	}
	_, err := pages.Insert(ctx, p)
	must(t, err)
	loseRows(t, s, "pages")
	r, err := largeentity.Sweep(ctx, store, &largeentity.SweepOptions{Relink: true})
	must(t, err)
	testkit.Expect(t, "report", r, largeentity.SweepReport{Blobs: 2, Linked: 2, Relinked: 2})
	for _, r := range s.Rows("pages") {
		if strings.HasPrefix(r.RowKey, "~b|") {
			testkit.Expect(t, "entity", r.Get("Entity"), any("empid_000001"))
		}
	}
}

// TestSweepCopiedLinks: a copy of an entity that is left, a text in another property, and an entity of another partition link no blob.
func TestSweepCopiedLinks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, c := newSweepFixture(t)
	b := fx.upload(t, text(20))
	rows, err := bare.NewTable(fx.account.Tables(), "staff", table.Schema[table.Row]{}, nil)
	must(t, err)
	entity, note := &table.Row{Key: at(1)}, &table.Row{Key: keys.Raw("Sales", "note")}
	must(t, errors.Join(entity.Set("PhotoBlob", b.Name()), note.Set("Note", b.Name())))
	for _, row := range []*table.Row{entity.Copy(keys.Raw("Sales", "email_a")), note, entity.At(keys.Raw("Marketing", "empid_000001"))} {
		_, err := door.Rows[table.Table[table.Row]](door.Table(rows), false).InsertAt(ctx, row.Key, row)
		must(t, err)
	}
	c.ahead = 25 * time.Hour
	testkit.Expect(t, "orphans", fx.sweep(t, nil).Orphans, 1)
	testkit.Expect(t, "blobs", len(s.StoredBlobs("photos")), 0)
}
