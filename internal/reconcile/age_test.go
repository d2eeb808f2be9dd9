package reconcile_test

import (
	"context"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// slowTarget is a target; its first read is followed by a pause.
type slowTarget struct {
	pause         func()
	reads, writes int
}

func (s *slowTarget) Read(context.Context) error {
	if s.reads++; s.reads == 1 {
		s.pause()
	}
	return nil
}

func (s *slowTarget) Write(context.Context, *table.Row) error { s.writes++; return nil }

func (s *slowTarget) Sweep(context.Context, time.Time) error { return nil }

// TestSuspended: a program that was suspended between its reads and its writes reads again: a tombstone may have been swept
// meanwhile.
func TestSuspended(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for pause, reads := range map[time.Duration]int{11 * time.Hour: 1, 13 * time.Hour: 2} {
		target := &slowTarget{pause: func() { s.Advance(pause) }}
		testkit.NoError(t, reconcile.Reconcile(context.Background(), s.staff, keys.Raw("Sales", "empid_000001"), target))
		testkit.Expect(t, "reads", target.reads, reads)
		testkit.Expect(t, "writes", target.writes, 1)
	}
}
