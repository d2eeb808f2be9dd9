package aztablekit_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// openStore opens the store of a process.
func openStore(p *crashtest.Process) (*aztablekit.Store, error) {
	acc, err := account.FromConnectionString(p.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: p}})
	if err != nil {
		return nil, err
	}
	o := &aztablekit.Options{}
	o.NewID = testkit.NewID(p)
	return aztablekit.Open(acc, "company", o), nil
}

// openProgram opens the release of a process, with the index or without it.
func openProgram(p *crashtest.Process, hasIndex bool) (*release, error) {
	store, err := openStore(p)
	if err != nil {
		return nil, err
	}
	is := &release{store: store}
	var definitions []aztablekit.Definition[employee]
	if hasIndex {
		is.byName = index.New("name", keys.Text(), func(e *employee) (string, bool) { return e.Name, e.Name != "" }, nil).Only()
		definitions = append(definitions, is.byName)
	}
	is.staff = aztablekit.Table(is.store, "staff", dept, empid, definitions...)
	return is, is.store.Err()
}

// catalogueStory is a run in which programs of two releases write while others fill and retire the index.
type catalogueStory struct {
	cleans bool // an unfilled index has no rows, because it was retired

	mu    sync.Mutex
	begun bool  // the index was filled, or was from the start
	wrong error // what a program has seen
}

// saw notes what a program should not see.
func (c *catalogueStory) saw(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = cmp.Or(c.wrong, err)
}

// opens returns a process that opens a program and does something.
func (c *catalogueStory) opens(hasIndex bool, do func(context.Context, *crashtest.Process, *release) error) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		is, err := openProgram(p, hasIndex)
		if err != nil {
			return err
		}
		return do(ctx, p, is)
	}
}

// writes makes some writes, with pauses of up to two minutes. They may be refused, but not before the index is filled.
func (c *catalogueStory) writes(ctx context.Context, p *crashtest.Process, is *release) error {
	for range 4 {
		if p.Rand().IntN(2) == 0 {
			time.Sleep(time.Duration(p.Rand().Int64N(int64(2 * time.Minute))))
		}
		e := &employee{"Sales", p.Rand().IntN(3), string(rune('a' + p.Rand().IntN(3))), "", 1}
		var err error
		switch p.Rand().IntN(4) {
		case 0:
			_, err = is.staff.Upsert(ctx, e, table.ReplaceExisting)
		case 1:
			err = is.staff.MergeAny(ctx, keys.At(dept.Of("Sales"), empid.Of(e.ID)), nameField.Set(e.Name))
		case 2:
			err = is.staff.DeleteAny(ctx, keys.At(dept.Of("Sales"), empid.Of(e.ID)))
		default:
			err = is.staff.MergeAny(ctx, keys.At(dept.Of("Sales"), empid.Of(constant)), salaryField.Set(2))
		}
		if errors.Is(err, table.ErrNotDeclared) || errors.Is(err, table.ErrNotRecorded) {
			c.mu.Lock()
			early := !c.begun && is.byName == nil
			c.mu.Unlock()
			if early {
				c.saw(fmt.Errorf("before the index was filled: %w", err))
			}
		}
	}
	return nil
}

// constant is an employee whose name is always z.
const constant = 9

var salaryField = table.FieldOf(func(e *employee) *int64 { return &e.Salary })

var nameField = table.FieldOf(func(e *employee) *string { return &e.Name })

func ensureAndFill(ctx context.Context, _ *crashtest.Process, is *release) error {
	if err := is.store.Ensure(ctx); err != nil {
		return err
	}
	_, err := is.store.Fill(ctx, nil)
	return err
}

func retireName(ctx context.Context, _ *crashtest.Process, is *release) error {
	return is.store.Retire(ctx, "staff", "name", nil)
}

// atLast does something when the last read of a crashed process has ended.
func atLast(do func(context.Context, *crashtest.Process, *release) error) func(context.Context, *crashtest.Process, *release) error {
	return func(ctx context.Context, p *crashtest.Process, is *release) error {
		time.Sleep(time.Minute)
		return do(ctx, p, is)
	}
}

// looksUp looks up a name that does not change. It is found whenever the index can be looked up.
func (c *catalogueStory) looksUp(ctx context.Context, p *crashtest.Process, is *release) error {
	for range 6 {
		time.Sleep(time.Duration(p.Rand().Int64N(int64(time.Minute))))
		all, err := table.Collect(is.byName.List(ctx, is.staff, dept.Of("Sales"), "z"))
		if err == nil && (len(all) != 1 || all[0].Value.ID != constant) {
			c.saw(fmt.Errorf("a look-up found %v", all))
		}
	}
	return nil
}

// setUp inserts two employees.
func setUp(ctx context.Context, _ *crashtest.Process, is *release) error {
	if err := is.store.Ensure(ctx); err != nil {
		return err
	}
	for id, name := range map[int]string{0: "a", 1: "b", constant: "z"} {
		if _, err := is.staff.Insert(ctx, &employee{"Sales", id, name, "", 1}); err != nil {
			return err
		}
	}
	return nil
}

// stateOf returns the state of the index in the record of the table, "" if there is none.
func stateOf(s *storagetest.Service) (string, error) {
	for _, row := range s.Rows("staff") {
		if row.PartitionKey != "~c" {
			continue
		}
		var record struct {
			Definitions []struct{ Name, State string }
		}
		text, _ := row.Get("Definitions").(string)
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			return "", err
		}
		for _, d := range record.Definitions {
			if d.Name == "name" {
				return d.State, nil
			}
		}
	}
	return "", nil
}

