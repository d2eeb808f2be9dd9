package largeentity_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestReclaimRefused: the blob of an old value cannot be deleted. Its row stays, so that Sweep finds the blob.
func TestReclaimRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &clock{}
	var log strings.Builder
	o := small()
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	options.SetNow(&o.Common, c.now)
	s := storagetest.New(&storagetest.Options{Now: c.now})
	fx := newFixtureOn(t, s, s, o)
	e, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, text(20))})
	must(t, err)
	c.ahead = 25 * time.Hour // nothing can link the blob any more
	s.SetFaults(storagetest.OfKind(kinds.BlobDelete, storagetest.Refuse(403, "AuthorizationFailure")))
	must(t, fx.staff.Delete(ctx, e))
	testkit.Expect(t, "states", states(s), "unlinked, 1 blobs")
	testkit.Expect(t, "logged", strings.Contains(log.String(), "could not be deleted"), true)
	s.SetFaults(nil)
	r := fx.sweep(t, nil)
	testkit.Expect(t, "replaced", r.Replaced, 1)
	testkit.Expect(t, "blobs", len(s.StoredBlobs("photos")), 0)
}

// TestReplacedLink: another program has written an old content back, whose blob is replaced. The entity does not have that blob.
func TestReplacedLink(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	e, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, text(20))})
	must(t, err)
	old := e.Value.Photo
	e.Value.Photo = fx.upload(t, text(30))
	must(t, fx.staff.Replace(ctx, e))
	testkit.Expect(t, "states", states(s), "live unlinked, 1 blobs")
	row := aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: "Sales", RowKey: at(1).RowKey()}, Properties: map[string]any{
		"PhotoBlob": old.Name(), "PhotoSize": aztables.EDMInt64(old.Size()), "PhotoSHA256": old.SHA256(), "PhotoType": old.ContentType(),
	}}
	body, err := row.MarshalJSON()
	must(t, err)
	_, err = fx.account.Tables().NewClient("staff").UpsertEntity(ctx, body, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	must(t, err)
	_, err = fx.staff.Update(ctx, at(1), func(e *employee) error { e.Last = "Jones"; return nil })
	if !errors.Is(err, largeentity.ErrUploadAgain) {
		t.Errorf("a write that keeps a blob that is deleted: got error %v; want ErrUploadAgain", err)
	}
}

// TestSweepForeignBlobs: a blob of another program stays, also in the folder of a partition, and however old it is.
func TestSweepForeignBlobs(t *testing.T) {
	t.Parallel()
	fx, s, c := newSweepFixture(t)
	foreign := []string{"staff/Sales/readme.txt", "staff/Sales/01KAJ5ZVW0", "staff/readme.txt", "staff/Sales/2014/08"}
	for _, name := range foreign {
		fx.overwrite(t, name, "x")
	}
	fx.upload(t, text(20))
	c.ahead = 25 * time.Hour
	r := fx.sweep(t, nil)
	testkit.Expect(t, "foreign and orphans", []int{r.Foreign, r.Orphans}, []int{len(foreign), 1})
	testkit.Expect(t, "blobs", len(s.StoredBlobs("photos")), len(foreign))
}

// TestUploadAltered: another program has stored a blob of the name, with other bytes or with another checksum. An upload does not take
// it for its own.
func TestUploadAltered(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	content := text(12)
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	for _, c := range []struct {
		stored, sum string
		want        error
	}{
		{content, sum, nil},
		{content + "x", sum, table.ErrAltered},
		{"other bytes!", strings.Repeat("0", 64), table.ErrAltered},
	} {
		s := storagetest.New(nil)
		h := &testkit.Hooked{Service: s}
		fx := newFixtureOn(t, s, h, nil)
		other, err := openFixture(s, small())
		must(t, err)
		h.BeforeRequest = func(r *http.Request) {
			if requests.KindOf(r) == kinds.BlobCreate && len(s.StoredBlobs("photos")) == 0 {
				_, err := other.account.Blobs().NewContainerClient("photos").NewBlockBlobClient(strings.TrimPrefix(r.URL.Path, "/photos/")).
					Upload(ctx, streaming.NopCloser(strings.NewReader(c.stored)), &blockblob.UploadOptions{Metadata: map[string]*string{"sha256": &c.sum}})
				must(t, err)
			}
		}
		_, err = fx.photos.Upload(ctx, at(1), strings.NewReader(content), "")
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%d bytes with checksum %s are there: got error %v; want %v", len(c.stored), c.sum, err, c.want)
		}
	}
}

// TestRelinkTwice: two sweeps store the lost rows again at the same time. The slower one goes on, and the blob stays.
func TestRelinkTwice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &clock{}
	o := small()
	options.SetNow(&o.Common, c.now)
	s := storagetest.New(&storagetest.Options{Now: c.now})
	h := &testkit.Hooked{Service: s}
	fx := newFixtureOn(t, s, h, o)
	other, err := openFixture(s, o)
	must(t, err)
	e, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, text(20))})
	must(t, err)
	c.ahead = 25 * time.Hour
	loseRows(t, s, "staff")
	relink := &largeentity.SweepOptions{Relink: true}
	first := false
	h.BeforeRequest = func(r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/staff") && !first {
			first = true
			testkit.Expect(t, "relinked by the first", other.sweep(t, relink).Relinked, 1)
		}
	}
	r := fx.sweep(t, relink)
	testkit.Expect(t, "the other sweep came between", first, true)
	testkit.Expect(t, "linked and orphans", []int{r.Linked, r.Orphans}, []int{1, 0})
	testkit.Expect(t, "states", states(s), "live, 1 blobs")
	fx.expectContent(t, "photo", e.Value.Photo, text(20))
}
