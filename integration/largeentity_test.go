package integration

import (
	"context"
	"errors"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/testkit/valuestest"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/table"
)

// portrait is an entity with a large value.
type portrait struct {
	Group string
	ID    int
	Name  string
	Photo largeentity.Blob
}

var (
	portraitID     = keys.Row(keys.Digits[int](6).Named("m"), func(p *portrait) *int { return &p.ID })
	portraitSchema = table.Schema[portrait]{
		Partition: keys.Partition(keys.Text(), func(p *portrait) *string { return &p.Group }),
		Row:       portraitID,
	}
)

func photoOf(p *portrait) largeentity.Blob { return p.Photo }

// expectPhoto checks the photo of an entity.
func (e *env) expectPhoto(ctx context.Context, photos valuestest.Values[portrait], k keys.Key, want string) {
	e.Helper()
	r, _, err := photos.OpenAt(ctx, k, photoOf)
	e.must(err)
	defer r.Close()
	got, err := io.ReadAll(r)
	e.must(err)
	if string(got) != want {
		e.Errorf("%v: got a photo of %d bytes; want %d others", k, len(got), len(want))
	}
}

// newPortraits creates a table and a container.
func newPortraits(e *env, o *largeentity.Options) (portraits *table.Table[portrait], photos valuestest.Values[portrait]) {
	ctx := context.Background()
	photos, portraits, err := valuestest.New(newTable(e, portraitSchema, nil), e.acc, freshName(), o)
	e.must(err)
	if _, err := photos.Upload(ctx, keys.At(keys.RawPartition("g"), portraitID.Of(1)), strings.NewReader(strings.Repeat("x", 100_000)), ""); !errors.Is(err, table.ErrNotCreated) {
		e.Errorf("got error %v; want ErrNotCreated", err)
	}
	e.must(photos.Ensure(ctx))
	e.must(photos.Ensure(ctx))
	e.counter.Take()
	return portraits, photos
}

// largeValues: a value in a blob is written, replaced, read and swept.
func largeValues(e *env) {
	ctx := context.Background()
	now := time.Now()
	o := &largeentity.Options{BlockSize: 64 << 10}
	options.SetNow(&o.Common, func() time.Time { return now })
	portraits, photos := newPortraits(e, o)
	const group = "größe x/ü?#%+&'\"<>/日本."
	k := portraits.Key(portrait{Group: group, ID: 1})
	upload := func(size int) largeentity.Blob {
		b, err := photos.Upload(ctx, k, strings.NewReader(strings.Repeat("0123456789", size/10)), "image/jpeg")
		e.must(err)
		return b
	}
	p, err := portraits.Insert(ctx, &portrait{Group: group, ID: 1, Photo: upload(50_000)})
	e.must(err)
	e.wantRequests("1 blob-create, 1 transaction")
	e.expectPhoto(ctx, photos, k, strings.Repeat("0123456789", 5_000))
	e.wantRequests("1 blob-get, 1 get")
	p.Value.Photo = upload(150_000)
	e.must(portraits.Replace(ctx, p))
	e.wantRequests("1 blob-commit, 1 blob-delete, 3 blob-stage, 1 transaction")
	e.expectPhoto(ctx, photos, k, strings.Repeat("0123456789", 15_000))
	r, err := photos.OpenRange(ctx, p.Value.Photo, 70_001, 5)
	e.must(err)
	part, err := io.ReadAll(r)
	e.must(errors.Join(err, r.Close()))
	if string(part) != "12345" {
		e.Errorf("a range: got %q; want 12345", part)
	}
	orphan := upload(50_000)
	_, err = portraits.Insert(ctx, &portrait{Group: group, ID: 2, Photo: p.Value.Photo})
	if !errors.Is(err, largeentity.ErrUploadAgain) {
		e.Errorf("got error %v; want ErrUploadAgain for the value of another entity", err)
	}
	_, err = e.acc.Blobs().NewContainerClient("missing").NewBlobClient(p.Value.Photo.Name()).Delete(ctx, nil)
	if err == nil {
		e.Error("got no error of a missing container")
	}
	now = now.Add(26 * time.Hour)
	e.counter.Take()
	report, err := photos.Sweep(ctx, nil)
	e.must(err)
	want := map[string]int{"blobs": 2, "linked": 1, "orphans": 1, "tombstones": 1}
	if !maps.Equal(report.Counts, want) || report.Rows != 5 || report.Faults != 0 {
		e.Errorf("sweep: got %+v; want the counts %v of 5 blobs and rows", report, want)
	}
	if _, err := photos.Open(ctx, orphan); !errors.Is(err, largeentity.ErrBlobNotFound) {
		e.Errorf("got error %v; want ErrBlobNotFound", err)
	}
	e.must(portraits.Delete(ctx, p))
	if _, err := photos.Open(ctx, p.Value.Photo); !errors.Is(err, largeentity.ErrBlobNotFound) {
		e.Errorf("got error %v; want ErrBlobNotFound", err)
	}
}