// rowsOf returns the index rows that are stored, and those that should be.
func rowsOf(s *storagetest.Service) (got, want []string) {
	for _, row := range s.Rows("staff") {
		if strings.HasPrefix(row.RowKey, "name_") {
			got = append(got, row.RowKey)
		}
		if name, _ := row.Get("Name").(string); strings.HasPrefix(row.RowKey, "empid_") && name != "" {
			want = append(want, "name_"+name+"_"+row.RowKey)
		}
	}
	slices.Sort(want)
	return got, want
}

// isRight is the invariant: while the index is readable, its rows are those of the entities.
func (c *catalogueStory) isRight(s *storagetest.Service) error {
	state, err := stateOf(s)
	if err != nil {
		return err
	}
	if state != "" && state != "unfilled" {
		c.mu.Lock()
		c.begun = true
		c.mu.Unlock()
	}
	got, want := rowsOf(s)
	if state == "readable" && !slices.Equal(got, want) {
		return fmt.Errorf("the index is readable with the rows %q; want %q", got, want)
	}
	if state != "unfilled" || !c.cleans {
		return nil
	}
	for _, row := range s.Rows("staff") {
		if ix, _ := row.Get("_ix").([]byte); strings.HasPrefix(row.RowKey, "name_") || len(ix) > 0 {
			return fmt.Errorf("the index is retired, and left %v", row)
		}
	}
	return nil
}

// check is what must hold at the end: the index is in a state, and its rows are right.
func (c *catalogueStory) check(s *storagetest.Service, want string) error {
	if c.wrong != nil {
		return c.wrong
	}
	state, err := stateOf(s)
	if err != nil || state != want {
		return fmt.Errorf("got state %q, %v; want %q", state, err, want)
	}
	return c.isRight(s)
}

// catalogueRelease is a rolling release: two programs fill the index that it adds.
func catalogueRelease() crashtest.Workload {
	c := new(catalogueStory)
	return crashtest.Workload{
		Setup: c.opens(false, setUp),
		Processes: []func(context.Context, *crashtest.Process) error{
			c.opens(false, c.writes), c.opens(true, ensureAndFill), c.opens(true, c.writes), c.opens(true, ensureAndFill), c.opens(true, c.looksUp),
		},
		Drain:     c.opens(true, atLast(ensureAndFill)),
		Invariant: c.isRight,
		Check:     func(s *storagetest.Service) error { return c.check(s, "readable") },
	}
}

// catalogueRollBack is a roll-back: the index is retired, also while a program fills it.
func catalogueRollBack() crashtest.Workload {
	c := &catalogueStory{begun: true, cleans: true}
	return crashtest.Workload{
		Setup: c.opens(true, setUp),
		Processes: []func(context.Context, *crashtest.Process) error{
			c.opens(true, c.writes), c.opens(true, retireName), c.opens(false, c.writes), c.opens(true, c.looksUp), c.opens(true, retireName), c.opens(true, ensureAndFill),
		},
		Drain:     c.opens(true, atLast(retireName)),
		Invariant: c.isRight,
		Check:     func(s *storagetest.Service) error { return c.check(s, "unfilled") },
	}
}

// catalogueNew is a new table, on which programs of two releases begin at once.
func catalogueNew() crashtest.Workload {
	c := &catalogueStory{begun: true}
	ensure := func(ctx context.Context, _ *crashtest.Process, is *release) error { return is.store.Ensure(ctx) }
	begin := func(hasIndex bool) func(context.Context, *crashtest.Process) error {
		return c.opens(hasIndex, func(ctx context.Context, p *crashtest.Process, is *release) error {
			if err := ensure(ctx, p, is); err != nil {
				return err
			}
			return c.writes(ctx, p, is)
		})
	}
	return crashtest.Workload{
		Processes: []func(context.Context, *crashtest.Process) error{begin(false), begin(true), begin(true)},
		Drain:     c.opens(true, atLast(ensureAndFill)),
		Invariant: c.isRight,
		Check:     func(s *storagetest.Service) error { return c.check(s, "readable") },
	}
}

// punctual leaves out requests that arrive after minutes: the protocol assumes that there are none.
func punctual(t testing.TB, o crashtest.Options) *crashtest.Options {
	o.MaxLateness = -1
	o.Timeout = cmp.Or(o.Timeout, time.Hour)
	return testkit.Crash(o)
}

var catalogueRuns = testkit.Count("catalogueruns", 60, "schedules of each workload of the catalogue")

// TestCatalogueSchedules: programs of two releases, fills and retirements at once, with faults and crashes.
func TestCatalogueSchedules(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func() crashtest.Workload{"release": catalogueRelease, "roll-back": catalogueRollBack, "new table": catalogueNew} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crashtest.Schedules(t, build, punctual(t, crashtest.Options{Runs: *catalogueRuns})).Require(t)
		})
	}
}

// TestCatalogueEveryFault: each fault at each request of Ensure, Fill and Retire.
func TestCatalogueEveryFault(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func() crashtest.Workload{"release": catalogueRelease, "roll-back": catalogueRollBack, "new table": catalogueNew} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crashtest.Enumerate(t, build, punctual(t, crashtest.Options{PairLimit: -1, Sample: testkit.Sample(4)})).Require(t)
		})
	}
}
