package materialized_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// verify calls Verify, and checks the faults that it finds.
func (p *program) verify(t testing.TB, o verify.Options, want string) table.Progress {
	t.Helper()
	o.Fault = func(f verify.Fault) {
		if f.Err != nil {
			t.Log(f)
		}
	}
	r, err := verify.Repair(context.Background(), p.staff, &o)
	testkit.NoError(t, err)
	testkit.Expect(t, "faults", faults(r), want)
	return r
}

// repair is verify with Repair, and checks that a second run finds nothing.
func (s *scene) repair(t testing.TB, want string) table.Progress {
	t.Helper()
	r := s.verify(t, verify.Options{}, want)
	if r.Faults > 0 {
		t.Errorf("got report %+v; want all faults repaired", r)
	}
	s.expectConsistent(t)
	s.verify(t, verify.Options{Pass: table.Pass{DryRun: true}}, "")
	return r
}

// TestFill: Verify fills a view of a table in use, and its summary, without notifications.
func TestFill(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{summary: true})
	for i := range 30 {
		_, err := s.base.Insert(ctx, &employee{Department: fmt.Sprint("D", i%3), ID: i + 1, Salary: int64(i)})
		testkit.NoError(t, err)
	}
	r := s.verify(t, verify.Options{Pass: table.Pass{DryRun: true}}, "29 missing")
	testkit.Expect(t, "members", s.members(), "")
	testkit.Expect(t, "sound", r.Faults == 0, false)
	r = s.repair(t, "29 missing")
	testkit.Expect(t, "entities", r.Rows, 30)
	testkit.Expect(t, "messages", len(s.Messages("effects")), 0)

	// The first change of an entity that the view was filled with removes the old derived entity.
	e, err := s.staff.Get(ctx, keys.At(dept.PartitionKey("D1"), empid.RowKey(2)))
	testkit.NoError(t, err)
	testkit.NoError(t, s.staff.Delete(ctx, e))
	s.drain(t)
	s.expectConsistent(t)
	s.Count()
	s.verify(t, verify.Options{Pass: table.Pass{DryRun: true}}, "")
	testkit.Expect(t, "requests", s.Count().String(), "3 query")
}

// TestDamage: Verify finds and repairs what other programs have done.
func TestDamage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{summary: true})
	for i := range 6 {
		s.insert(t, "Sales", i+1, 10)
	}
	s.drain(t)
	derived := func(id int) keys.Key { return s.company.Key(member{ID: id}) }
	raw, err := bare.NewTable(s.account.Tables(), "company", table.Schema[table.Row]{}, &s.options)
	testkit.NoError(t, err)
	rows := door.Rows[table.Table[table.Row]](door.Table(raw), false)
	testkit.NoError(t, s.company.DeleteAny(ctx, derived(1)))                                                                    // the derived entity, but not its note
	testkit.NoError(t, rows.DeleteAny(ctx, keys.Raw("company", "~v|"+derived(2).RowKey())))                                     // the note
	testkit.NoError(t, s.company.MergeAny(ctx, derived(3), table.FieldOf(func(m *member) *int64 { return &m.Salary }).Set(99))) // its content
	testkit.NoError(t, door.InMode(s.base, blind).DeleteAny(ctx, employeeKey(4)))                                               // the entity
	_, err = s.company.Insert(ctx, &member{ID: 100, Department: "Sales", Salary: 1})                                            // a derived entity of its own
	testkit.NoError(t, err)
	r := s.verify(t, verify.Options{Pass: table.Pass{DryRun: true}}, "2 missing, 1 dangling, 1 stale")
	testkit.Expect(t, "rows that the view has not written", r.Counts["unowned"], 1)
	testkit.NoError(t, s.company.DeleteAny(ctx, derived(100)))
	s.repair(t, "2 missing, 1 dangling, 1 stale")
	testkit.Expect(t, "members", s.members(), "1:Sales:10 2:Sales:10 3:Sales:10 5:Sales:10 6:Sales:10 gone:4")
	for _, c := range []struct {
		later time.Duration
		want  int
	}{{2 * time.Hour, 0}, {22*time.Hour + 30*time.Minute, 0}, {time.Hour, 1}} {
		s.Advance(c.later) // 2, 24.5 and 25.5 hours in all
		r = s.verify(t, verify.Options{}, "")
		testkit.Expect(t, "old tombstones", r.Counts["tombstones"], c.want)
	}
	testkit.Expect(t, "members", s.members(), "1:Sales:10 2:Sales:10 3:Sales:10 5:Sales:10 6:Sales:10")
}

