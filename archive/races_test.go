package archive_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestDeletedMeanwhile: an entity that is deleted after it was stored in the destination is deleted there too.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, e := newPendingMove(t)
	slow, i := newInterceptedFixture(t, s)
	i.beforeFirst(transactionOn("current"), func() error { return fx.current.Delete(ctx, e) })
	must(t, slow.work(ctx))
	wantClerks(t, s, nil, nil)
	if _, _, err := fx.mover.Find(ctx, at(1)); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Find: got error %v; want ErrNotFound", err)
	}
}

// TestChangedMeanwhile: a change of the entity after the worker has read it moves along with the entity.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, e := newPendingMove(t)
	slow, i := newInterceptedFixture(t, s)
	i.beforeFirst(transactionOn("current"), func() error {
		e.Value.Last = "Changed"
		return fx.current.Replace(ctx, e)
	})
	must(t, slow.work(ctx))
	wantClerks(t, s, nil, []string{"c_000001=Changed"})
}

// TestConflictAttempts: a move is attempted Retry.ConflictAttempts times in one delivery of its message, while a concurrent writer
// changes the entity during each attempt. Each conflict is logged.
func TestConflictAttempts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		attempts, conflicts int
		moved               bool
	}{{3, 2, true}, {3, 3, false}, {0, 20, true}} {
		t.Run(fmt.Sprintf("%d conflicts in %d attempts", c.conflicts, c.attempts), func(t *testing.T) {
			t.Parallel()
			fx, s, e := newPendingMove(t)
			i := &interceptor{Service: s, t: t}
			common := noPauses()
			common.Retry.ConflictAttempts = c.attempts
			var conflicts strings.Builder
			common.Logger = slog.New(slog.NewTextHandler(&conflicts, &slog.HandlerOptions{Level: slog.LevelDebug}))
			slow := newFixtureOn(t, s, i, common, nil)
			attempts := 0
			i.before = func(q storagetest.Request) error {
				if !transactionOn("current")(q) {
					return nil
				}
				if attempts++; attempts > c.conflicts {
					return nil
				}
				return fx.current.Replace(ctx, e)
			}
			opt := slow.options()
			var log strings.Builder
			opt.Attempts, opt.Logger = 1, slog.New(slog.NewTextHandler(&log, nil))
			must(t, testkit.WithoutFailures(slow.newWorker(t, opt).Drain(ctx)))
			const line = "conflict with a concurrent writer; another attempt follows\" table=current operation=Archive key=('S','c_000001') attempt="
			logged := c.conflicts
			if !c.moved {
				logged-- // no attempt follows the last conflict
			}
			if got := conflicts.String(); strings.Count(got, line) != logged || strings.Contains(got, "gave up") == c.moved {
				t.Errorf("the log of the table:\n%s\nwant %d lines with %s, and that the move was given up: %v", got, logged, line, !c.moved)
			}
			if c.moved {
				wantClerks(t, s, nil, []string{"c_000001=Name1"})
				testkit.Expect(t, "attempts", attempts, c.conflicts+1)
				wantNoMessages(t, s)
				return
			}
			testkit.Expect(t, "attempts", attempts, c.attempts)
			want := fmt.Sprintf("gave up after %d attempts: concurrent writers changed the row", c.attempts)
			if !strings.Contains(log.String(), want) {
				t.Errorf("the worker's log: got %s; want %q", &log, want)
			}
			testkit.Expect(t, "count of poison messages", len(s.Messages("poison")), 1)
		})
	}
}

// TestSlowWorker: while a worker moves an entity, another worker moves it, for the same message or for that of a second request.
// The slow worker neither stores an old row, nor takes the move for a deletion.
func TestSlowWorker(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	readsEntity := func(q storagetest.Request) bool {
		return q.Kind == requests.Get && q.Table == "current" && q.RowKey == "c_000001"
	}
	for _, c := range []struct {
		name          string
		secondRequest bool
		at            func(q storagetest.Request) bool
	}{
		{"before it reads the entity", false, readsEntity},
		{"before it reads the entity, second request", true, readsEntity},
		{"before it stores the row", false, transactionOn("old")},
		{"before it stores the row, second request", true, transactionOn("old")},
		{"before it deletes the entity", false, transactionOn("current")},
	} {
		for _, stored := range []bool{false, true} { // whether the destination contains a version before
			t.Run(fmt.Sprintf("%s, stored before %v", c.name, stored), func(t *testing.T) {
				t.Parallel()
				fx, s, e := newPendingMove(t)
				if stored {
					crashBeforeDelete(t, s)
				}
				if c.secondRequest {
					must(t, fx.mover.Archive(ctx, e))
				}
				slow, i := newInterceptedFixture(t, s)
				i.beforeFirst(c.at, func() error {
					e.Value.Last = "Changed"
					err := fx.current.Replace(ctx, e)
					s.Advance(time.Minute) // the message becomes visible to the other worker
					return errors.Join(err, fx.work(ctx))
				})
				must(t, slow.work(ctx))
				s.Advance(time.Hour)
				must(t, fx.work(ctx))
				if i.before != nil {
					t.Error("the slow worker never sent the request that the test waits for")
				}
				wantClerks(t, s, nil, []string{"c_000001=Changed"})
				wantNoMessages(t, s)
			})
		}
	}
}

