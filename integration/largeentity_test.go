package integration

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/barevalues"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/records"
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
	portraitID     = keys.Row(keys.Digits[int](6), func(p *portrait) *int { return &p.ID }).Named("m")
	portraitSchema = table.Schema[portrait]{
		Partition: keys.Partition(keys.Text(), func(p *portrait) *string { return &p.Group }),
		Row:       portraitID,
	}
)

func photoOf(p *portrait) largeentity.Blob { return p.Photo }

// expectPhoto checks the photo of an entity.
func (e *env) expectPhoto(ctx context.Context, photos *largeentity.Values[portrait], k keys.Key, want string) {
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
func newPortraits(e *env, o *largeentity.Options) (portraits *table.Table[portrait], photos *largeentity.Values[portrait]) {
	ctx := context.Background()
	photos, portraits, err := barevalues.New(newTable(e, portraitSchema, nil), e.acc, freshName(), o)
	e.must(err)
	if _, err := photos.Upload(ctx, keys.At(keys.RawPartition("g"), portraitID.Of(1)), strings.NewReader(strings.Repeat("x", 100_000)), nil); !errors.Is(err, largeentity.ErrContainerNotFound) {
		e.Errorf("got error %v; want ErrContainerNotFound", err)
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
	o.Now = func() time.Time { return now }
	portraits, photos := newPortraits(e, o)
	const group = "größe x/ü?#%+&'\"<>/日本."
	k := portraits.Key(portrait{Group: group, ID: 1})
	upload := func(size int) largeentity.Blob {
		b, err := photos.Upload(ctx, k, strings.NewReader(strings.Repeat("0123456789", size/10)), &largeentity.UploadOptions{ContentType: "image/jpeg"})
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
	_, err = e.acc.Container("missing").NewBlobClient(p.Value.Photo.Name()).Delete(ctx, nil)
	if err == nil {
		e.Error("got no error of a missing container")
	}
	now = now.Add(26 * time.Hour)
	e.counter.Take()
	report, err := photos.Sweep(ctx, nil)
	e.must(err)
	want := largeentity.SweepReport{Blobs: 2, Linked: 1, Orphans: 1, Rows: 3, RowsGone: 1}
	if report != want {
		e.Errorf("sweep: got %+v; want %+v", report, want)
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
	portraits, photos := newPortraits(e, nil)
	portraits, err := bare.Attach(portraits, portraitByName)
	e.must(err)
	old := archive.ToTable(&host.Host{Tables: e.tables}, freshName(), nil)
	err = old.Err()
	e.must(err)
	moves, poison := e.acc.Queue(freshName()), e.acc.Queue(freshName())
	out, err := bareworker.NewOutbox(moves, nil)
	e.must(err)
	mover, err := bareworker.NewMover("portraits", portraits, old, out)
	e.must(err)
	w, err := bareworker.New(moves, poison, []host.Handler{mover.Handler}, nil)
	e.must(err)
	e.must(errors.Join(old.Ensure(ctx), w.Ensure(ctx)))
	k := portraits.Key(portrait{Group: "g", ID: 1})
	content := strings.Repeat("0123456789", 10_000)
	b, err := photos.Upload(ctx, k, strings.NewReader(content), nil)
	e.must(err)
	p, err := portraits.Insert(ctx, &portrait{Group: "g", ID: 1, Name: "Jones", Photo: b})
	e.must(err)
	sweep := func(what string, want largeentity.SweepReport) {
		e.Helper()
		got, err := photos.Sweep(ctx, &largeentity.SweepOptions{Archived: mover.Contains})
		e.must(err)
		if got != want {
			e.Errorf("%s: got %+v; want %+v", what, got, want)
		}
	}
	records := func() (n int) {
		for _, err := range records.Of(portraits).List(ctx, keys.RawPartition("g"), time.Now().Add(time.Hour)) {
			e.must(err)
			n++
		}
		return n
	}
	e.must(mover.Archive(ctx, p))
	e.must(w.Drain(ctx))
	if n := records(); n != 1 {
		e.Errorf("got %d commit records; want 1", n)
	}
	sweep("archived", largeentity.SweepReport{Blobs: 1, Linked: 1, Rows: 1})
	found, archived, err := mover.Find(ctx, k)
	e.must(err)
	got, err := photos.ReadAll(ctx, found.Value.Photo, 1<<20)
	e.must(err)
	if !archived || string(got) != content {
		e.Errorf("got %d bytes, archived %v; want %d", len(got), archived, len(content))
	}
	_, err = mover.Restore(ctx, k)
	e.must(err)
	e.must(w.Drain(ctx))
	e.expectPhoto(ctx, photos, k, content)
	named, err := portraitByName.Get(ctx, portraits, keys.RawPartition("g"), "Jones")
	e.must(err)
	if named.Value.Photo != b {
		e.Errorf("by the index: got %v; want %v", named.Value.Photo, b)
	}
	sweep("restored", largeentity.SweepReport{Blobs: 1, Linked: 1, Rows: 1})

	// Archived again, and deleted from the archive by another program.
	p, err = portraits.Get(ctx, k)
	e.must(err)
	e.must(mover.Archive(ctx, p))
	e.must(w.Drain(ctx))
	for r, err := range old.Incarnations(ctx, k) {
		e.must(err)
		e.must(old.Put(ctx, &archive.ArchivedRow{ID: r.ID, Kind: r.Kind, Moves: r.Moves}, r.Version))
	}
	sweep("deleted", largeentity.SweepReport{Blobs: 1, Linked: 1, Rows: 1, Replaced: 1})
	if _, err := photos.Open(ctx, b); !errors.Is(err, largeentity.ErrBlobNotFound) {
		e.Errorf("got error %v; want ErrBlobNotFound", err)
	}
}