var portraitByName = index.New("name", keys.Text(), func(p *portrait) (string, bool) { return p.Name, true }, nil)

// archivedLargeValues: an entity with an index and a large value keeps both when it is archived and restored, with one commit record
// for each move.
func archivedLargeValues(e *env) {
	ctx := context.Background()
	prefix, place := freshName(), archive.ToTable("old", nil)
	store := aztablekit.Open(e.acc, "portraits", &aztablekit.Options{Prefix: prefix})
	photos := largeentity.In[portrait]("photos", &largeentity.Options{Archived: []string{"former"}})
	former := archive.Into[portrait]("former", place)
	portraits := aztablekit.Table(store, "portraits", portraitSchema.Partition, portraitSchema.Row, portraitByName, photos, former)
	e.must(store.Ensure(ctx))
	old, err := workertest.Place(&host.Host{Tables: e.tables, Prefix: prefix}, place)
	e.must(err)
	k := portraits.Key(portrait{Group: "g", ID: 1})
	content := strings.Repeat("0123456789", 10_000)
	b, err := photos.Upload(ctx, portraits, k, strings.NewReader(content), "")
	e.must(err)
	p, err := portraits.Insert(ctx, &portrait{Group: "g", ID: 1, Name: "Jones", Photo: b})
	e.must(err)
	sweep := func(what string, want map[string]int) {
		e.Helper()
		got, err := photos.Sweep(ctx, portraits, nil)
		e.must(err)
		if !maps.Equal(got.Counts, want) {
			e.Errorf("%s: got %+v; want the counts %v", what, got, want)
		}
	}
	linked := map[string]int{"blobs": 1, "linked": 1}
	records := func() (n int) {
		for _, err := range records.Of(portraits).List(ctx, keys.RawPartition("g"), time.Now().Add(time.Hour)) {
			e.must(err)
			n++
		}
		return n
	}
	e.must(former.Archive(ctx, portraits, p))
	e.must(store.Drain(ctx))
	if n := records(); n != 1 {
		e.Errorf("got %d commit records; want 1", n)
	}
	sweep("archived", linked)
	found, archived, err := former.Find(ctx, portraits, k)
	e.must(err)
	r, err := photos.Open(ctx, portraits, found.Value.Photo)
	e.must(err)
	got, err := io.ReadAll(r)
	e.must(errors.Join(err, r.Close()))
	if !archived || string(got) != content {
		e.Errorf("got %d bytes, archived %v; want %d", len(got), archived, len(content))
	}
	_, err = former.Restore(ctx, portraits, k)
	e.must(err)
	e.must(store.Drain(ctx))
	restored, err := portraits.Get(ctx, k)
	e.must(err)
	if restored.Value.Photo != b {
		e.Errorf("restored: got %v; want %v", restored.Value.Photo, b)
	}
	named, err := portraitByName.Get(ctx, portraits, keys.RawPartition("g"), "Jones")
	e.must(err)
	if named.Value.Photo != b {
		e.Errorf("by the index: got %v; want %v", named.Value.Photo, b)
	}
	sweep("restored", linked)

	// Archived again, and deleted from the archive by another program.
	p, err = portraits.Get(ctx, k)
	e.must(err)
	e.must(former.Archive(ctx, portraits, p))
	e.must(store.Drain(ctx))
	for r, err := range old.Incarnations(ctx, k) {
		e.must(err)
		e.must(old.Put(ctx, &archive.ArchivedRow{ID: r.ID, Kind: r.Kind, Moves: r.Moves}, r.Version))
	}
	sweep("deleted", map[string]int{"blobs": 1, "linked": 1, "replaced": 1})
	if _, err := photos.Open(ctx, portraits, b); !errors.Is(err, largeentity.ErrBlobNotFound) {
		e.Errorf("got error %v; want ErrBlobNotFound", err)
	}
}
