package extend_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestAfterCommit: the call is made once for each committed write, of every method, and not for a refused or unknown one.
func TestAfterCommit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	memory := &testkit.Hooked{Service: storagetest.New(nil)}
	acc, err := account.FromTransport(memory, nil)
	testkit.NoError(t, err)
	o := &table.Options{}
	o.Retry.Wait, o.Retry.Attempts = -1, 1
	base, err := bare.NewTable(acc.Tables(), "staff", staffSchema, o)
	testkit.NoError(t, err)
	testkit.NoError(t, tabledoor.Ensure(ctx, base))
	var seen []string
	staff, err := bare.With(base, notes{&seen})
	testkit.NoError(t, err)
	expect := func(what string, want ...string) {
		t.Helper()
		testkit.Expect(t, what, seen, want)
		seen = nil
	}
	jones, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	testkit.NoError(t, err)
	expect("Insert", "empid_000001")
	jones.Value.Age++
	testkit.NoError(t, staff.Replace(ctx, jones))
	expect("Replace", "empid_000001")
	old := *jones
	testkit.NoError(t, staff.Merge(ctx, jones, age.Set(50)))
	expect("Merge", "empid_000001")
	if err := staff.Replace(ctx, &old); !errors.Is(err, table.ErrChanged) {
		t.Errorf("got error %v; want ErrChanged", err)
	}
	expect("a refused Replace")
	_, err = staff.Insert(ctx, &employee{"Sales", 9, "Taken back", 1})
	testkit.NoError(t, err)
	expect("a call that is taken back")
	_, err = table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := 2; i < 5; i++ {
			if !yield(staff.InsertOp(&employee{"Sales", i, "Smith", 44}), nil) {
				return
			}
		}
	}, nil)
	testkit.NoError(t, err)
	expect("bulk", "empid_000002", "empid_000003", "empid_000004")
	testkit.NoError(t, staff.DeleteAny(ctx, jones.Key))
	expect("DeleteAny", "empid_000001")
	memory.BeforeRequest = func(r *http.Request) {
		if r.Method == http.MethodPost {
			r.Header.Set("Content-Type", "text/wrong")
		}
	}
	if _, err = staff.Insert(ctx, &employee{"Sales", 5, "Brown", 44}); err == nil {
		t.Error("got no error of a request that the service cannot read")
	}
	expect("a failed Insert")
}

// bounded bounds its plans by a time, lets the clock pass it once, and refuses to plan again.
type bounded struct {
	now   *time.Time
	plans int
}

var errTooLate = errors.New("too late")

func (*bounded) Name() string { return "bounded" }
func (*bounded) MaxRows() int { return 0 }

func (b *bounded) Maintain(_ context.Context, p *extend.Plan, _ *extend.Change[employee]) error {
	if b.plans++; b.plans > 1 {
		return errTooLate
	}
	door.PlanOf(p).NotAfter(b.now.Add(time.Minute))
	door.PlanOf(p).NotAfter(b.now.Add(time.Hour))
	*b.now = b.now.Add(2 * time.Minute)
	return nil
}

// TestNotAfter: a program that is suspended after it has planned a write sends nothing, and plans again.
func TestNotAfter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	memory := storagetest.New(nil)
	now := time.Now()
	o := &table.Options{}
	options.SetNow(&o.Common, func() time.Time { return now })
	o.Retry.ConflictWait = -1
	base, err := bare.NewTable(memory.Tables(), "staff", staffSchema, o)
	testkit.NoError(t, err)
	testkit.NoError(t, tabledoor.Ensure(ctx, base))
	staff, err := bare.With(base, &bounded{now: &now})
	testkit.NoError(t, err)
	if _, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44}); !errors.Is(err, errTooLate) {
		t.Errorf("got error %v; want that of the second plan", err)
	}
	testkit.Expect(t, "rows", len(memory.Rows("staff")), 0)
}
