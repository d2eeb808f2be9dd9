package largeentity_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/archive/blobarchive"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/table"
)

// drawer is a destination that is no table.
type drawer struct {
	mu   sync.Mutex
	rows map[archive.ID]*archive.ArchivedRow
}

func (d *drawer) Get(_ context.Context, id archive.ID) (*archive.ArchivedRow, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rows[id], nil
}

func (d *drawer) Put(_ context.Context, r *archive.ArchivedRow, version string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	is := ""
	if was := d.rows[r.ID]; was != nil {
		is = was.Version
	}
	if is != version {
		return table.ErrChanged
	}
	next := *r
	next.Version = fmt.Sprint(len(version), "x", version)
	d.rows[r.ID] = &next
	return nil
}

func (d *drawer) Incarnations(_ context.Context, k keys.Key) iter.Seq2[*archive.ArchivedRow, error] {
	return func(yield func(*archive.ArchivedRow, error) bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		for id, r := range d.rows {
			if id.Key == k && r.Row != nil && !yield(r, nil) {
				return
			}
		}
	}
}

// TestDestination: an entity in a destination that is no table keeps its blobs, and has them again when it is restored. A move and a
// restore take 1 commit record each, and the requests of an entity without blobs, but for the rows of the blobs that a restore reads.
func TestDestination(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]func(*fixture) (archive.Destination, error){
		"drawer": func(*fixture) (archive.Destination, error) {
			return &drawer{rows: map[archive.ID]*archive.ArchivedRow{}}, nil
		},
		"container": func(fx *fixture) (archive.Destination, error) {
			return workertest.Place(&host.Host{Account: fx.account}, blobarchive.New("photos", nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testDestination(t, to)
		})
	}
}

func testDestination(t *testing.T, to func(*fixture) (archive.Destination, error)) {
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	destination, err := to(fx)
	must(t, err)
	out, err := bareworker.NewOutbox(fx.account.Queues().NewQueueClient("moves"), nil)
	must(t, err)
	mover, err := workertest.NewMover("staff/elsewhere", fx.staff, destination, out)
	must(t, err)
	w, err := bareworker.New(fx.account.Queues().NewQueueClient("moves"), fx.account.Queues().NewQueueClient("poison"), []host.Handler{mover.Handler}, nil)
	must(t, err)
	must(t, w.Ensure(ctx))
	expectStates := func(want string, blobs int) {
		t.Helper()
		got, n := states(s), 0
		for _, b := range s.StoredBlobs("photos") {
			if strings.HasPrefix(b.Name, "staff/") { // and not of the destination
				n++
			}
		}
		if !strings.HasPrefix(got, want+",") || n != blobs {
			t.Errorf("got %s, %d of the table; want %s and %d", got, n, want, blobs)
		}
	}
	e, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, text(20)), Resume: fx.upload(t, text(40))})
	must(t, err)
	e.Value.Resume = fx.upload(t, text(41))
	must(t, fx.staff.Replace(ctx, e))
	must(t, mover.Archive(ctx, e))
	s.Count()
	must(t, w.Drain(ctx))
	counts := s.Count()
	testkit.Expect(t, "transactions of the move", counts[requests.Transaction], 1)
	testkit.Expect(t, "deleted blobs", counts[kinds.BlobDelete], 0)
	expectStates("moved moved unlinked", 2)
	r := fx.sweep(t, &largeentity.SweepOptions{Archived: mover.Contains})
	testkit.Expect(t, "linked and deleted", fmt.Sprint(r.Linked, r.Replaced, r.Orphans, r.Missing, r.Foreign), "2 0 0 0 0")

	// The archived value cannot be stored in a new entity beside the archived one.
	found, _, err := mover.Find(ctx, at(1))
	must(t, err)
	fx.expectContent(t, "archived", found.Value.Resume, text(41))
	copied := found.Value
	if _, err := fx.staff.Insert(ctx, &copied); !errors.Is(err, largeentity.ErrUploadAgain) {
		t.Errorf("got error %v; want ErrUploadAgain", err)
	}
	s.Count()
	_, err = mover.Restore(ctx, at(1))
	must(t, err)
	counts = s.Count()
	testkit.Expect(t, "transactions of the restore", counts[requests.Transaction], 1)
	expectStates("live live unlinked", 2)
	must(t, w.Drain(ctx))
	e, err = fx.staff.Get(ctx, at(1))
	must(t, err)
	fx.expectContent(t, "restored", e.Value.Photo, text(20))
	must(t, fx.staff.Delete(ctx, e))
	expectStates("unlinked unlinked unlinked", 0)
	records := 0
	for _, r := range s.Rows("staff") {
		if r.RowKey[:3] == "~i|" {
			records++
		}
	}
	testkit.Expect(t, "commit records", records, 2)
}
