package materialized_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestDefinitions: Attach refuses wrong definitions, and names the argument.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	s := newScene(t, setting{})
	withOutbox, err := baretest.WithOutbox(s.base, s.outbox)
	testkit.NoError(t, err)
	wide := companySchema
	wide.Parts = 2
	inParts, err := bare.NewTable(s.account.Tables(), "parts", wide, &s.options)
	testkit.NoError(t, err)
	var none *materialized.View[employee, member]
	for _, c := range []struct {
		from *table.Table[employee]
		view extend.Definition[employee]
		want string
	}{
		{withOutbox, materialized.New("", s.company, memberOf), "name"},
		{withOutbox, materialized.New("a/b", s.company, memberOf), "name"},
		{withOutbox, materialized.New(strings.Repeat("a", 64), s.company, memberOf), "name"},
		{withOutbox, materialized.New("v", (*table.Table[member])(nil), memberOf), "to"},
		{withOutbox, materialized.New[employee]("v", s.company, (func(*employee, keys.Key) (member, bool))(nil)), "derive"},
		{withOutbox, materialized.New("v", inParts, memberOf), "to"},
		{s.base, materialized.New("v", s.company, memberOf), "table"},
		{s.staff, materialized.New("company", s.company, memberOf), "name"},
		{withOutbox, none, ""},
		{withOutbox, nil, ""},
		{nil, materialized.New("v", s.company, memberOf), ""},
	} {
		_, err := baretest.Attach(c.from, c.view)
		var de *table.DefinitionError
		if err == nil || errors.As(err, &de) != (c.want != "") || de != nil && de.Field != c.want {
			t.Errorf("got error %v; want a DefinitionError about %q", err, c.want)
		}
	}
	two, err := baretest.Attach(s.staff, materialized.New("second", s.company, memberOf))
	testkit.NoError(t, err)
	if _, err := baretest.Attach(withOutbox, materialized.New("azAZ09-_", s.company, memberOf)); err != nil {
		t.Errorf("view azAZ09-_: got error %v; want none", err)
	}
	_, err = verify.Check(context.Background(), s.staff, nil, materialized.New("other", s.company, memberOf))
	var de *table.DefinitionError
	if !errors.As(err, &de) || de.Definition != "other" {
		t.Errorf("verify.Check of a view that is not attached: got error %v; want a *table.DefinitionError", err)
	}
	var ve *table.ValueError
	if _, err := verify.Check(context.Background(), s.base, nil); !errors.As(err, &ve) || ve.Field != "definitions" {
		t.Errorf("verify.Check without views: got error %v; want a ValueError about definitions", err)
	}
	if _, err := verify.Check(context.Background(), nil, nil); err == nil {
		t.Error("verify.Check of nil: got no error; want one")
	}
	_, err = two.Insert(context.Background(), &employee{Department: "Sales", ID: 1, Salary: 1}) // two views of one key: the second is foreign
	testkit.NoError(t, err)
}

// TestFunctions: an entity for which the function fails is not written, and nothing is sent.
func TestFunctions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	calls := 0
	s := newScene(t, setting{derive: func(e *employee, k keys.Key) (member, bool) {
		switch e.Last {
		case "panics":
			panic("no")
		case "impure":
			calls++
			return member{ID: 1, Salary: int64(calls)}, true
		case "invalid":
			return member{ID: -1}, true
		case "large":
			return member{ID: 1, Department: strings.Repeat("x", 70_000)}, true
		}
		return memberOf(e, k)
	}})
	for last, is := range map[string]func(error) bool{
		"panics": func(err error) bool {
			var de *table.DefinitionError
			return errors.As(err, &de) && de.Field == "derive"
		},
		"impure": func(err error) bool {
			var de *table.DefinitionError
			return errors.As(err, &de) && de.Field == "derive"
		},
		"invalid": func(err error) bool { var ke *keys.KeyError; return errors.As(err, &ke) },
		"large":   func(err error) bool { var le *table.LimitError; return errors.As(err, &le) },
	} {
		_, err := s.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Last: last, Salary: 1})
		var derived *table.DerivedError
		if !is(err) || !errors.As(err, &derived) || derived.Maintainer != "view.company" {
			t.Errorf("%s: got error %v; want the typed error in a DerivedError", last, err)
		}
	}
	testkit.Expect(t, "requests", s.Count().Total(), 0)

	// Verify reports such an entity, and leaves its derived entity as it is.
	e := s.insert(t, "Sales", 1, 10)
	s.drain(t)
	testkit.NoError(t, door.InMode(s.base, blind).MergeAny(ctx, e.Key, table.FieldOf(func(e *employee) *string { return &e.Last }).Set("panics")))
	s.verify(t, verify.Options{}, "1 unreadable")
	testkit.Expect(t, "members", s.members(), "1:Sales:10")
}