// TestLateInsert: the request by which a crashed worker stores a row arrives when the incarnation is gone: deleted by a program, or
// restored. The request fails at a tombstone.
func TestLateInsert(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, restored := range []bool{false, true} {
		t.Run(map[bool]string{false: "deleted", true: "restored"}[restored], func(t *testing.T) {
			t.Parallel()
			fx, s, e := newPendingMove(t)
			if restored {
				must(t, fx.mover.Archive(ctx, e)) // a second message moves the entity
			}
			crashAt(t, s, "old", storagetest.Late(0))
			if len(s.LateRequests()) == 0 {
				t.Fatal("got no late request; want one")
			}
			s.Advance(time.Hour)
			if restored {
				must(t, fx.work(ctx)) // both messages
				e, err := fx.mover.Restore(ctx, at(1))
				must(t, err)
				must(t, fx.work(ctx))
				must(t, fx.current.Delete(ctx, e))
			} else {
				must(t, fx.current.Delete(ctx, e))
				must(t, fx.work(ctx))
			}
			s.Deliver()
			wantClerks(t, s, nil, nil)
		})
	}
}

// TestUnderway: an entity with a pending move cannot be restored, since the outcome of the move is not known yet.
func TestUnderway(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, e := newPendingMove(t)
	wantError := func(when string, want error) {
		t.Helper()
		if _, err := fx.mover.Restore(ctx, at(1)); !errors.Is(err, want) {
			t.Errorf("Restore %s: got error %v; want %v", when, err, want)
		}
	}
	wantError("before the destination contains the entity", table.ErrNotFound)
	slow, i := newInterceptedFixture(t, s)
	i.beforeFirst(transactionOn("current"), func() error {
		wantError("before the entity is deleted", table.ErrIncomplete)
		err := fx.current.Delete(ctx, e)
		wantError("of an entity that a program has deleted", table.ErrIncomplete)
		return err
	})
	must(t, slow.work(ctx))
	wantError("after the archived row was withdrawn", table.ErrNotFound)
}

// TestRestoresTheLast: the first read of a restore may be old if the move was not complete then. The restore inserts the moved
// version.
func TestRestoresTheLast(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, e := newPendingMove(t)
	crashBeforeDelete(t, s)
	wantClerks(t, s, []string{"c_000001=Name1"}, []string{"c_000001=Name1"})
	worker, i := newInterceptedFixture(t, s)
	i.beforeFirst(transactionOn("current"), func() error {
		e.Value.Last = "Changed"
		return fx.current.Replace(ctx, e)
	})
	restorer, ri := newInterceptedFixture(t, s)
	readsCommitRecord := func(q storagetest.Request) bool { return strings.HasPrefix(q.RowKey, "~i|") }
	ri.beforeFirst(readsCommitRecord, func() error { return worker.work(ctx) })
	restored, err := restorer.mover.Restore(ctx, at(1))
	must(t, err)
	testkit.Expect(t, "restored", restored.Value.Last, "Changed")
}

// TestRestoredTwice: of two concurrent restores, one of which is slow, one succeeds, also if the entity was archived again
// meanwhile.
func TestRestoredTwice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, _ := newPendingMove(t)
	must(t, fx.work(ctx))
	slow, i := newInterceptedFixture(t, s)
	i.beforeFirst(transactionOn("current"), func() error {
		e, err := fx.mover.Restore(ctx, at(1))
		if err != nil {
			return err
		}
		e.Value.Last = "Newer"
		return errors.Join(fx.current.Replace(ctx, e), fx.mover.Archive(ctx, e), fx.work(ctx))
	})
	if _, err := slow.mover.Restore(ctx, at(1)); !errors.Is(err, table.ErrExists) {
		t.Errorf("the slow Restore: got error %v; want ErrExists", err)
	}
	wantClerks(t, s, nil, []string{"c_000001=Newer"})
}

// TestDuplicates: a hundred messages for one move, executed by several workers at once, move the entity once, and never the next
// incarnation.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, _ := newPendingMove(t)
	text := s.Messages("moves")[0].Text
	send := func() {
		for range 99 {
			_, err := fx.account.Queues().NewQueueClient("moves").EnqueueMessage(ctx, text, nil)
			must(t, err)
		}
	}
	send()
	opt := fx.options()
	opt.Concurrency = 8
	w := fx.newWorker(t, opt)
	must(t, w.Drain(ctx))
	_, err := fx.current.Insert(ctx, &clerk{"S", 1, "Newer"})
	must(t, err)
	send()
	must(t, w.Drain(ctx))
	wantClerks(t, s, []string{"c_000001=Newer"}, []string{"c_000001=Name1"})
	testkit.Expect(t, "completed messages", w.Stats().Completed, 199)
	wantNoMessages(t, s)
}