// TestStoredTypes: a note with a property of another type is an error of Verify and of effects, and not a note of no entity, until it is
// deleted. The view keeps its derived entity.
func TestStoredTypes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for property, want := range map[string]string{"EntityPartition": "text", "EntityRow": "text", "Maintainers": "text", "Gone": "Boolean"} {
		for typ, column := range testkit.EachType(property, 1) {
			if typ == want {
				continue
			}
			t.Run(property+" "+typ, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, setting{summary: true})
				e := s.insert(t, "Sales", 1, 10)
				s.drain(t)
				k := keys.Raw("company", "~v|"+s.company.Key(member{ID: 1}).RowKey())
				body := fmt.Sprintf(`{"PartitionKey":%q,"RowKey":%q,%s}`, k.PartitionKey(), k.RowKey(), column)
				_, err := s.account.Tables().NewClient("company").UpsertEntity(ctx, []byte(body), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge})
				testkit.NoError(t, err)
				var de *table.DecodeError
				if r, err := verify.Repair(ctx, s.staff, nil); !errors.As(err, &de) || de.Field != property {
					t.Errorf("Verify: got report %+v, error %v; want a *DecodeError of %s", r, err, property)
				}
				testkit.NoError(t, s.staff.Merge(ctx, e, salary.Set(20)))
				s.failsToDrain(t)
				testkit.Expect(t, "members before the note is deleted", s.members(), "1:Sales:10")
				raw, err := bare.NewTable(s.account.Tables(), "company", table.Schema[table.Row]{}, &s.options)
				testkit.NoError(t, err)
				testkit.NoError(t, door.Rows[table.Table[table.Row]](door.Table(raw), false).DeleteAny(ctx, k))
				s.Advance(time.Minute) // until the message is visible again
				s.drain(t)
				s.repair(t, "")
				testkit.Expect(t, "members", s.members(), "1:Sales:20")
			})
		}
	}
}

// TestDeletedTwice: another program has deleted a derived entity, and then its entity is deleted.
func TestDeletedTwice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, summary := range []bool{false, true} {
		s := newScene(t, setting{summary: summary})
		e := s.insert(t, "Sales", 1, 10)
		s.drain(t)
		testkit.NoError(t, s.company.DeleteAny(ctx, s.company.Key(member{ID: 1})))
		testkit.NoError(t, s.staff.Delete(ctx, e))
		s.drain(t)
		testkit.Expect(t, "members", s.members(), "gone:1")
		s.expectConsistent(t)
	}
}

// TestPending: a change that a worker is about to execute is no fault, unless its notification must be lost.
func TestPending(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{})
	s.insert(t, "Sales", 1, 10)
	s.drain(t)
	s.insert(t, "Sales", 2, 10)
	testkit.NoError(t, s.staff.DeleteAny(ctx, employeeKey(1)))
	r := s.verify(t, verify.Options{}, "")
	testkit.Expect(t, "pending", r.Counts["pending"], 2)
	_, err := s.account.Queues().NewQueueClient("effects").ClearMessages(ctx, nil)
	testkit.NoError(t, err)
	s.Advance(11 * time.Minute)
	s.repair(t, "1 missing, 1 dangling")
	_, err = s.outbox.NotifyPending(ctx, s.staff, 0, nil)
	testkit.NoError(t, err)
	s.drain(t)
	s.expectConsistent(t)
}

// note is a maintainer whose effects are of another kind than those of a view.
type note struct{}

func (note) Name() string { return "note" }
func (note) MaxRows() int { return 0 }
func (note) Maintain(_ context.Context, p *extend.Plan, _ *extend.Change[employee]) error {
	p.Effect("note", 1, nil)
	return nil
}

// TestNotPending: pending effects of another kind, or of the entity in the note of another view, do not make a fault pending.
func TestNotPending(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{})
	e := s.insert(t, "Sales", 1, 10)
	s.insert(t, "Sales", 2, 10)
	s.drain(t)
	testkit.NoError(t, s.company.DeleteAny(ctx, s.company.Key(member{ID: 1})))
	noted, err := bare.With(s.staff, extend.Maintainer[employee](note{}))
	testkit.NoError(t, err)
	e.Value.Notes = "new"
	testkit.NoError(t, noted.Replace(ctx, e))
	r := s.verify(t, verify.Options{Pass: table.Pass{DryRun: true}}, "1 missing")
	testkit.Expect(t, "pending", r.Counts["pending"], 0)

	testkit.NoError(t, s.staff.MergeAny(ctx, employeeKey(2), salary.Set(20)))
	next := materialized.New("next", s.company, func(e *employee, _ keys.Key) (member, bool) { return member{ID: e.ID + 1}, e.ID == 1 })
	both, err := baretest.Attach(s.staff, next)
	testkit.NoError(t, err)
	r, err = verify.Check(ctx, both, nil, extend.Definition[employee](next)) // employee 1 lacks the derived entity of employee 2
	testkit.NoError(t, err)
	testkit.Expect(t, "faults", faults(r), "1 missing")
	testkit.Expect(t, "pending", r.Counts["pending"], 0)
}

