package largeentity_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestSuspended: a writer that is suspended between its plan and its request stores no value that a sweep may have deleted.
func TestSuspended(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &clock{}
	o := small()
	options.SetNow(&o.Common, c.now)
	s := &testkit.Hooked{Service: storagetest.New(&storagetest.Options{Now: c.now})}
	fx := newFixtureOn(t, s.Service, s, o)
	_, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1})
	must(t, err)
	b := fx.upload(t, text(20))
	// The service is busy, and the writer is suspended while it waits to send the transaction again.
	s.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.Once(storagetest.Refuse(503, "ServerBusy"))))
	s.BeforeRequest = func(r *http.Request) {
		if requests.KindOf(r) == requests.Transaction {
			c.ahead = 13 * time.Hour
		}
	}
	_, err = fx.staff.Update(ctx, at(1), func(e *employee) error { e.Photo = b; return nil })
	if !errors.Is(err, largeentity.ErrUploadAgain) && !errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("got error %v; want ErrUploadAgain or ErrUnknownOutcome", err)
	}
	testkit.Expect(t, "states", states(s.Service), ", 1 blobs")
}

// TestForeignRow: after another program has replaced the row of an entity, its properties alone do not give it a blob, and a blob
// that it does have is not lost.
func TestForeignRow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	mine, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, text(20))})
	must(t, err)
	other, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 2, Photo: fx.upload(t, text(30))})
	must(t, err)
	// The program writes the rows without what the library has stored with them.
	raw := func(id int, b largeentity.Blob) {
		t.Helper()
		e := aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: "Sales", RowKey: at(id).RowKey()}, Properties: map[string]any{
			"PhotoBlob": b.Name(), "PhotoSize": aztables.EDMInt64(b.Size()), "PhotoSHA256": b.SHA256(), "PhotoType": b.ContentType(), "Photo": aztables.EDMBinary{},
		}}
		body, err := e.MarshalJSON()
		must(t, err)
		_, err = fx.account.Tables().NewClient("staff").UpsertEntity(ctx, body, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
		must(t, err)
	}
	raw(1, mine.Value.Photo)
	raw(3, other.Value.Photo)

	// Employee 3 claims the photo of employee 2, and is deleted.
	must(t, fx.staff.DeleteAny(ctx, at(3)))
	testkit.Expect(t, "states", states(s), "live live, 2 blobs")
	raw(3, other.Value.Photo)
	_, err = fx.staff.Update(ctx, at(3), func(e *employee) error { e.Last = "Smith"; return nil })
	if !errors.Is(err, largeentity.ErrUploadAgain) {
		t.Errorf("got error %v; want ErrUploadAgain for the photo of another employee", err)
	}
	// Employee 1 keeps its photo, which goes with the employee.
	_, err = fx.staff.Update(ctx, at(1), func(e *employee) error { e.Last = "Jones"; return nil })
	must(t, err)
	testkit.Expect(t, "states", states(s), "live live, 2 blobs")
	must(t, fx.staff.DeleteAny(ctx, at(1)))
	testkit.Expect(t, "states", states(s), "live unlinked, 1 blobs")

	// A program without Attach stores a photo: the next write gives the photo its row.
	b := fx.upload(t, text(40))
	_, err = fx.base.Insert(ctx, &employee{Department: "Sales", ID: 4, Photo: b})
	must(t, err)
	_, err = fx.staff.Update(ctx, at(4), func(e *employee) error { e.Last = "Brown"; return nil })
	must(t, err)
	testkit.Expect(t, "states", states(s), "live live unlinked, 2 blobs")
	must(t, fx.staff.DeleteAny(ctx, at(4)))
	testkit.Expect(t, "states", states(s), "live unlinked unlinked, 1 blobs")
	// So it is if the program has other maintainers.
	byLast := index.New("last", keys.Text(), func(e *employee) (string, bool) { return e.Last, true }, nil)
	indexed, err := baretest.Attach(fx.base, byLast)
	must(t, err)
	both, err := baretest.Attach(fx.staff, byLast)
	must(t, err)
	_, err = indexed.Insert(ctx, &employee{Department: "Sales", ID: 5, Photo: fx.upload(t, text(50))})
	must(t, err)
	_, err = both.Update(ctx, at(5), func(e *employee) error { e.Last = "Brown"; return nil })
	must(t, err)
	testkit.Expect(t, "states", states(s), "live live unlinked unlinked, 2 blobs")
	must(t, both.DeleteAny(ctx, at(5)))
	testkit.Expect(t, "states", states(s), "live unlinked unlinked unlinked, 1 blobs")
	// A handle without Attach must not write an entity that has a blob.
	if err := fx.base.DeleteAny(ctx, at(2)); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("got error %v; want ErrUnknownMaintainer", err)
	}
}

// TestTextLikeLink: a text that looks like a link is only a text, in a field and as a value.
func TestTextLikeLink(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, &largeentity.Options{})
	b := fx.upload(t, text(40_000))
	link := fx.upload(t, b.Name())
	e, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Last: b.Name(), Photo: link})
	must(t, err)
	fx.expectContent(t, "value", e.Value.Photo, b.Name())
	testkit.Expect(t, "states", states(s), ", 1 blobs")
	must(t, fx.staff.Delete(ctx, e))
	testkit.Expect(t, "blobs", len(s.StoredBlobs("photos")), 1)
}

