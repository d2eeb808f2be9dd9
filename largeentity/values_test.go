package largeentity_test

import (
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
	store := aztablekit.Open(service, "album", &aztablekit.Options{Prefix: "Test", Common: table.Common{Now: func() time.Time { return now }}})
	images := largeentity.In[picture](store, "images", &largeentity.Options{InlineUpTo: -1})
	pictures := aztablekit.Table(store, "pictures", album, no, images)
	if err := store.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	if got := service.ContainerNames(); len(got) != 1 || got[0] != "testimages" {
		t.Errorf("got containers %q; want testimages", got)
	}
	k := keys.At(album.Of("2026"), no.Of(1))
	image, err := images.Upload(ctx, k, strings.NewReader("large"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := images.Upload(ctx, k, strings.NewReader("lost"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := pictures.Insert(ctx, &picture{"2026", 1, image}); err != nil {
		t.Fatal(err)
	}
	body, e, err := images.OpenAt(ctx, k, func(p *picture) largeentity.Blob { return p.Image })
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(body); string(got) != "large" || err != nil || e.Value.No != 1 {
		t.Errorf("got %q, %v of %v; want large of 1", got, err, e.Value)
	}
	now = now.AddDate(0, 0, 3)
	report, err := store.Verify(ctx, nil)
	if err != nil || report.Faults[verify.Dangling] != 1 || report.Sound() {
		t.Errorf("Verify: got %+v, %v; want 1 blob that nothing links", report, err)
	}
	if report, err = store.Verify(ctx, &verify.Options{Repair: true}); err != nil || !report.Sound() {
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

// TestFaultyValues: values that cannot be used say why, from each method.
func TestFaultyValues(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	k := keys.At(album.Of("2026"), no.Of(1))
	service := storagetest.New(nil)
	open := func(acc aztablekit.Account) *aztablekit.Store { return aztablekit.Open(acc, "album", nil) }
	for what, test := range map[string]struct {
		declare func() (*aztablekit.Store, *largeentity.Values[picture])
		want    string
	}{
		"of no table": {func() (*aztablekit.Store, *largeentity.Values[picture]) {
			s := open(storagetest.New(nil))
			return nil, largeentity.In[picture](s, "images", nil)
		}, "are of no table yet"},
		"of another store": {func() (*aztablekit.Store, *largeentity.Values[picture]) {
			s := open(storagetest.New(nil))
			v := largeentity.In[picture](open(storagetest.New(nil)), "images", nil)
			aztablekit.Table(s, "pictures", album, no, v)
			return s, v
		}, "are of another store"},
		"without blobs": {func() (*aztablekit.Store, *largeentity.Values[picture]) {
			s := open(withoutBlobs{storagetest.New(nil)})
			v := largeentity.In[picture](s, "images", nil)
			aztablekit.Table(s, "pictures", album, no, v)
			return s, v
		}, "no blobs"},
		"zero": {func() (*aztablekit.Store, *largeentity.Values[picture]) { return nil, &largeentity.Values[picture]{} }, "a zero value"},
		"of a table with another mistake": {func() (*aztablekit.Store, *largeentity.Values[picture]) {
			s := open(service)
			v := largeentity.In[picture](s, "images", nil)
			aztablekit.Table(s, "pictures", album, no, v, nil)
			return s, v
		}, "definitions[1] is nil"},
		"of a table with a wrong name": {func() (*aztablekit.Store, *largeentity.Values[picture]) {
			s := open(service)
			v := largeentity.In[picture](s, "images", nil)
			aztablekit.Table(s, "my_pictures", album, no, v)
			return s, v
		}, "my_pictures"},
		"of a second type": {func() (*aztablekit.Store, *largeentity.Values[picture]) {
			type sketch picture
			s := open(service)
			sketchAlbum := keys.Partition(keys.Text(), func(p *sketch) *string { return &p.Album })
			sketchNo := keys.Row(keys.Digits[int](4), func(p *sketch) *int { return &p.No }).Named("sketch")
			aztablekit.Table(s, "pictures", sketchAlbum, sketchNo, largeentity.In[sketch](s, "sketches", nil))
			v := largeentity.In[picture](s, "images", nil)
			aztablekit.Table(s, "pictures", album, no, v)
			return s, v
		}, "definition large values: definition has the name of a definition of type"},
		"a wrong name": {func() (*aztablekit.Store, *largeentity.Values[picture]) {
			s := open(storagetest.New(nil))
			v := largeentity.In[picture](s, "my_images", nil)
			aztablekit.Table(s, "pictures", album, no, v)
			return s, v
		}, "my_images"},
	} {
		s, v := test.declare()
		_, uploaded := v.Upload(ctx, k, strings.NewReader(""), nil)
		_, opened := v.Open(ctx, largeentity.Blob{})
		_, _, found := v.OpenAt(ctx, k, func(p *picture) largeentity.Blob { return p.Image })
		_, swept := v.Sweep(ctx, nil)
		_, checked := v.Check(ctx, nil)
		all := []error{uploaded, opened, found, swept, checked, v.Ensure(ctx)}
		if s != nil {
			all = append(all, s.Ensure(ctx))
		}
		for i, err := range all {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: method %d: got %v; want %q", what, i, err, test.want)
			}
		}
	}
	if n := service.Count().Total(); n != 0 {
		t.Errorf("got %d requests; want none", n)
	}
}

// TestValuesOfTwoStores: values stay those of their table if another store is given them, too.
func TestValuesOfTwoStores(t *testing.T) {
	t.Parallel()
	first, second := aztablekit.Open(storagetest.New(nil), "album", nil), aztablekit.Open(storagetest.New(nil), "album", nil)
	images := largeentity.In[picture](first, "images", nil)
	aztablekit.Table(first, "pictures", album, no, images)
	aztablekit.Table(second, "pictures", album, no, images)
	if err := second.Err(); err == nil || !strings.Contains(err.Error(), "are of another store") {
		t.Errorf("the second store: got %v; want that the values are of another store", err)
	}
	if err := errors.Join(first.Ensure(t.Context()), images.Ensure(t.Context())); err != nil {
		t.Errorf("the first store: got %v; want none", err)
	}
}

// TestArchivedValues: a picture that is archived keeps its blob, which goes with the last place that has the picture.
func TestArchivedValues(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	now := time.Now()
	service := storagetest.New(&storagetest.Options{Now: func() time.Time { return now }})
	store := aztablekit.Open(service, "album", &aztablekit.Options{Common: table.Common{Now: func() time.Time { return now }}})
	former := archive.Into[picture]("former", archive.ToTable(store, "former", nil))
	images := largeentity.In[picture](store, "images", &largeentity.Options{InlineUpTo: -1, Archived: former.Contains})
	pictures := aztablekit.Table(store, "pictures", album, no, images, former)
	if err := store.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	k := keys.At(album.Of("2026"), no.Of(1))
	image, err := images.Upload(ctx, k, strings.NewReader("large"), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := pictures.Insert(ctx, &picture{"2026", 1, image})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(former.Archive(ctx, e), store.Drain(ctx)); err != nil {
		t.Fatal(err)
	}
	now = now.AddDate(0, 0, 3)
	if err := store.RunDaily(ctx); err != nil {
		t.Fatal(err)
	}
	if got := len(service.StoredBlobs("images")); got != 1 {
		t.Errorf("while the archive has the picture: got %d blobs; want 1", got)
	}
	if _, archived, err := former.Find(ctx, k); err != nil || !archived {
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
