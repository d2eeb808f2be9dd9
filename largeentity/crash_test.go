package largeentity_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

var schedules = testkit.Count("schedules", 140, "how many schedules are run in all")

// shortened gives the processes time: some wait until blobs are old.
func shortened(o crashtest.Options) *crashtest.Options {
	o.Timeout = 1000 * time.Hour
	return testkit.Crash(o)
}

// program is a fixture with a mover.
type program struct {
	*fixture
	old    workertest.Destination
	mover  *workertest.Mover[employee]
	common table.Common
}

// newProgram returns a program that makes the IDs of newID.
func newProgram(transport account.Transport, newID func() string) (*program, error) {
	o := small()
	options.SetNewID(&o.Common, newID)
	fx, err := openFixture(transport, o)
	if err != nil {
		return nil, err
	}
	c := &program{fixture: fx, common: o.Common}
	to := archive.ToTable("archive", &archive.Options{Common: o.Common})
	if c.old, err = workertest.Place(&host.Host{Tables: fx.account.Tables()}, to); err != nil {
		return nil, err
	}
	out, err := bareworker.NewOutbox(fx.account.Queues().NewQueueClient("moves"), &o.Common)
	if err != nil {
		return nil, err
	}
	c.mover, err = workertest.NewMover("staff/archive", fx.staff, c.old, out)
	return c, err
}

func (c *program) worker() (bareworker.Worker, error) {
	o := &eventual.WorkerOptions{Common: c.common, Concurrency: 1, Idle: 16 * time.Second, Attempts: 1000, MaxWait: 4 * time.Second, Visibility: 30 * time.Second}
	return bareworker.New(c.account.Queues().NewQueueClient("moves"), c.account.Queues().NewQueueClient("poison"), []host.Handler{c.mover.Handler}, o)
}

// process is what one program of these tests does.
type process = func(context.Context, *crashtest.Process) error

// on returns a process that does something with a program of its own. Conflicts with concurrent writers are no errors.
func on(do func(context.Context, *program) error) process {
	return func(ctx context.Context, p *crashtest.Process) error {
		c, err := newProgram(p, testkit.NewID(p))
		if err != nil {
			return err
		}
		err = do(ctx, c)
		for _, is := range []error{table.ErrNotFound, table.ErrChanged, table.ErrExists, table.ErrContended, table.ErrExists, table.ErrIncomplete, largeentity.ErrUploadAgain} {
			if errors.Is(err, is) {
				return nil
			}
		}
		return err
	}
}

// What processes do with employee 1.

func (c *program) uploadNew(ctx context.Context, size int) (largeentity.Blob, error) {
	return c.photos.Upload(ctx, at(1), strings.NewReader(text(size)), "")
}

func inserting(size int) process {
	return on(func(ctx context.Context, c *program) error {
		b, err := c.uploadNew(ctx, size)
		if err == nil {
			_, err = c.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: b})
		}
		return err
	})
}

func replacing(size int) process {
	return on(func(ctx context.Context, c *program) error {
		b, err := c.uploadNew(ctx, size)
		if err == nil {
			_, err = c.staff.Update(ctx, at(1), func(e *employee) error { e.Photo = b; return nil })
		}
		return err
	})
}