// TestSweepRestored: a sweep that finds that an archived entity is gone does nothing if the entity was restored meanwhile.
func TestSweepRestored(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	c, err := newProgram(s, nil)
	must(t, err)
	w, err := c.worker()
	must(t, err)
	must(t, errors.Join(c.ensure(ctx), c.old.Ensure(ctx), w.Ensure(ctx)))
	b := c.upload(t, text(20))
	e, err := c.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: b})
	must(t, err)
	must(t, c.mover.Archive(ctx, e))
	must(t, w.Drain(ctx))
	testkit.Expect(t, "states", states(s), "moved, 1 blobs")
	testkit.Expect(t, "without a question", c.sweep(t, nil).Linked, 1)
	r := c.sweep(t, &largeentity.SweepOptions{Archived: func(ctx context.Context, k keys.Key, incarnation string) (bool, error) {
		_, err := c.mover.Restore(ctx, k)
		must(t, errors.Join(err, w.Drain(ctx)))
		return c.mover.Contains(ctx, k, incarnation)
	}})
	testkit.Expect(t, "deletes", r.Replaced, 0)
	testkit.Expect(t, "states", states(s), "live, 1 blobs")
	e, err = c.staff.Get(ctx, at(1))
	must(t, err)
	c.expectContent(t, "restored", e.Value.Photo, text(20))
}

// TestRestoreAfterSweep: a restore fails if the archived entity was deleted, and its blob swept, after the restore has read it.
func TestRestoreAfterSweep(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	c, err := newProgram(s, nil)
	must(t, err)
	other, err := newProgram(s.Service, nil)
	must(t, err)
	w, err := c.worker()
	must(t, err)
	must(t, errors.Join(c.ensure(ctx), c.old.Ensure(ctx), w.Ensure(ctx)))
	e, err := c.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: c.upload(t, text(20))})
	must(t, err)
	must(t, c.mover.Archive(ctx, e))
	must(t, w.Drain(ctx))
	swept := false
	s.BeforeRequest = func(r *http.Request) {
		if swept || requests.KindOf(r) != requests.Get || !strings.Contains(r.URL.Path, "~b|") {
			return
		}
		swept = true
		for r, err := range other.old.Incarnations(ctx, at(1)) {
			must(t, err)
			must(t, other.old.Put(ctx, &archive.ArchivedRow{ID: r.ID, Kind: r.Kind, Moves: r.Moves}, r.Version))
		}
		testkit.Expect(t, "deletes", other.sweep(t, &largeentity.SweepOptions{Archived: other.mover.Contains}).Replaced, 1)
	}
	if _, err := c.mover.Restore(ctx, at(1)); !errors.Is(err, largeentity.ErrUploadAgain) {
		t.Errorf("got error %v; want ErrUploadAgain", err)
	}
	testkit.Expect(t, "swept", swept, true)
	testkit.Expect(t, "states", states(s.Service), "unlinked, 0 blobs")
}

// TestSweepConcurrent: a blob that is stored or replaced while a sweep reads is not reported.
func TestSweepConcurrent(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	fx := newFixtureOn(t, s.Service, s, nil)
	other := newFixtureOn(t, s.Service, s.Service, nil)
	_, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, text(20))})
	must(t, err)
	lists := 0
	s.BeforeRequest = func(r *http.Request) {
		if requests.KindOf(r) != kinds.BlobList {
			return
		}
		if lists++; lists == 2 { // after the rows were read
			b := other.upload(t, text(30))
			if _, err := other.staff.Update(ctx, at(1), func(e *employee) error { e.Photo = b; return nil }); err != nil {
				t.Error(err)
			}
		}
	}
	testkit.Expect(t, "links to missing blobs", fx.sweep(t, nil).Missing, 0)
	testkit.Expect(t, "lists", lists, 2)
	// A row without a blob, which is stored before it is looked for again.
	e, err := fx.staff.Get(ctx, at(1))
	must(t, err)
	_, err = fx.account.Blobs().NewContainerClient("photos").NewBlobClient(e.Value.Photo.Name()).Delete(ctx, nil)
	must(t, err)
	s.BeforeRequest = func(r *http.Request) {
		if requests.KindOf(r) == kinds.BlobProperties {
			other.overwrite(t, e.Value.Photo.Name(), text(30))
		}
	}
	testkit.Expect(t, "links to missing blobs", fx.sweep(t, nil).Missing, 0)
}

// TestLogged: an old blob that cannot be deleted is logged, and the write succeeds.
func TestLogged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var log strings.Builder
	o := small()
	o.WriteTimeout = 10 * time.Second
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	fx, s := newFixture(t, o)
	e, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, text(20))})
	must(t, err)
	s.SetFaults(storagetest.OfKind(kinds.BlobDelete, storagetest.Refuse(403, "AuthorizationFailure")))
	must(t, fx.staff.Delete(ctx, e))
	if !strings.Contains(log.String(), "could not be deleted") || !strings.Contains(log.String(), e.Value.Photo.Name()) {
		t.Errorf("got log %q; want the blob", log.String())
	}
	testkit.Expect(t, "states", states(s), "unlinked, 1 blobs")
}
