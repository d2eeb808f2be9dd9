package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// crashIndexes are the definitions of TestCrash: a unique index of full copies, and a list for each last name.
func crashIndexes() []extend.Definition[employee] {
	return []extend.Definition[employee]{
		index.New("mail", keys.Fold(keys.Text()), func(w *employee) (string, bool) { return w.Email, w.Email != "" }, &index.Options{Unique: true}),
		index.NewLists("name", keys.Text(), func(w *employee) (string, bool) { return w.Last, true }, nil),
	}
}

// crashWrites are the writes of TestCrash, each with the employees of its partition once it is applied.
func crashWrites() map[string]crashWrite {
	return map[string]crashWrite{
		"Insert": {func(ctx context.Context, staff *table.Table[employee], d string) error {
			_, err := staff.Insert(ctx, &employee{d, 3, "Al", "Jones", 30, "c@x"})
			return err
		}, "1 Pat Jones 44 a@x, 2 Jo Smith 44 b@x, 3 Al Jones 30 c@x"},
		"Upsert": {func(ctx context.Context, staff *table.Table[employee], d string) error {
			_, err := staff.Upsert(ctx, &employee{d, 1, "Pat", "Größe", 45, "c@x"}, table.ReplaceExisting)
			return err
		}, "1 Pat Größe 45 c@x, 2 Jo Smith 44 b@x"},
		"Transact": {func(ctx context.Context, staff *table.Table[employee], d string) error {
			_, err := table.Transact(ctx, staff.DeleteAnyOp(at(d, 2)), staff.UpsertOp(&employee{d, 1, "Pat", "Smith", 44, "b@x"}, table.ReplaceExisting),
				staff.InsertOp(&employee{d, 3, "Al", "Jones", 30, "a@x"}))
			return err
		}, "1 Pat Smith 44 b@x, 3 Al Jones 30 a@x"},
	}
}

type crashWrite struct {
	write   func(ctx context.Context, staff *table.Table[employee], department string) error
	applied string
}

// The employees of each partition before the write.
const beforeCrash = "1 Pat Jones 44 a@x, 2 Jo Smith 44 b@x"

// TestCrash: each write with each mishap at each of its requests, on each service and on both paths. A write that returns was
// applied if it returned no error, and otherwise not. A write of a crashed process was applied as a whole or not at all. The rows of
// the indexes are right, and the entities can be written afterwards.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, b := range ways {
		for name, w := range crashWrites() {
			t.Run(b.Name()+"/"+name, func(t *testing.T) {
				t.Parallel()
				testCrash(newEnv(t, b), w)
			})
		}
	}
}

func testCrash(e *env, w crashWrite) {
	clean, err := baretest.Attach(newTable(e, staffSchema, nil), crashIndexes()...)
	e.must(err)
	var departments []string
	// run makes the write in a partition of its own, with a mishap at one request.
	run := func(at int, m mishap) (kinds []requests.Kind) {
		e.Helper()
		department := fmt.Sprint("D", len(departments))
		for _, x := range []employee{{department, 1, "Pat", "Jones", 44, "a@x"}, {department, 2, "Jo", "Smith", 44, "b@x"}} {
			_, err := clean.Insert(context.Background(), &x)
			e.must(err)
		}
		ctx, crash := context.WithCancel(context.Background())
		defer crash()
		c := &connection{next: transportOf(e.backend), crash: crash, plan: func(n int, r *http.Request) mishap {
			kinds = append(kinds, requests.KindOf(r))
			if n == at {
				return m
			}
			return mishap{}
		}}
		service, err := tablesOf(e.backend, e.counter, c)
		e.must(err)
		o := &table.Options{}
		o.Retry.Wait, o.Retry.ConflictWait = time.Millisecond, time.Millisecond
		staff, err := bare.NewTable(service, clean.Name(), staffSchema, o)
		e.must(err)
		staff, err = baretest.Attach(staff, crashIndexes()...)
		e.must(err)
		returned := w.write(ctx, staff, department)
		if got := c.requests(); got < at {
			e.Fatalf("mishap at request %d: got %d requests; want at least %d", at, got, at)
		}
		what := fmt.Sprintf("%v at request %d %v", m, at, kinds)
		stored := employeesOf(e, clean, department)
		applied := stored == w.applied
		reading := at > 0 && (kinds[at-1] == requests.Get || kinds[at-1] == requests.Query)
		switch {
		case !applied && stored != beforeCrash:
			e.Errorf("%s: got the employees %s; want %s, or %s", what, stored, w.applied, beforeCrash)
		case m.crash && returned == nil:
			e.Errorf("%s: got no error; want one", what)
		case m.crash:
			if want := m.executed && kinds[at-1] == requests.Transaction; applied != want {
				e.Errorf("%s: got the write applied: %v; want %v", what, applied, want)
			}
		case (returned == nil) != applied || errors.Is(returned, table.ErrUnknownOutcome):
			e.Errorf("%s: got error %v, and the write applied: %v; want the error to say so", what, returned, applied)
		case returned != nil && !reading:
			e.Errorf("%s: got error %v; want none", what, returned)
		}
		departments = append(departments, department)
		return kinds
	}
	// An adverse service refuses a request now and then, which is then sent again: the write needs the requests of the shortest run.
	kinds := run(0, mishap{})
	for range 2 {
		if again := run(0, mishap{}); len(again) < len(kinds) {
			kinds = again
		}
	}
	if !slices.Contains(kinds, requests.Transaction) {
		e.Errorf("without a mishap: got the requests %v; want a transaction", kinds)
	}
	for i := range kinds {
		for _, m := range []mishap{{lost: true}, {lost: true, executed: true}, {lost: true, crash: true}, {lost: true, executed: true, crash: true}} {
			run(i+1, m)
		}
	}
	verifyRows(e, clean, len(departments))
	for _, d := range departments {
		_, err := clean.Update(context.Background(), at(d, 1), func(x *employee) error { x.Last, x.Email = "Later", "later@x"; return nil })
		e.must(err)
	}
	verifyRows(e, clean, len(departments))
}

// verifyRows fails the test unless the rows of the indexes are right in so many partitions.
func verifyRows(e *env, staff *table.Table[employee], partitions int) {
	e.Helper()
	r, err := verify.Check(context.Background(), staff, nil)
	e.must(err)
	if r.Faults > 0 || r.Counts["partitions"] != partitions {
		e.Errorf("verify: got %+v; want no faults in %d partitions", r, partitions)
	}
}

// employeesOf returns the employees of a department as text.
func employeesOf(e *env, staff *table.Table[employee], department string) string {
	e.Helper()
	var all []string
	for x, err := range staff.List(context.Background(), table.Query[employee]{Partition: dept.PartitionKey(department)}) {
		e.must(err)
		all = append(all, fmt.Sprintf("%d %s %s %d %s", x.Value.ID, x.Value.First, x.Value.Last, x.Value.Age, x.Value.Email))
	}
	return strings.Join(all, ", ")
}