var (
	deleting = on(func(ctx context.Context, c *program) error { return c.staff.DeleteAny(ctx, at(1)) })
	undoing  = on(func(ctx context.Context, c *program) error {
		e, err := c.staff.Get(ctx, at(1))
		if err != nil {
			return err
		}
		was := e.Value.Photo
		b, err := c.uploadNew(ctx, 33)
		if err != nil {
			return err
		}
		if e.Value.Photo = b; c.staff.Replace(ctx, e) != nil {
			return nil
		}
		_, err = c.staff.Update(ctx, at(1), func(e *employee) error { e.Photo = was; return nil })
		return err
	})
	rekeying = on(func(ctx context.Context, c *program) error {
		e, err := c.staff.Get(ctx, at(1))
		if err == nil {
			e.Value.ID = 2
			err = c.staff.Move(ctx, e)
		}
		return err
	})
	sweeping = on(func(ctx context.Context, c *program) error {
		_, err := c.photos.Sweep(ctx, &largeentity.SweepOptions{Archived: c.mover.Contains})
		return err
	})
	sweepingLater = testkit.InSequence(func(context.Context, *crashtest.Process) error { time.Sleep(25 * time.Hour); return nil }, sweeping)
	archiving     = on(func(ctx context.Context, c *program) error {
		e, err := c.staff.Get(ctx, at(1))
		if err == nil {
			err = c.mover.Archive(ctx, e)
		}
		return err
	})
	working = on(func(ctx context.Context, c *program) error {
		w, err := c.worker()
		if err == nil {
			err = testkit.WithoutFailures(w.Drain(ctx))
		}
		return err
	})
	restoring = on(func(ctx context.Context, c *program) error {
		_, err := c.mover.Restore(ctx, at(1))
		return err
	})
	purging = on(func(ctx context.Context, c *program) error { // a program empties the archive
		for r, err := range c.old.Incarnations(ctx, at(1)) {
			if err != nil {
				return err
			}
			if err := c.old.Put(ctx, &archive.ArchivedRow{ID: r.ID, Kind: r.Kind, Moves: r.Moves}, r.Version); err != nil {
				return err
			}
		}
		return nil
	})
	reading = on(func(ctx context.Context, c *program) error {
		r, e, err := c.photos.OpenAt(ctx, at(1), photoOf)
		if err != nil {
			return err
		}
		defer r.Close()
		got, err := io.ReadAll(r)
		if err == nil && string(got) != text(int(e.Value.Photo.Size())) {
			panic(fmt.Sprintf("got content %q without an error", got))
		}
		return err
	})
)

// drain works until no message is left, hidden ones included.
func drain(ctx context.Context, p *crashtest.Process) error {
	for {
		messages := p.Service().Messages("moves")
		if len(messages) == 0 {
			return nil
		}
		first := slices.MinFunc(messages, func(a, b storagetest.Message) int { return a.Visible.Compare(b.Visible) })
		time.Sleep(first.Visible.Sub(p.Service().Now()))
		if err := errors.Join(working(ctx, p), ctx.Err()); err != nil {
			return err
		}
	}
}

// sound checks that what is linked exists: an entity with a link has the live row of the blob, and the blob of a live or moved row has
// the length and the hash of the link.
func sound(s *storagetest.Service) error {
	blobs := map[string]storagetest.Blob{}
	for _, b := range s.StoredBlobs("photos") {
		blobs[b.Name] = b
	}
	rows := map[string]string{} // by the name of the blob
	for _, r := range s.Rows("staff") {
		if id, ok := strings.CutPrefix(r.RowKey, "~b|"); ok {
			name := "staff/" + r.PartitionKey + "/" + id
			state := fmt.Sprint(r.Get("State"))
			if rows[name] = state; (state == "live" || state == "moved") && blobs[name].Name == "" {
				return fmt.Errorf("the row of blob %s is %s, but there is no blob", name, state)
			}
		}
	}
	for _, r := range s.Rows("staff") {
		name, _ := r.Get("PhotoBlob").(string)
		if name == "" {
			continue
		}
		content := blobs[name].Content()
		sum := sha256.Sum256(content)
		if rows[name] != "live" || fmt.Sprint(len(content)) != fmt.Sprint(r.Get("PhotoSize")) || hex.EncodeToString(sum[:]) != r.Get("PhotoSHA256") {
			return fmt.Errorf("%s links blob %s: its row is %q, and it has %d bytes", r.RowKey, name, rows[name], len(content))
		}
	}
	return nil
}

