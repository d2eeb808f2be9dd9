package largeentity_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// movable lets the entities of a fixture move.
func (fx *fixture) movable(t testing.TB, transport account.Transport) {
	t.Helper()
	acc, err := account.FromTransport(transport, nil)
	must(t, err)
	out, err := bareworker.NewOutbox(acc.Queues().NewQueueClient("moves"), nil)
	must(t, err)
	must(t, out.Ensure(context.Background()))
	fx.staff, err = baretest.WithOutbox(fx.staff, out)
	must(t, err)
}

// hire stores employee 1 of Sales with a photo and a small resume.
func (fx *fixture) hire(t testing.TB) *table.Entity[employee] {
	t.Helper()
	e, err := fx.staff.Insert(context.Background(), &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, text(100)), Resume: fx.upload(t, "small")})
	must(t, err)
	return e
}

// move moves an employee to Marketing with copies of the values.
func (fx *fixture) move(ctx context.Context, e *table.Entity[employee]) (err error) {
	e.Value.Department = "Marketing"
	k := fx.staff.Key(e.Value)
	if e.Value.Photo, err = fx.photos.Copy(ctx, k, e.Value.Photo); err != nil {
		return err
	}
	if e.Value.Resume, err = fx.photos.Copy(ctx, k, e.Value.Resume); err != nil {
		return err
	}
	return fx.staff.Move(ctx, e)
}

// TestMove: an entity moves to another partition with a copy of its blob, and its old blob is deleted. Without a copy, it stays.
func TestMove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	fx.movable(t, s)
	e := fx.hire(t)
	e.Value.Department = "Marketing"
	if err := fx.staff.Move(ctx, e); !errors.Is(err, largeentity.ErrForeignBlob) {
		t.Errorf("without a copy: got error %v, want ErrForeignBlob", err)
	}
	e.Value.Department = "Sales"
	testkit.Expect(t, "states after the refused move", states(s), "live, 1 blobs")
	s.Count()
	must(t, fx.move(ctx, e))
	expectCounts(t, s, "copy and move", requests.Counts{
		kinds.BlobGet: 1, kinds.BlobStage: 7, kinds.BlobCommit: 1, // the copy
		kinds.MessagePut: 1, requests.Transaction: 3, requests.Merge: 1, kinds.MessageDelete: 1, // the move
		kinds.BlobDelete: 1,
	})
	testkit.Expect(t, "states", states(s), "live unlinked, 1 blobs")
	moved, err := fx.staff.Get(ctx, keys.At(dept.PartitionKey("Marketing"), empid.RowKey(1)))
	must(t, err)
	fx.expectContent(t, "photo", moved.Value.Photo, text(100))
	fx.expectContent(t, "resume", moved.Value.Resume, "small")
}

// TestCopy: small values and no value are not copied, and a copy keeps its content type.
func TestCopy(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	to := keys.At(dept.PartitionKey("Marketing"), empid.RowKey(1))
	for _, b := range []largeentity.Blob{{}, fx.upload(t, "small")} {
		c, err := fx.photos.Copy(ctx, to, b)
		must(t, err)
		testkit.Expect(t, "copy", c, b)
	}
	expectCounts(t, s, "copies of small values", requests.Counts{})
	b := fx.upload(t, text(100))
	c, err := fx.photos.Copy(ctx, to, b)
	must(t, err)
	if c.Name() == b.Name() || c.SHA256() != b.SHA256() || c.ContentType() != b.ContentType() {
		t.Errorf("got copy %v %s %s, want another name, and hash and type of %v %s %s", c, c.Name(), c.SHA256(), b, b.Name(), b.SHA256())
	}
	if same, err := fx.photos.Copy(ctx, keys.Key{}, b); err == nil || same != b {
		t.Errorf("copy to no key: got %v, error %v; want an error and the value itself", same, err)
	}
	s.SetFaults(storagetest.OfKind(kinds.BlobGet, storagetest.Refuse(404, "BlobNotFound")))
	if _, err := fx.photos.Copy(ctx, to, b); !errors.Is(err, largeentity.ErrBlobNotFound) {
		t.Errorf("copy of a deleted blob: got error %v, want ErrBlobNotFound", err)
	}
}

// TestMoveCrash: a program crashes before any request of copy and move. The entity is then in one place with its photo, and a sweep
// leaves no other blob.
func TestMoveCrash(t *testing.T) {
	t.Parallel()
	crashed := 0
	for at := 1; ; at++ {
		c := &clock{}
		o := small()
		options.SetNow(&o.Common, c.now)
		s := &testkit.Hooked{Service: storagetest.New(nil), Serial: true}
		fx := newFixtureOn(t, s.Service, s, o)
		fx.movable(t, s)
		e := fx.hire(t)
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		s.BeforeRequest = func(*http.Request) {
			if n++; n == at {
				cancel()
			}
		}
		err := fx.move(ctx, e)
		s.BeforeRequest = nil
		cancel()
		if n < at {
			break
		}
		crashed++
		ctx = context.Background()
		var in []string
		for _, d := range []string{"Sales", "Marketing"} {
			found, got := fx.staff.Get(ctx, keys.At(dept.PartitionKey(d), empid.RowKey(1)))
			if errors.Is(got, table.ErrNotFound) {
				continue
			}
			must(t, got)
			in = append(in, d)
			fx.expectContent(t, "photo", found.Value.Photo, text(100))
		}
		c.ahead = 3 * o.Grace
		if o.Grace == 0 {
			c.ahead = 3 * 24 * 60 * 60 * 1e9
		}
		_, swept := fx.photos.Sweep(ctx, nil)
		must(t, swept)
		if blobs := len(s.StoredBlobs("photos")); len(in) != 1 || blobs != 1 {
			t.Errorf("crash before request %d (%v): the entity is in %q, with %d blobs; want one place, and 1", at, err, in, blobs)
		}
	}
	if crashed < 10 {
		t.Errorf("got %d crashes, want one before each request", crashed)
	}
}