// TestTaken: of two entities with one derived entity, the first keeps it until it changes.
func TestTaken(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{})
	first := s.insert(t, "Sales", 1, 10)
	s.drain(t)
	_, err := s.staff.Insert(ctx, &employee{Department: "IT", ID: 1, Salary: 20})
	testkit.NoError(t, err)
	w := s.fewAttempts(t)
	for range 5 {
		testkit.NoError(t, testkit.WithoutFailures(w.Drain(ctx)))
		s.Advance(time.Hour)
	}
	testkit.Expect(t, "members", s.members(), "1:Sales:10")
	testkit.Expect(t, "poison messages", len(s.Messages("poison")), 1)
	r := s.verify(t, verify.Options{}, "1 duplicate value")
	testkit.Expect(t, "sound", r.Faults == 0, false)
	testkit.NoError(t, s.staff.Delete(ctx, first))
	testkit.NoError(t, w.Drain(ctx))
	s.repair(t, "1 missing")
	testkit.Expect(t, "members", s.members(), "1:IT:20")
}

// TestHandover: an entity takes over a derived entity that another has given up, also if its worker is the first.
func TestHandover(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{summary: true})
	first := s.insert(t, "Sales", 1, 10)
	s.drain(t)
	testkit.NoError(t, s.staff.Delete(ctx, first))
	held, err := s.account.Queues().NewQueueClient("effects").DequeueMessages(ctx, nil) // is delivered later
	testkit.NoError(t, err)
	testkit.Expect(t, "messages", len(held.Messages), 1)
	s.insert(t, "IT", 1, 20)
	s.drain(t)
	testkit.Expect(t, "members", s.members(), "1:IT:20")
	s.Advance(time.Minute)
	s.drain(t)
	testkit.Expect(t, "members", s.members(), "1:IT:20")
	s.expectConsistent(t)
}

// byDepartment is the function of a later release: the derived entity has another key.
func byDepartment(e *employee, k keys.Key) (member, bool) {
	return member{e.ID + 1000, e.Department, e.Salary}, e.Salary > 0
}

// TestChangedContent: programs of two releases, of which one derives another content, run side by side. In the end, Verify makes
// the content that of the new one.
func TestChangedContent(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{derive: func(e *employee, k keys.Key) (member, bool) { return member{e.ID, "old", e.Salary}, e.Salary > 0 }})
	later := s.open(t, setting{})
	e := s.insert(t, "Sales", 1, 10)
	later.drain(t)
	testkit.Expect(t, "members", s.members(), "1:Sales:10")
	testkit.NoError(t, later.staff.Merge(ctx, e, salary.Set(20)))
	s.drain(t)
	testkit.Expect(t, "members", s.members(), "1:old:20")
	later.verify(t, verify.Options{}, "1 stale")
	s.expectConsistent(t)
	later.verify(t, verify.Options{Pass: table.Pass{DryRun: true}}, "")
}

// TestChangedKey: programs of two releases, of which one derives another key, run side by side. A worker of the other release
// leaves an effect to its own. Verify of the new release moves the derived entities.
func TestChangedKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{})
	later := s.open(t, setting{derive: byDepartment})
	e := s.insert(t, "Sales", 1, 10)
	s.insert(t, "Sales", 2, 10)
	later.drain(t)
	testkit.Expect(t, "members before a worker of its release", s.members(), "")
	s.Advance(time.Minute)
	s.drain(t)
	testkit.Expect(t, "members", s.members(), "1:Sales:10 2:Sales:10")
	testkit.NoError(t, later.staff.Merge(ctx, e, salary.Set(20)))
	s.drain(t)
	s.Advance(time.Minute)
	later.drain(t)
	testkit.Expect(t, "members", s.members(), "2:Sales:10 1001:Sales:20 gone:1")
	later.verify(t, verify.Options{}, "1 state mismatch")
	testkit.Expect(t, "members", s.members(), "1001:Sales:20 1002:Sales:10 gone:1 gone:2")
	later.drain(t)
	later.verify(t, verify.Options{Pass: table.Pass{DryRun: true}}, "")
}

