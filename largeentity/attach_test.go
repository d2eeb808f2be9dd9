package largeentity_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// expectCounts checks the requests since the last call.
func expectCounts(t testing.TB, s *storagetest.Service, what string, want requests.Counts) {
	t.Helper()
	testkit.Expect(t, what, s.Count(), want)
}

// TestRequests: a write takes 2 requests, a replacement 2 and 1 to reclaim, or 2 once the blob is older than the grace, and a read 2.
func TestRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &clock{}
	o := small()
	options.SetNow(&o.Common, c.now)
	fx, s := newFixture(t, o)
	e, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Last: "Jones", Photo: fx.upload(t, text(12))})
	must(t, err)
	expectCounts(t, s, "upload and insert", requests.Counts{kinds.BlobCreate: 1, requests.Transaction: 1})
	testkit.Expect(t, "states", states(s), "live, 1 blobs")

	r, _, err := fx.photos.OpenAt(ctx, at(1), photoOf)
	must(t, err)
	must(t, r.Close())
	expectCounts(t, s, "read", requests.Counts{requests.Get: 1, kinds.BlobGet: 1})

	e.Value.Photo = fx.upload(t, text(100))
	must(t, fx.staff.Replace(ctx, e))
	expectCounts(t, s, "replace by blocks", requests.Counts{kinds.BlobStage: 7, kinds.BlobCommit: 1, requests.Transaction: 1, kinds.BlobDelete: 1})
	testkit.Expect(t, "states", states(s), "live unlinked, 1 blobs")

	e.Value.Last = "Smith"
	must(t, fx.staff.Replace(ctx, e))
	must(t, fx.staff.Merge(ctx, e, last.Set("Brown")))
	expectCounts(t, s, "other fields", requests.Counts{requests.Replace: 1, requests.Merge: 1})

	c.ahead = o.Grace + 25*60*60*1e9
	e.Value.Photo = fx.upload(t, "small")
	must(t, fx.staff.Replace(ctx, e))
	expectCounts(t, s, "replace of an old value by a small one", requests.Counts{requests.Transaction: 1, kinds.BlobDelete: 1, requests.Delete: 1})
	testkit.Expect(t, "states", states(s), "unlinked, 0 blobs")
	fx.expectContent(t, "small value", e.Value.Photo, "small")
	expectCounts(t, s, "read of a small value", requests.Counts{})
}

