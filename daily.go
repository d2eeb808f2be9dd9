package aztablekit

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/internal/work"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// The processes of a store do the work of a day together: the row of the day says when it is due,
// and which of them does it. docs/protocols.md has the protocol.
const (
	renewal  = 3 * time.Minute
	spread   = 10 * time.Minute // within which processes look at the row when the work is due
	tryAgain = 10 * time.Minute // after a failure
)

// runEachDay does the work of each day until ctx ends, whenever it is due and no other process does
// it.
func (s *Store) runEachDay(ctx context.Context) {
	for again := time.Duration(0); s.opt.Daily >= 0 && s.hasWork(); {
		err := pace.Sleep(ctx, again)
		if err != nil {
			return
		}
		again, err = s.workOfDay(ctx)
		if err != nil && ctx.Err() == nil && s.opt.Common.Logger != nil {
			s.opt.Common.Logger.WarnContext(ctx, "the work of a day failed", "store", s.name, "error", wire.Redact(err))
		}
	}
	<-ctx.Done()
}

// hasWork reports whether anything is declared of which there is work to do.
func (s *Store) hasWork() bool { return len(s.declarations) > 0 || len(s.declared.end()) > 0 }

// workOfDay does the work of a day if it is due, and returns when to look again.
func (s *Store) workOfDay(ctx context.Context) (again time.Duration, err error) {
	day, again, err := s.work.TakeDay(ctx, s.opt.Daily)
	switch {
	case work.Denied(err): // this process does the work by its own memory
		return s.opt.Daily, errors.Join(err, s.RunDaily(ctx))
	case err != nil:
		return tryAgain, err
	case day == nil:
		return again + rand.N(min(spread, s.opt.Daily)), nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	kept := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(kept)
		keep(ctx, cancel, day, ended)
	}()
	err = s.daily(ctx, day)
	close(ended)
	<-kept
	if ctx.Err() != nil {
		return tryAgain, context.Cause(ctx)
	}
	return s.opt.Daily, errors.Join(err, day.End(ctx))
}

// keep renews the work of a day until it has ended. It ends ctx when the work is another process's.
func keep(ctx context.Context, cancel context.CancelCauseFunc, day *work.Day, ended <-chan struct{}) {
	for {
		timer := time.NewTimer(min(renewal, max(day.Left(), 0)))
		select {
		case <-ended:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		bounded, end := context.WithTimeout(ctx, day.Left()) // behind it, another process may do the work
		err := day.Renew(bounded)
		end()
		if err != nil {
			cancel(err)
			return
		}
	}
}

// daily does the tasks of a day that are not done.
func (s *Store) daily(ctx context.Context, day *work.Day) error {
	err := doTasks(ctx, s.dailyTasks(), day)
	if ctx.Err() != nil || !day.NeedsLook() {
		return err
	}
	failed := doTasks(ctx, s.lookTasks(), day)
	if failed == nil {
		day.Looked()
	}
	return errors.Join(err, failed)
}

// doTasks does those tasks that are not done, and stores after each that it is. One that fails is
// left for the next process or day.
func doTasks(ctx context.Context, tasks []host.Task, day *work.Day) (all error) {
	for _, task := range tasks {
		if day.IsDone(task.Name) {
			continue
		}
		err := do(ctx, task)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		if err := day.Renew(ctx, task.Name); err != nil {
			return errors.Join(all, err)
		}
	}
	return all
}

// RunDaily does the work of a day now, whatever other processes do: it notifies workers of effects
// whose notification was lost, deletes commit records of more than a day ago with what workers need
// besides, and does what the definitions need, such as the sweep of blobs that no entity has, and
// the making and dropping of the tables of a log. It is safe beside other programs that do the
// same, and beside effects that wait on purpose. One failure does not stop the rest. Once, a day
// after [Store.Fill] has filled a definition, it compares the rows again, as [verify.Repair] does:
// no request that was on its way then arrives any more.
//
// Errors: the mistakes of the declarations; those of the tasks, joined.
//
// Requests:
//   - 1 for each 1,000 notes of partitions with commit records, and up to 16 a day
//   - for each of these partitions 1 or 2, and those of a sweep of the records when a day has ended
//     26 h ago
//   - 1 for the queue
//   - 1 for each table
//   - 1 for the row of the day, 2 for the first call of a store
//   - see also the definitions
//
// Once in a store's life, two or three days after its first program of this release, it reads all
// tables for the commit records of older ones, with 2 requests more.
func (s *Store) RunDaily(ctx context.Context) error {
	err := s.begin()
	if err != nil {
		return err
	}
	err = doAll(ctx, s.dailyTasks())
	if !s.hasWork() {
		return err
	}
	look, failed := s.work.TakeLook(ctx)
	if work.Denied(failed) || errors.Is(failed, errs.ErrTableNotFound) { // another program, or a later day
		failed = nil
	}
	if look != nil {
		failed = doAll(ctx, s.lookTasks())
	}
	if look != nil && failed == nil {
		failed = look.End(ctx)
	}
	return errors.Join(err, failed)
}

// doAll does tasks, whatever fails.
func doAll(ctx context.Context, tasks []host.Task) (all error) {
	for _, task := range tasks {
		all = errors.Join(all, do(ctx, task))
	}
	return all
}

// lookTasks search the tables for commit records without notes.
func (s *Store) lookTasks() (all []host.Task) {
	for _, d := range s.declarations {
		all = append(all, host.Task{Name: "commit records of " + d.name, Do: func(ctx context.Context) error { return s.cleanAll(ctx, d) }})
	}
	return all
}

// dailyTasks returns the work of a day.
func (s *Store) dailyTasks() []host.Task {
	if !s.hasWork() {
		return nil
	}
	all := []host.Task{{Name: "commit records", Do: s.clean}}
	all = append(all, s.tasks(func(p *host.Parts) []host.Task { return p.Daily })...)
	for _, t := range s.catalogued() {
		all = append(all, host.Task{Name: "definitions of " + t.name, Do: func(ctx context.Context) error {
			if err := t.confirm(ctx); err != nil {
				return t.named(err)
			}
			return nil
		}})
	}
	return all
}

// The clean-up of commit records by the notes of their partitions.
const (
	agedAfter   = 26 * time.Hour      // the end of a day, the records of the day are old enough to be deleted
	unknownDays = 30 * 24 * time.Hour // after which the note of a table that no program of the store declares is deleted
)

// clean looks into each partition of which a note says that commit records may be there: it
// notifies workers of pending ones, unless the queue is behind, and deletes those that are old, and
// then the note.
func (s *Store) clean(ctx context.Context) error {
	notifies, err := s.maybeLost(ctx)
	var mu sync.Mutex
	failed := []error{err}
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		failed = append(failed, err)
	}
	var g errgroup.Group
	g.SetLimit(engine.FanOut)
	notified := map[string]bool{}
	for n, err := range s.work.Notes(ctx) {
		switch {
		case errors.Is(err, errs.ErrTableNotFound), work.Denied(err): // this process stores none
			continue
		case err != nil:
			fail(err)
			continue
		}
		place := strings.ToLower(n.Table) + "/" + n.Partition
		notify := notifies && !notified[place]
		notified[place] = true
		g.Go(func() error {
			fail(s.cleanPartition(ctx, n, notify))
			return nil
		})
	}
	_ = g.Wait() // the errors are in failed
	return errors.Join(failed...)
}