// TestHostileEffects: an effect is not trusted. It changes no other rows than those that follow from an entity.
func TestHostileEffects(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{summary: true})
	s.insert(t, "Sales", 1, 10)
	s.insert(t, "Sales", 2, 20)
	s.drain(t)
	h := baretest.Handlers(s.staff)[0]
	handle := func(row, payload string) error {
		return h.Handle(ctx, host.Job{Table: "staff", Key: keys.Raw("Sales", row), Kind: h.Kind, Version: 1, Payload: []byte(payload)})
	}
	names := func(keys ...string) string {
		return `{"rows":{"view.company":[["` + strings.Join(keys, `"],["`) + `"]]}}`
	}
	before := len(s.Rows("company"))
	for _, payload := range []string{"", "{}", "null", "[]", `{"rows":{}}`, `{"rows":{"view.company":[["a"]]}}`, names(`company","~v|member_000001`), names(`company","sum_Sales`), names(`company","~i|x`),
		names(`a/b","member_000001`), names(`company","other_000001`), names(`company","member_` + strings.Repeat("1", 600))} {
		if err := handle("empid_000001", payload); err == nil || !strings.HasPrefix(err.Error(), "poison") {
			t.Errorf("%s: got error %v; want poison", payload, err)
		}
	}
	testkit.Expect(t, "rows", len(s.Rows("company")), before)
	for _, row := range []string{"~i|x", "", "a/b"} {
		if err := handle(row, names(`company","member_000001`)); err == nil || !strings.HasPrefix(err.Error(), "poison") {
			t.Errorf("entity %q: got error %v; want poison", row, err)
		}
	}
	// An effect of employee 2 names the derived entities of employee 1 and of nobody, and another partition.
	testkit.NoError(t, handle("empid_000002", names(`company","member_000001`, `company","member_000009`, `elsewhere","member_000002`)))
	testkit.NoError(t, handle("empid_000777", names(`company","member_000001`)))
	s.expectConsistent(t)
	testkit.Expect(t, "members", s.members(), "1:Sales:10 2:Sales:20 gone:9 gone:2")
	var newer *table.VersionError
	if err := handle("empid_000001", `{"rows":{"view.later":[["company","member_000001"]]}}`); !errors.As(err, &newer) || newer.Got <= newer.Want {
		t.Errorf("effect of a later release: got error %v; want a VersionError, so that the message waits", err)
	}
}

// TestForeignNote: the note of another view, and one without a maintainer, are not overwritten.
func TestForeignNote(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{summary: true})
	s.insert(t, "Sales", 1, 10)
	s.drain(t)
	without := s.open(t, setting{})
	testkit.NoError(t, without.staff.MergeAny(ctx, employeeKey(1), salary.Set(20)))
	w := without.fewAttempts(t)
	testkit.Failed(t, w.Drain(ctx))
	s.expectConsistentAfter(t, w)
	testkit.Expect(t, "members", s.members(), "1:Sales:10")
	testkit.Expect(t, "poison", len(s.Messages("poison")), 1)
	r, err := verify.Repair(ctx, s.staff, nil)
	testkit.NoError(t, err)
	testkit.Expect(t, "repaired", r.Changed, 1)
	s.expectConsistent(t)

	other, err := baretest.Attach(s.staff, materialized.New("other", s.company, memberOf))
	testkit.NoError(t, err)
	testkit.NoError(t, other.MergeAny(ctx, employeeKey(1), salary.Set(30)))
	h := baretest.Handlers(other)[0]
	w, err = bareworker.New(s.account.Queues().NewQueueClient("effects"), s.account.Queues().NewQueueClient("poison"), []host.Handler{h}, &eventual.WorkerOptions{Common: s.options.Common})
	testkit.NoError(t, err)
	testkit.Failed(t, w.Drain(ctx))
	testkit.Expect(t, "poison", len(s.Messages("poison")), 2)
}

