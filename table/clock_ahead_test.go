package table_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestClockAheadCrashed: a program whose clock is more than a day ahead crashes in a move. Methods
// that must end its write fail at once with a *HomeError that names the clock, lists show the row
// as before, and a day later the write is rolled back.
func TestClockAheadCrashed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s := storagetest.New(nil)
		own := &testkit.Hooked{Service: s}
		open := func(ahead time.Duration) *table.Table[resident] {
			o := blindOptions() // with pauses, which pass at once in the bubble
			options.SetNow(&o.Common, func() time.Time { return time.Now().Add(ahead) })
			base, err := bare.NewTable(serviceOf(t, own), "people", peopleSchema, o)
			noError(t, err)
			people, err := baretest.WithOutbox(base, leaversOutbox)
			noError(t, err)
			return people
		}
		ahead, people := open(30*time.Hour), open(0)
		noError(t, tabledoor.Ensure(ctx, people))
		e, err := ahead.Insert(ctx, &resident{Dept: "S", ID: 1, Last: "Jones"})
		noError(t, err)
		crash, cancel := cancelAt(own, 2)
		e.Value.Dept = "M"
		_ = ahead.Move(crash, e)
		cancel()
		own.BeforeRequest = nil

		there, newDept := keys.At(dept.PartitionKey("M"), residentID.Of(1)), table.Query[resident]{Partition: dept.PartitionKey("M")}
		rename := func(r *resident) error { r.Last = "Smith"; return nil }
		for method, do := range map[string]func() error{
			"Get":    func() error { _, err := people.Get(ctx, there); return err },
			"Update": func() error { _, err := people.Update(ctx, there, rename); return err },
			"Insert": func() error { _, err := people.Insert(ctx, &resident{Dept: "M", ID: 1}); return err },
		} {
			began := time.Now()
			err := do()
			var he *errs.HomeError
			isHome := errors.As(err, &he) && !he.Gone && he.Table == "people" && he.Partition == "S"
			if took := time.Since(began); !isHome || !strings.Contains(err.Error(), "set the clock of its writer") || took > time.Second {
				t.Errorf("%s: got %v after %v; want a *HomeError about the clock at once", method, err, took)
			}
			if errors.Is(err, table.ErrUnreachable) {
				t.Errorf("%s: got %v; want no ErrUnreachable, since the service was reached", method, err)
			}
		}
		expectCount := func(when string, q table.Query[resident], want int) {
			t.Helper()
			if n, err := people.Count(ctx, q); n != want || err != nil {
				t.Errorf("%s: got %d residents, %v; want %d", when, n, err, want)
			}
		}
		expectCount("the new partition", newDept, 0)
		expectCount("the old partition", table.Query[resident]{Partition: dept.PartitionKey("S")}, 1)

		time.Sleep(25 * time.Hour)
		if _, err := people.Get(ctx, there); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("a day later: got %v, want ErrNotFound", err)
		}
		_, err = people.Insert(ctx, &resident{Dept: "M", ID: 1, Last: "Cao"})
		noError(t, err)
		expectCount("a day later", newDept, 1)
	})
}