// TestRanged: Verify refuses a client that sees a part of a table only, and writes nothing.
func TestRanged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{})
	s.insert(t, "Sales", 1, 10)
	s.insert(t, "IT", 2, 10)
	s.drain(t)
	before := fmt.Sprint(s.Rows("company"))
	// granted returns a handle by a signature.
	granted := func(name string, g account.Grant) engine.Service {
		g.Table, g.Expiry, g.AllowHTTP = name, s.Now().Add(time.Hour), true
		g.Read, g.Add, g.Update, g.Delete = true, true, true, true
		u, err := s.account.TableSAS(g)
		testkit.NoError(t, err)
		a, err := account.FromSAS(account.Endpoints{Table: u}, &account.Options{Client: azcore.ClientOptions{Transport: s.Service}})
		testkit.NoError(t, err)
		return a.Tables()
	}
	for _, c := range []struct {
		name           string
		staff, company account.Grant
		refused        bool
	}{
		{"a part of the entities", account.Grant{Partitions: dept.PartitionKey("Sales").Point()}, account.Grant{}, true},
		{"a part of the view", account.Grant{}, account.Grant{Partitions: companyPartition.Point(), Rows: memberID.All()}, true},
		{"everything", account.Grant{}, account.Grant{}, false},
	} {
		base, err := bare.NewTable(granted("staff", c.staff), "staff", staffSchema, &s.options)
		testkit.NoError(t, err)
		company, err := bare.NewTable(granted("company", c.company), "company", companySchema, &s.options)
		testkit.NoError(t, err)
		staff, err := baretest.WithOutbox(base, s.outbox)
		testkit.NoError(t, err)
		staff, err = baretest.Attach(staff, materialized.New("company", company, memberOf))
		testkit.NoError(t, err)
		r, err := verify.Repair(ctx, staff, nil)
		if errors.Is(err, table.ErrRanged) != c.refused || !c.refused && err != nil || len(derived.Kinds(r)) > 0 {
			t.Errorf("%s: got %+v, error %v; want ErrRanged %v, and no fault", c.name, r, err, c.refused)
		}
		testkit.Expect(t, "rows", fmt.Sprint(s.Rows("company")), before)
	}
}

// blind makes a handle that writes by key without looking for maintainer state, as another program does.
func blind(m *engine.Mode) { m.BlindWrites = true }

// fewAttempts returns a worker that makes messages poison after 2 attempts.
func (p *program) fewAttempts(t testing.TB) bareworker.Worker {
	t.Helper()
	w, err := bareworker.New(p.account.Queues().NewQueueClient("effects"), p.account.Queues().NewQueueClient("poison"), baretest.Handlers(p.staff),
		&eventual.WorkerOptions{Common: p.options.Common, Attempts: 2})
	testkit.NoError(t, err)
	return w
}

// TestVerifyPace: a run keeps to VerifyOptions.Rate.
func TestVerifyPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, setting{})
		for i := range 20 {
			_, err := s.base.Insert(t.Context(), &employee{Department: "D", ID: i + 1, Salary: int64(i)})
			testkit.NoError(t, err)
		}
		began := time.Now()
		r := s.verify(t, verify.Options{Pass: table.Pass{Rate: 10}}, "19 missing")
		if took := time.Since(began); r.Faults > 0 || took < 9*time.Second || took > 30*time.Second {
			t.Errorf("got %v for %+v; want 10 to 30 s, and all repaired", took, r)
		}
		var ve *table.ValueError
		if _, err := verify.Check(t.Context(), s.staff, &verify.Options{Pass: table.Pass{Rate: -1}}); !errors.As(err, &ve) {
			t.Errorf("got %v; want a *ValueError", err)
		}
	})
}

