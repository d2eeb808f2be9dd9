package archive_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/archive/blobarchive"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// storedBlob is what the oracle reads of a blob of the destination.
type storedBlob struct {
	Incarnation, RowKey string
	Row                 *struct{ Last string } // nil for a tombstone
}

// storedBlobs returns the blobs of the container "old" by their incarnations.
func storedBlobs(s *storagetest.Service) map[string]storedBlob {
	all := map[string]storedBlob{}
	for _, b := range s.StoredBlobs("old") {
		var content storedBlob
		if json.Unmarshal(b.Content(), &content) == nil {
			all[content.Incarnation] = content
		}
	}
	return all
}

// toBlobs makes a fixture move to the container "old".
func toBlobs(fx *fixture) error {
	d, err := workertest.Place(&host.Host{Account: fx.account}, blobarchive.New("old", &archive.Options{Common: fx.common}))
	fx.to = d
	return err
}

// ensureBlobs creates the container of a fixture.
func ensureBlobs(fx *fixture, ctx context.Context) error {
	return fx.to.(workertest.Destination).Ensure(ctx)
}

// newBlobFixture returns a fixture that moves to blobs.
func newBlobFixture(t testing.TB) (*fixture, *storagetest.Service) {
	t.Helper()
	fx, s := newFixture(t, toBlobs)
	must(t, ensureBlobs(fx, context.Background()))
	s.Count()
	return fx, s
}

// TestMoveToBlobs: an entity moves to a blob and back, with the documented requests.
func TestMoveToBlobs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newBlobFixture(t)
	count := func(what, want string) {
		t.Helper()
		testkit.Expect(t, what, s.Count().String(), want)
	}
	must(t, fx.mover.Archive(ctx, insertClerk(t, fx, s, 1)))
	s.Count()
	must(t, fx.work(ctx))
	count("the move", "1 blob-create, 1 blob-get, 2 get, 1 message-delete, 2 message-get, 1 transaction") // and 1 finds no message
	wantArchived(t, fx.mover, "Name1")
	count("Find", "1 blob-get, 1 blob-list, 1 get")
	for e, err := range fx.mover.Archived(ctx, dept.PartitionKey("S")) {
		must(t, err)
		testkit.Expect(t, "archived", e.Value.Last, "Name1")
	}
	count("Archived", "1 blob-get, 1 blob-list")
	e, err := fx.mover.Restore(ctx, at(1))
	must(t, err)
	testkit.Expect(t, "restored", e.Value.Last, "Name1")
	must(t, fx.work(ctx))
	wantNoMessages(t, s)
	for incarnation, b := range storedBlobs(s) {
		if b.Row != nil {
			t.Errorf("incarnation %s: got a row; want a tombstone", incarnation)
		}
	}
	s.Advance(30 * time.Hour)
	sweepLibraryRows(t, fx.mover.Handler, s)
	testkit.Expect(t, "blobs after the sweep", len(s.StoredBlobs("old")), 0)
	if _, _, err := fx.mover.Find(ctx, at(2)); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Find of another clerk: got error %v; want ErrNotFound", err)
	}
}

// blobProcesses are those of the other tests, on fixtures that move to blobs.
func blobProcesses() (all map[string][]process, blobs opener) {
	blobs = fixtureOf(toBlobs)
	working, archiving, restoring := on(blobs, (*fixture).work), on(blobs, (*fixture).archiveClerk), on(blobs, (*fixture).restoreClerk)
	updating, deleting, inserting := on(blobs, (*fixture).incrementClerk), on(blobs, (*fixture).deleteClerk), on(blobs, (*fixture).insertNewClerk)
	return map[string][]process{
		"moved":                       {archiving, working},
		"updated":                     {archiving, updating, working},
		"deleted and inserted":        {archiving, deleting, inserting, working},
		"archived twice":              {archiving, archiving, working},
		"restored":                    {testkit.InSequence(archiving, working), restoring, working},
		"restored and archived again": {testkit.InSequence(archiving, working, restoring), archiving, working},
		"everything":                  {testkit.InSequence(archiving, restoring, archiving), testkit.InSequence(updating, deleting, inserting), testkit.InSequence(restoring, updating), testkit.InSequence(working, working)},
	}, blobs
}

// blobWorkload is workload for fixtures that move to blobs.
func blobWorkload(blobs opener, processes ...process) func() crashtest.Workload {
	return func() crashtest.Workload {
		w := workload(processes...)()
		w.Setup, w.Drain = testkit.InSequence(setUp, on(blobs, ensureBlobs)), drainQueue(blobs)
		return w
	}
}

// TestBlobsEveryFault is TestEveryFault with a destination in blobs.
func TestBlobsEveryFault(t *testing.T) {
	t.Parallel()
	all, blobs := blobProcesses()
	for name, processes := range all {
		if name == "everything" {
			continue // as schedules
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Enumerate(t, blobWorkload(blobs, processes...), testkit.Crash(crashtest.Options{PairLimit: -1, Sample: testkit.Sample(7)}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestBlobsSchedules is TestSchedules with a destination in blobs.
func TestBlobsSchedules(t *testing.T) {
	t.Parallel()
	all, blobs := blobProcesses()
	for name, processes := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Schedules(t, blobWorkload(blobs, processes...), testkit.Crash(crashtest.Options{Runs: *schedules / (len(all) + 1)}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestBlobOutages: the container is out of reach in each way, for two hours, and every move waits.
func TestBlobOutages(t *testing.T) {
	t.Parallel()
	faults := outageFaults()
	delete(faults, storagetest.Refuse(404, "TableNotFound").String()) // which the Blob service does not send
	faults["no container"] = storagetest.Refuse(404, "ContainerNotFound")
	faults["container being deleted"] = storagetest.Refuse(409, "ContainerBeingDeleted")
	for _, name := range sampleOf(faults, 0) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fx, s := newBlobFixture(t)
				fails := func(q storagetest.Request) bool { return q.Container == "old" }
				workThroughOutage(t, fx, s, s, func() { s.SetFaults(storagetest.When(fails, faults[name])) }, func() { s.SetFaults(nil) })
			})
		})
	}
}
