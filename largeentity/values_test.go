package largeentity_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// picture has a large value.
type picture struct {
	Album string
	No    int
	Image largeentity.Blob
}

var (
	album = keys.Partition(keys.Text(), func(p *picture) *string { return &p.Album })
	no    = keys.Row(keys.Digits[int](4), func(p *picture) *int { return &p.No })
)

// TestValues: the declaration of a table makes its container, keeps the links to its blobs, and sweeps them each day.
func TestValues(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	service := storagetest.New(&storagetest.Options{Now: time.Now})
	now := time.Now()
	store := aztablekit.Open(service, "album", &aztablekit.Options{Prefix: "Test", Now: func() time.Time { return now }})
	images := largeentity.In[picture]("images", &largeentity.Options{InlineUpTo: -1})
	pictures := aztablekit.Table(store, "pictures", album, no, images)
	if err := store.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	if got := service.ContainerNames(); len(got) != 1 || got[0] != "testimages" {
		t.Errorf("got containers %q; want testimages", got)
	}
	k := keys.At(album.Of("2026"), no.Of(1))
	image, err := images.Upload(ctx, pictures, k, strings.NewReader("large"), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := images.Upload(ctx, pictures, k, strings.NewReader("lost"), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := pictures.Insert(ctx, &picture{"2026", 1, image}); err != nil {
		t.Fatal(err)
	}
	body, e, err := images.OpenAt(ctx, pictures, k, func(p *picture) largeentity.Blob { return p.Image })
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(body); string(got) != "large" || err != nil || e.Value.No != 1 {
		t.Errorf("got %q, %v of %v; want large of 1", got, err, e.Value)
	}
	now = now.AddDate(0, 0, 3)
	report, err := store.Verify(ctx, nil)
	if err != nil || report.Counts[verify.Dangling] != 1 || report.Faults == 0 {
		t.Errorf("Verify: got %+v, %v; want 1 blob that nothing links", report, err)
	}
	if report, err = store.Repair(ctx, nil); err != nil || report.Faults > 0 {
		t.Errorf("Verify with Repair: got %+v, %v; want a sound report", report, err)
	}
	if err := store.RunDaily(ctx); err != nil {
		t.Error(err)
	}
	if got := len(service.StoredBlobs("testimages")); got != 1 {
		t.Errorf("got %d blobs; want 1", got)
	}
}

// withoutBlobs is an account that has tables and queues alone.
type withoutBlobs struct{ host.Account }

// TestFaultyValues: values that cannot be used make each of their methods say why, and the store.
func TestFaultyValues(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	k := keys.At(album.Of("2026"), no.Of(1))
	service := storagetest.New(nil)
	images := largeentity.In[picture]("images", nil)
	for what, test := range map[string]struct {
		acc    aztablekit.Account
		values *largeentity.Values[picture]
		more   []aztablekit.Definition[picture]
		want   string
	}{
		"without blobs":                   {acc: withoutBlobs{service}, want: "no blobs"},
		"zero":                            {values: &largeentity.Values[picture]{}, want: "a zero value"},
		"of a table with another mistake": {more: []aztablekit.Definition[picture]{nil}, want: "definitions[1] is nil"},
		"a wrong name":                    {values: largeentity.In[picture]("my_images", nil), want: "my_images"},
		"an archive of another table": {values: largeentity.In[picture]("images", &largeentity.Options{Archived: []string{"former"}}),
			want: `Options.Archived contains "former"`},
	} {
		if test.acc == nil {
			test.acc = service
		}
		if test.values == nil {
			test.values = images
		}
		store := aztablekit.Open(test.acc, "album", nil)
		pictures := aztablekit.Table(store, "pictures", album, no, append([]aztablekit.Definition[picture]{test.values}, test.more...)...)
		expectAll(t, what, test.want, store.Ensure(ctx), methodsOf(ctx, test.values, pictures, k))
	}
	sketchAlbum := keys.Partition(keys.Text(), func(p *sketch) *string { return &p.Album })
	sketchNo := keys.Row(keys.Digits[int](4).Named("sketch"), func(p *sketch) *int { return &p.No })
	store := aztablekit.Open(service, "album", nil)
	aztablekit.Table(store, "pictures", sketchAlbum, sketchNo, largeentity.In[sketch]("sketches", nil))
	pictures := aztablekit.Table(store, "pictures", album, no, images)
	expectAll(t, "of a second type", "definition large values: definition has the name of a definition of type", store.Ensure(ctx),
		methodsOf(ctx, images, pictures, k))
	if n := service.Count().Total(); n != 0 {
		t.Errorf("got %d requests; want none", n)
	}
}

type sketch picture

// methodsOf returns the errors of the methods of values.
func methodsOf(ctx context.Context, v *largeentity.Values[picture], t *table.Table[picture], k keys.Key) []error {
	_, uploaded := v.Upload(ctx, t, k, strings.NewReader(""), "")
	_, opened := v.Open(ctx, t, largeentity.Blob{})
	_, ranged := v.OpenRange(ctx, t, largeentity.Blob{}, 0, 0)
	_, _, found := v.OpenAt(ctx, t, k, func(p *picture) largeentity.Blob { return p.Image })
	_, swept := v.Sweep(ctx, t, nil)
	_, linked := v.Relink(ctx, t, nil)
	return []error{uploaded, opened, ranged, found, swept, linked}
}

func expectAll(t *testing.T, what, want string, ensured error, methods []error) {
	t.Helper()
	for i, err := range append(methods, ensured) {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: method %d: got %v; want %q", what, i, err, want)
		}
	}
}

// albumImages is a package's variable, as programs have one.
var albumImages = largeentity.In[picture]("images", &largeentity.Options{InlineUpTo: -1})

// TestValuesInTwoStores: values that are a package's variable store the blobs of two stores. A handle without the values is refused.
func TestValuesInTwoStores(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	k := keys.At(album.Of("2026"), no.Of(1))
	for _, content := range []string{"first", "second"} {
		service := storagetest.New(nil)
		store := aztablekit.Open(service, "album", nil)
		pictures := aztablekit.Table(store, "pictures", album, no, albumImages)
		without := aztablekit.Table(store, "others", album, no)
		must(t, store.Ensure(ctx))
		image, err := albumImages.Upload(ctx, pictures, k, strings.NewReader(content), "")
		must(t, err)
		_, err = pictures.Insert(ctx, &picture{"2026", 1, image})
		must(t, err)
		got, err := readAll(albumImages.Open(ctx, pictures, image))
		if err != nil || string(got) != content || len(service.StoredBlobs("images")) != 1 {
			t.Errorf("got %q, %v and %d blobs; want %q and 1", got, err, len(service.StoredBlobs("images")), content)
		}
		for i, err := range methodsOf(ctx, albumImages, without, k) {
			var de *table.DefinitionError
			if !errors.As(err, &de) || de.Definition != "large values" {
				t.Errorf("method %d by a handle without the values: got %v; want a *table.DefinitionError", i, err)
			}
		}
	}
}

// TestArchivedValues: a picture that is archived keeps its blob, which goes with the last place that has the picture.
func TestArchivedValues(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	now := time.Now()
	service := storagetest.New(&storagetest.Options{Now: func() time.Time { return now }})
	store := aztablekit.Open(service, "album", &aztablekit.Options{Now: func() time.Time { return now }})
	former := archive.Into[picture]("former", archive.ToTable("former", nil))
	images := largeentity.In[picture]("images", &largeentity.Options{InlineUpTo: -1, Archived: []string{"former"}})
	pictures := aztablekit.Table(store, "pictures", album, no, images, former)
	if err := store.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	k := keys.At(album.Of("2026"), no.Of(1))
	image, err := images.Upload(ctx, pictures, k, strings.NewReader("large"), "")
	if err != nil {
		t.Fatal(err)
	}
	e, err := pictures.Insert(ctx, &picture{"2026", 1, image})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(former.Archive(ctx, pictures, e), store.Drain(ctx)); err != nil {
		t.Fatal(err)
	}
	now = now.AddDate(0, 0, 3)
	if err := store.RunDaily(ctx); err != nil {
		t.Fatal(err)
	}
	if got := len(service.StoredBlobs("images")); got != 1 {
		t.Errorf("while the archive has the picture: got %d blobs; want 1", got)
	}
	if _, archived, err := former.Find(ctx, pictures, k); err != nil || !archived {
		t.Errorf("got archived %v, %v; want true", archived, err)
	}
	row := service.Rows("former")[0]
	if _, err := service.Tables().NewClient("former").DeleteEntity(ctx, row.PartitionKey, row.RowKey, nil); err != nil {
		t.Fatal(err)
	}
	now = now.AddDate(0, 0, 3)
	if err := store.RunDaily(ctx); err != nil {
		t.Fatal(err)
	}
	if got := len(service.StoredBlobs("images")); got != 0 {
		t.Errorf("when no place has the picture: got %d blobs; want none", got)
	}
}