// TestVerifyEverything: one run verifies the index in the partition, the index elsewhere and the view of a handle, and reports an entity
// that cannot be read once. With a definition, it verifies that one.
func TestVerifyEverything(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{})
	byID := index.New("ids", keys.Digits[int](6), func(e *employee) (int, bool) { return e.ID, true }, nil)
	bySalary := index.NewGlobal("salaries", keys.Int[int64](6), func(e *employee) (int64, bool) { return e.Salary, true },
		nil)
	staff, err := baretest.Attach(s.staff, byID, bySalary)
	testkit.NoError(t, err)
	testkit.NoError(t, baretest.Ensure(ctx, staff))
	for i := range 3 {
		_, err := s.base.Insert(ctx, &employee{Department: "Sales", ID: i + 1, Salary: 10})
		testkit.NoError(t, err)
	}
	run := func(o verify.Options, want string, definitions ...verify.Definition) table.Progress {
		t.Helper()
		found := map[string]int{}
		o.Fault = func(f verify.Fault) { found[fmt.Sprint(f.Definition, " ", f.Kind)]++ }
		r, err := verify.Repair(ctx, staff, &o, definitions...)
		testkit.NoError(t, err)
		testkit.Expect(t, "faults", fmt.Sprint(found), want)
		return r
	}
	r := run(verify.Options{Pass: table.Pass{DryRun: true}}, "map[company missing:3 ids missing:3 salaries missing:3]")
	testkit.Expect(t, "entities and rows", []int{r.Rows, r.Counts["derived rows"]}, []int{9, 0})
	run(verify.Options{Pass: table.Pass{DryRun: true}}, "map[company missing:3]", s.view, s.view)
	run(verify.Options{Pass: table.Pass{DryRun: true}}, "map[company missing:3 salaries missing:3]", s.view, bySalary)
	r = run(verify.Options{}, "map[ids missing:3]") // the repair of the entities notifies the workers
	testkit.Expect(t, "repaired and pending", []int{r.Changed, r.Counts["pending"]}, []int{3, 6})
	w, err := bareworker.New(s.account.Queues().NewQueueClient("effects"), s.account.Queues().NewQueueClient("poison"), baretest.Handlers(staff),
		&eventual.WorkerOptions{Common: s.options.Common})
	testkit.NoError(t, err)
	testkit.NoError(t, w.Drain(ctx))
	r = run(verify.Options{Pass: table.Pass{DryRun: true}}, "map[]")
	testkit.Expect(t, "entities and rows", []int{r.Rows, r.Counts["derived rows"]}, []int{9, 9})
	testkit.Expect(t, "members", s.members(), "1:Sales:10 2:Sales:10 3:Sales:10")

	k := employeeKey(2)
	body := fmt.Sprintf(`{"PartitionKey":%q,"RowKey":%q,"Salary":"none"}`, k.PartitionKey(), k.RowKey())
	_, err = s.account.Tables().NewClient("staff").UpsertEntity(ctx, []byte(body), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge})
	testkit.NoError(t, err)
	before := fmt.Sprint(s.Rows("staff"), s.Rows("company"))
	for _, definitions := range [][]verify.Definition{nil, {s.view}, {bySalary}} {
		run(verify.Options{}, "map[ unreadable:1]", definitions...)
	}
	testkit.Expect(t, "rows", fmt.Sprint(s.Rows("staff"), s.Rows("company")), before)
}

// TestVerifyRange: a run over a range of partitions reads the derived entities of its entities alone, and finds what is wrong with them; a run
// of the records alone fills a view.
func TestVerifyRange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{})
	departments := keys.Partition(dept, func(e *employee) *string { return &e.Department })
	for i := range 30 {
		_, err := s.base.Insert(ctx, &employee{Department: fmt.Sprint("D", i%3), ID: i + 1, Salary: int64(i + 1)})
		testkit.NoError(t, err)
	}
	from := departments.AtLeast("D1")
	s.verify(t, verify.Options{Pass: table.Pass{DryRun: true, Partitions: from}}, "20 missing")
	s.verify(t, verify.Options{Pass: table.Pass{Partitions: from}, RecordsOnly: true}, "20 missing")
	s.Count()
	r := s.verify(t, verify.Options{Pass: table.Pass{DryRun: true, Partitions: from}}, "")
	testkit.Expect(t, "requests of a sound range", s.Count().String(), "40 get, 5 query")
	testkit.Expect(t, "entities", r.Rows, 20)
	s.verify(t, verify.Options{Pass: table.Pass{DryRun: true, Partitions: from}, RecordsOnly: true}, "")
	testkit.Expect(t, "requests of its records: entities that a view was filled with record nothing", s.Count().String(), "40 get, 5 query")

	derived := func(id int) keys.Key { return s.company.Key(member{ID: id}) }
	testkit.NoError(t, s.company.DeleteAny(ctx, derived(2))) // of D1
	testkit.NoError(t, s.company.MergeAny(ctx, derived(3), table.FieldOf(func(m *member) *int64 { return &m.Salary }).Set(99)))
	s.verify(t, verify.Options{Pass: table.Pass{DryRun: true, Partitions: departments.Between("D2", "D2")}}, "1 stale")
	s.verify(t, verify.Options{Pass: table.Pass{Partitions: dept.PartitionKey("D1").Point()}}, "1 missing")
	s.verify(t, verify.Options{Pass: table.Pass{Partitions: from}}, "1 stale")
	s.verify(t, verify.Options{Pass: table.Pass{DryRun: true}}, "10 missing")
	s.repair(t, "10 missing")
}