// TestEveryMethod: each way to write keeps track of the blobs.
func TestEveryMethod(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	photo := table.FieldOf(func(e *employee) *largeentity.Blob { return &e.Photo })
	value := func(n int) *employee { return &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, text(n))} }
	step := func(what string, err error, want string) {
		t.Helper()
		must(t, err)
		testkit.Expect(t, what, states(s), want)
	}
	_, err := fx.staff.Upsert(ctx, value(10), table.ReplaceExisting)
	step("Upsert of a new one", err, "live, 1 blobs")
	e, err := fx.staff.Upsert(ctx, value(11), table.ReplaceExisting)
	step("Upsert", err, "live unlinked, 1 blobs")
	step("Merge", fx.staff.Merge(ctx, e, photo.Set(value(12).Photo)), "live unlinked unlinked, 1 blobs")
	fx.expectContent(t, "merged", e.Value.Photo, text(12))
	_, err = fx.staff.Update(ctx, at(1), func(e *employee) error { e.Photo = value(13).Photo; return nil })
	step("Update", err, "live unlinked unlinked unlinked, 1 blobs")
	step("MergeAny", func() error {
		return fx.staff.MergeAny(ctx, at(1), photo.Set(fx.upload(t, "small")))
	}(), "unlinked unlinked unlinked unlinked, 0 blobs")
	e, err = fx.staff.Get(ctx, at(1))
	must(t, err)
	fx.expectContent(t, "merged small value", e.Value.Photo, "small")
	e.Value.Photo, e.Value.Resume = value(14).Photo, fx.upload(t, text(15))
	step("Replace", fx.staff.Replace(ctx, e), "live live unlinked unlinked unlinked unlinked, 2 blobs")
	e.Value.ID = 2
	step("Rekey", fx.staff.Move(ctx, e), "live live unlinked unlinked unlinked unlinked, 2 blobs")
	fx.expectContent(t, "rekeyed", e.Value.Photo, text(14))
	e.Value.Photo = e.Value.Resume
	step("the same blob twice", fx.staff.Replace(ctx, e), "live unlinked unlinked unlinked unlinked unlinked, 1 blobs")
	e.Value.Photo = largeentity.Blob{}
	step("no value", fx.staff.Replace(ctx, e), "live unlinked unlinked unlinked unlinked unlinked, 1 blobs")
	_, err = table.Bulk(ctx, func(yield func(table.Op, error) bool) { yield(fx.staff.DeleteOp(e), nil) }, nil)
	step("bulk delete", err, "unlinked unlinked unlinked unlinked unlinked unlinked, 0 blobs")

	e, err = fx.staff.Insert(ctx, value(16))
	must(t, err)
	other := &employee{Department: "Sales", ID: 3, Photo: e.Value.Photo}
	_, err = table.Transact(ctx, fx.staff.DeleteOp(e), fx.staff.InsertOp(other))
	step("a blob that passes to another entity", err, "live unlinked unlinked unlinked unlinked unlinked unlinked, 1 blobs")
	step("DeleteAny", fx.staff.DeleteAny(ctx, fx.staff.Key(*other)), "unlinked unlinked unlinked unlinked unlinked unlinked unlinked, 0 blobs")
	if got := baretest.Repaired(fx.staff); got != 0 {
		t.Errorf("got %d repaired rows; want none", got)
	}
}

// TestUploadAgain: what must not be linked is refused, and changes nothing.
func TestUploadAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &clock{}
	o := small()
	options.SetNow(&o.Common, c.now)
	fx, s := newFixture(t, o)
	first := fx.upload(t, text(20))
	e, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: first})
	must(t, err)
	unused := fx.upload(t, text(21))
	refused := func(what string, err error, want error) {
		t.Helper()
		var derived *table.DerivedError
		if !errors.Is(err, want) || !errors.As(err, &derived) || derived.Maintainer != "largeentity" {
			t.Errorf("%s: got error %v; want a DerivedError with %q", what, err, want)
		}
	}
	_, err = fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 2, Photo: first})
	refused("the value of another entity", err, largeentity.ErrUploadAgain)
	_, err = fx.staff.Insert(ctx, &employee{Department: "HR", ID: 1, Photo: unused})
	refused("an entity of another partition", err, largeentity.ErrForeignBlob)
	refused("two entities that take a value", func() error {
		_, err := table.Transact(ctx, fx.staff.InsertOp(&employee{Department: "Sales", ID: 2, Photo: unused}), fx.staff.InsertOp(&employee{Department: "Sales", ID: 3, Photo: unused}))
		return err
	}(), largeentity.ErrUploadAgain)

	e.Value.Photo = fx.upload(t, text(22))
	must(t, fx.staff.Replace(ctx, e))
	e.Value.Photo = first
	refused("an undo", fx.staff.Replace(ctx, e), largeentity.ErrUploadAgain)
	e, err = fx.staff.Get(ctx, at(1))
	must(t, err)
	deleted := e.Value
	must(t, fx.staff.Delete(ctx, e))
	_, err = fx.staff.Insert(ctx, &deleted)
	refused("an undo of a delete", err, largeentity.ErrUploadAgain)

	c.ahead = 13 * 60 * 60 * 1e9
	_, err = fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 2, Photo: unused})
	refused("a value that was uploaded long ago", err, largeentity.ErrUploadAgain)
	c.ahead = -13 * 60 * 60 * 1e9
	_, err = fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 2, Photo: unused})
	refused("a value from the future", err, largeentity.ErrUploadAgain)
	testkit.Expect(t, "states", states(s), "unlinked unlinked, 1 blobs")
}
