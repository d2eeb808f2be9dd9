package integration

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// colleague is what an employee contributes to the view of the whole company.
type colleague struct {
	ID         int
	Name       string
	Department string
}

var colleagueSchema = table.Schema[colleague]{
	Partition: keys.OnePartition[colleague]("company"),
	Row:       keys.Row(keys.Digits[int](6).Named("colleague"), func(c *colleague) *int { return &c.ID }),
}

// colleagueOf is a view of the employees with a name.
func colleagueOf(w *employee, _ keys.Key) (colleague, bool) {
	return colleague{w.ID, w.First + " " + w.Last, w.Department}, w.Last != ""
}

// views: a view in another table follows the employees of all departments, with a summary.
func views(e *env) {
	ctx := context.Background()
	heads := index.NewSummary("heads", keys.Text().Named("heads"), func(c *colleague) (string, bool) { return c.Department, true }, nil)
	company, err := baretest.Attach(newTable(e, colleagueSchema, nil), heads)
	e.must(err)
	base := newTable(e, staffSchema, nil)
	queue := e.acc.Queues().NewQueueClient(base.Name() + "q")
	out, err := bareworker.NewOutbox(queue, nil)
	e.must(err)
	staff, err := baretest.WithOutbox(base, out)
	e.must(err)
	view := materialized.New("company", company, colleagueOf)
	staff, err = baretest.Attach(staff, view)
	e.must(err)
	w, err := bareworker.New(queue, e.acc.Queues().NewQueueClient(base.Name()+"p"), baretest.Handlers(staff), &eventual.WorkerOptions{Concurrency: 1})
	e.must(err)
	e.must(w.Ensure(ctx))

	older := jones
	older.ID = 222
	_, err = base.Insert(ctx, &older) // before the view
	e.must(err)
	report, err := verify.Repair(ctx, staff, nil)
	if e.must(err); report.Faults > 0 || report.Changed != 1 {
		e.Errorf("fill: got %+v; want 1 repaired fault", report)
	}

	count := func(department string, want int64) {
		e.Helper()
		g, err := heads.Get(ctx, company, keys.RawPartition("company"), department)
		if e.must(err); g.Count != want {
			e.Errorf("employees of %s: got %d; want %d", department, g.Count, want)
		}
	}
	count("Sales", 1)
	e.counter.Take()
	x, err := staff.Insert(ctx, &jones)
	e.must(err)
	e.wantRequests("1 message-put, 1 message-update, 1 transaction")
	e.must(w.Drain(ctx))
	e.wantRequests("5 get, 1 merge, 1 message-delete, 2 message-get, 1 transaction") // and reads the derived entity and the sum
	count("Sales", 2)
	e.counter.Take()
	x.Value.Age++
	e.must(staff.Replace(ctx, x))
	e.wantRequests("1 replace")
	x.Value.Last = "Other"
	e.must(staff.Replace(ctx, x))
	e.must(w.Drain(ctx))
	c, err := company.Get(ctx, company.Key(colleague{ID: jones.ID}))
	if e.must(err); c.Value.Name != jones.First+" Other" {
		e.Errorf("view: got %+v; want the new name", c.Value)
	}
	e.must(staff.Delete(ctx, x))
	e.must(w.Drain(ctx))
	count("Sales", 1)
	if _, err := company.Get(ctx, c.Key); !errors.Is(err, table.ErrNotFound) {
		e.Errorf("view of a deleted employee: got error %v; want ErrNotFound", err)
	}
	back, err := staff.Insert(ctx, &jones)
	e.must(err)
	e.must(w.Drain(ctx))
	count("Sales", 2)

	e.must(staff.Delete(ctx, back))
	e.must(w.Drain(ctx))
	count("Sales", 1)
	report, err = verify.Check(ctx, staff, nil)
	if e.must(err); fmt.Sprint(derived.Kinds(report)) != "map[]" || report.Counts["derived rows"] != 1 {
		e.Errorf("Verify: got %+v; want no faults and 1 derived entity", report)
	}
}