// clean checks that after some sweeps nothing is left that nothing refers to.
func clean(s *storagetest.Service) error {
	ctx := context.Background()
	s.SetFaults(nil)
	c, err := newProgram(s, nil)
	if err != nil {
		return err
	}
	for range 3 {
		time.Sleep(50 * time.Hour)
		r, err := c.photos.Sweep(ctx, &largeentity.SweepOptions{Archived: c.mover.Contains})
		if err != nil {
			return err
		}
		if r.Missing > 0 {
			return fmt.Errorf("got %+v; want no link without a blob", r)
		}
	}
	linked := map[string]bool{}
	for _, t := range []string{"staff", "archive"} {
		for _, r := range s.Rows(t) {
			if name, _ := r.Get("PhotoBlob").(string); name != "" {
				linked[name] = true
			}
		}
	}
	blobs, rows := map[string]bool{}, map[string]bool{}
	for _, b := range s.StoredBlobs("photos") {
		blobs[b.Name] = true
	}
	for _, r := range s.Rows("staff") {
		if id, ok := strings.CutPrefix(r.RowKey, "~b|"); ok {
			rows["staff/"+r.PartitionKey+"/"+id] = true
		}
	}
	if !maps.Equal(blobs, linked) || !maps.Equal(rows, linked) {
		return fmt.Errorf("got blobs %v and rows %v; want those of the links %v", blobs, rows, linked)
	}
	return nil
}

// workload returns processes on an account with employee 1, unless it is empty.
func workload(empty bool, processes ...process) func() crashtest.Workload {
	return func() crashtest.Workload {
		setup := on(func(ctx context.Context, c *program) error {
			w, err := c.worker()
			if err != nil {
				return err
			}
			return errors.Join(c.ensure(ctx), c.old.Ensure(ctx), w.Ensure(ctx))
		})
		if !empty {
			setup = testkit.InSequence(setup, inserting(20))
		}
		return crashtest.Workload{Setup: setup, Processes: processes, Drain: drain, Invariant: sound, Check: clean}
	}
}

// TestEveryFault runs writers, sweeps and moves one after the other, with each fault at each request of each process, late requests
// included, and with each process crashing at each request.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		empty     bool
		processes []process
	}{
		{"written", true, []process{inserting(12), reading}},
		{"written in blocks", true, []process{inserting(40), sweepingLater, reading}},
		{"replaced", false, []process{replacing(40), sweeping, replacing(12), sweeping}},
		{"inserted and deleted", true, []process{inserting(12), deleting, sweeping}},
		{"undone", false, []process{undoing, sweeping}},
		{"rekeyed", false, []process{rekeying, sweeping}},
		{"deleted", false, []process{deleting, inserting(12), sweepingLater}},
		{"swept", false, []process{replacing(12), sweepingLater, replacing(13), sweepingLater}},
		{"moved", false, []process{archiving, working, sweepingLater}},
		{"moved and replaced", false, []process{archiving, replacing(12), working, sweeping}},
		{"moved and deleted", false, []process{archiving, deleting, working, sweeping}},
		{"restored", false, []process{testkit.InSequence(archiving, working), restoring, sweeping, working, replacing(12)}},
		{"purged", false, []process{testkit.InSequence(archiving, working), purging, sweeping, restoring}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Enumerate(t, workload(test.empty, test.processes...), shortened(crashtest.Options{PairLimit: 4, Sample: testkit.Sample(10)}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestSchedules runs writers, sweeps, moves and readers at the same time, in random orders.
func TestSchedules(t *testing.T) {
	t.Parallel()
	all := []struct {
		name      string
		empty     bool
		processes []process
	}{
		{"two writers", false, []process{testkit.InSequence(replacing(12), replacing(13)), replacing(40), sweeping, reading}},
		{"writers and sweeps of old blobs", false, []process{replacing(12), replacing(40), sweepingLater, sweepingLater}},
		{"insert and delete", true, []process{inserting(12), inserting(13), testkit.InSequence(deleting, sweeping), deleting}},
		{"undo and rekey", false, []process{undoing, replacing(12), rekeying, sweeping}},
		{"moves", false, []process{testkit.InSequence(archiving, replacing(12), archiving), testkit.InSequence(working, restoring, working), working, sweeping}},
		{"moves and purges", false, []process{testkit.InSequence(archiving, working, purging), testkit.InSequence(restoring, archiving), testkit.InSequence(working, working), testkit.InSequence(sweeping, sweeping)}},
		{"everything", false, []process{testkit.InSequence(archiving, restoring, archiving), testkit.InSequence(replacing(12), deleting, inserting(13)), testkit.InSequence(working, working), testkit.InSequence(sweeping, reading)}},
	}
	for _, test := range all {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Schedules(t, workload(test.empty, test.processes...), shortened(crashtest.Options{Runs: *schedules / len(all)}))
			r.Require(t)
			t.Log(r)
		})
	}
}