// maybeLost reports whether a pending commit record may be one whose message is lost: not while the
// queue is behind, or cannot be read.
func (s *Store) maybeLost(ctx context.Context) (bool, error) {
	if len(s.declarations) == 0 {
		return false, nil
	}
	behind, err := s.outbox.Behind(ctx)
	if errors.Is(err, errs.ErrNoEndpoint) { // no write has an effect
		return false, nil
	}
	return err == nil && !behind, err
}

// cleanPartition does what a note says.
func (s *Store) cleanPartition(ctx context.Context, n work.Note, notify bool) error {
	t, err := s.noted(n.Table)
	if err != nil {
		return err
	}
	age := s.work.Now().Sub(n.End())
	if t == nil {
		if age < unknownDays {
			return nil
		}
		return s.work.Drop(ctx, n)
	}
	if notify {
		if err := s.notifyPartition(ctx, t, n.Partition); err != nil {
			return err
		}
	}
	if age < agedAfter {
		return nil
	}
	left, err := s.sweepPartition(ctx, t, n.Partition, n.End())
	if errors.Is(err, errs.ErrTableNotFound) {
		left, err = 0, nil
	}
	if err != nil || left > 0 {
		return err
	}
	return s.work.Drop(ctx, n)
}

// noted returns a handle of a table of a note, nil for one that the store does not know: what a
// note says is not trusted.
func (s *Store) noted(name string) (table.Handle, error) {
	for _, d := range s.declarations {
		if strings.EqualFold(d.name, name) {
			return d.handle, nil
		}
	}
	if !s.declared.owns(name) {
		return nil, nil
	}
	return bare.NewTable(s.host.Tables, name, table.Schema[table.Row]{}, &table.Options{Common: s.host.Common})
}

// notifyPartition notifies workers of the pending commit records of a partition.
func (s *Store) notifyPartition(ctx context.Context, t table.Handle, partition string) error {
	of := &table.Pass{Partitions: keys.Raw(partition, "").Partition().Point()}
	_, err := s.outbox.NotifyPending(ctx, t, 0, of)
	return err
}

// sweepPartition deletes what is old in a partition, and returns how many commit records of writes
// before a time are left.
func (s *Store) sweepPartition(ctx context.Context, t table.Handle, partition string, through time.Time) (left int, err error) {
	if s.worker == nil {
		_, left, err = door.Table(t).Sweep(ctx, partition, through)
		return left, err
	}
	return bareworker.Clean(ctx, s.worker, t, partition, through)
}

// cleanAll looks into all partitions of a table for commit records, also of programs that store no
// notes.
func (s *Store) cleanAll(ctx context.Context, d *declaration) error {
	notifies, err := s.maybeLost(ctx)
	if err != nil {
		return err
	}
	rows := door.Rows[table.Table[table.Row]](door.Table(d.handle), false)
	_, err = table.EachPartition(ctx, rows, nil, func(ctx context.Context, partition keys.PartitionKey) error {
		pk, err := partition.Result()
		if err == nil && notifies {
			err = s.notifyPartition(ctx, d.handle, pk)
		}
		if err == nil {
			_, err = s.sweepPartition(ctx, d.handle, pk, time.Time{})
		}
		return err
	})
	return err
}