// expectConsistentAfter lets retries pass, and checks what is true at every instant.
func (s *scene) expectConsistentAfter(t testing.TB, w bareworker.Worker) {
	t.Helper()
	for range 3 {
		s.Advance(3600e9)
		testkit.NoError(t, testkit.WithoutFailures(w.Drain(context.Background())))
	}
	testkit.NoError(t, always(s.Service))
}

// TestTables: an outage, or a table that does not exist, is no fault of the message.
func TestTables(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{})
	s.insert(t, "Sales", 1, 10)
	_, err := s.account.Tables().DeleteTable(ctx, "company", nil)
	testkit.NoError(t, err)
	w := s.fewAttempts(t)
	for range 5 {
		testkit.Failed(t, w.Drain(ctx))
		s.Advance(3600e9)
	}
	testkit.Expect(t, "poison", len(s.Messages("poison")), 0)
	testkit.NoError(t, tabledoor.Ensure(ctx, s.company))
	testkit.NoError(t, w.Drain(ctx))
	s.expectConsistent(t)
	if _, err := s.account.Tables().DeleteTable(ctx, "company", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := verify.Check(ctx, s.staff, nil); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("Verify without the view's table: got error %v; want ErrNotCreated", err)
	}

	// The table is deleted behind the list of its entities, and is there again after the first note was read.
	s.Advance(time.Hour)
	testkit.NoError(t, tabledoor.Ensure(ctx, s.company))
	p, hooked := s.hookedProgram(t, setting{})
	deleted := false
	hooked.BeforeRequest = func(r *http.Request) {
		switch {
		case deleted:
			s.Advance(time.Hour)
			testkit.NoError(t, tabledoor.Ensure(ctx, s.company))
		case strings.Contains(r.URL.Path, "RowKey="):
			_, err := s.account.Tables().DeleteTable(ctx, "company", nil)
			testkit.NoError(t, err)
			deleted = true
		}
	}
	if r, err := verify.Check(ctx, p.staff, nil); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("Verify of a view whose table is deleted meanwhile: got report %+v, error %v; want ErrNotCreated", r, err)
	}
}

// TestIndexOfView: the table of a view has an index, whose unique value is refused like every wrong derived entity.
func TestIndexOfView(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{})
	byDept := index.New("dept", keys.Text(), func(m *member) (string, bool) { return m.Department, true }, nil)
	company, err := baretest.Attach(s.company, byDept)
	testkit.NoError(t, err)
	staff, err := baretest.WithOutbox(s.base, s.outbox)
	testkit.NoError(t, err)
	staff, err = baretest.Attach(staff, materialized.New("company", company, memberOf))
	testkit.NoError(t, err)
	w, err := bareworker.New(s.account.Queues().NewQueueClient("effects"), s.account.Queues().NewQueueClient("poison"), baretest.Handlers(staff), &eventual.WorkerOptions{Common: s.options.Common})
	testkit.NoError(t, err)
	e, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Salary: 1})
	testkit.NoError(t, err)
	_, err = staff.Insert(ctx, &employee{Department: "Sales", ID: 2, Salary: 2})
	testkit.NoError(t, err)
	testkit.NoError(t, w.Drain(ctx))
	found := func() string {
		all, err := table.Collect(byDept.List(ctx, company, companyPartition, "Sales"))
		testkit.NoError(t, err)
		var ids []int
		for _, m := range all {
			ids = append(ids, m.Value.ID)
		}
		return fmt.Sprint(ids)
	}
	testkit.Expect(t, "look-up", found(), "[1 2]")
	testkit.NoError(t, staff.Delete(ctx, e))
	testkit.NoError(t, w.Drain(ctx))
	testkit.Expect(t, "look-up", found(), "[2]")
}
