package materialized_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// hookedProgram returns another program, and the service that it uses.
func (s *scene) hookedProgram(t testing.TB, is setting) (*program, *testkit.Hooked) {
	t.Helper()
	hooked := &testkit.Hooked{Service: s.Service, Serial: true}
	var o table.Options
	o.Retry.Wait, o.Retry.ConflictWait = -1, -1
	options.SetNow(&o.Common, s.Now)
	p, err := open(s.ConnectionString(), hooked, o, is)
	testkit.NoError(t, err)
	return p, hooked
}

// TestVerifyBesideWorker: a worker executes a change between Verify's read of the view and its read of the entities. The change is no
// fault, and is not pending.
func TestVerifyBesideWorker(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{})
	s.insert(t, "Sales", 1, 10)
	s.insert(t, "Sales", 2, 10)
	s.drain(t)
	p, hooked := s.hookedProgram(t, setting{})
	changed := false
	hooked.BeforeRequest = func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/staff()") && !changed {
			changed = true
			testkit.NoError(t, s.staff.MergeAny(ctx, employeeKey(1), salary.Set(20)))
			testkit.NoError(t, s.staff.DeleteAny(ctx, employeeKey(2)))
			s.insert(t, "Sales", 3, 30)
			s.drain(t)
		}
	}
	r := p.verify(t, verify.Options{}, "")
	testkit.Expect(t, "the worker came between", changed, true)
	testkit.Expect(t, "pending, unconfirmed and repaired", []int{r.Counts["pending"], r.Counts["unconfirmed"], r.Changed}, []int{0, 0, 0})
	testkit.Expect(t, "members", s.members(), "1:Sales:20 3:Sales:30 gone:2")
}

// TestVerifyUnconfirmed: a suspected fault whose note another program changes at each look is neither a fault nor sound.
func TestVerifyUnconfirmed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{})
	s.insert(t, "Sales", 1, 10)
	s.drain(t)
	derived := s.company.Key(member{ID: 1})
	testkit.NoError(t, s.company.MergeAny(ctx, derived, table.FieldOf(func(m *member) *int64 { return &m.Salary }).Set(99)))
	p, hooked := s.hookedProgram(t, setting{})
	changes := 0
	note := "~v|" + derived.RowKey()
	hooked.BeforeRequest = func(r *http.Request) {
		if path, err := url.PathUnescape(r.URL.EscapedPath()); err != nil || r.Method != http.MethodGet || !strings.Contains(path, note) {
			return
		}
		changes++
		body := fmt.Sprintf(`{"PartitionKey":%q,"RowKey":%q,"Changes":%d}`, derived.PartitionKey(), note, changes)
		_, err := s.account.Tables().NewClient("company").UpsertEntity(ctx, []byte(body), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge})
		testkit.NoError(t, err)
	}
	r := p.verify(t, verify.Options{}, "")
	testkit.Expect(t, "unconfirmed faults after 5 looks, 2 reads each", []int{r.Counts["unconfirmed"], changes}, []int{1, 10})
	testkit.Expect(t, "sound", r.Faults == 0, false)
	hooked.BeforeRequest = nil
	p.verify(t, verify.Options{}, "1 stale")
	testkit.Expect(t, "members", s.members(), "1:Sales:10")
}

// TestSweepYoungTombstone: the clean-up of an old commit record leaves a tombstone that is younger, and an entity that is there.
func TestSweepYoungTombstone(t *testing.T) {
	t.Parallel()
	s := newScene(t, setting{summary: true})
	e := s.insert(t, "Sales", 1, 10)
	s.insert(t, "Sales", 2, 20)
	s.drain(t)
	s.Advance(26 * time.Hour)
	testkit.NoError(t, s.staff.Delete(context.Background(), e))
	s.drain(t)
	testkit.Expect(t, "members", s.members(), "2:Sales:20 gone:1")
	s.Advance(3 * time.Hour) // the clean-up of the inserts is due
	s.clean(t)
	testkit.Expect(t, "members after the clean-up", s.members(), "2:Sales:20 gone:1")
	s.Advance(26 * time.Hour)
	s.clean(t)
	testkit.Expect(t, "members after the clean-up of the delete", s.members(), "2:Sales:20")
	s.expectConsistent(t)
}

// TestImpure: a function whose second call returns another key, returns nothing or panics is not pure, also if the content stays the
// same.
func TestImpure(t *testing.T) {
	t.Parallel()
	for what, derive := range map[string]func(call int) (member, bool){
		"another key":      func(call int) (member, bool) { return member{ID: call}, true },
		"once":             func(call int) (member, bool) { return member{ID: 1}, call%2 == 1 },
		"a panic":          func(call int) (member, bool) { return member{ID: 1 / (call % 2)}, true },
		"none and a panic": func(call int) (member, bool) { return member{ID: 1 / (call % 2)}, false },
	} {
		calls := 0
		s := newScene(t, setting{derive: func(*employee, keys.Key) (member, bool) {
			calls++
			return derive(calls)
		}})
		_, err := s.staff.Insert(context.Background(), &employee{Department: "Sales", ID: 1, Salary: 1})
		var de *table.DefinitionError
		if !errors.As(err, &de) || de.Field != "derive" {
			t.Errorf("%s: got error %v; want a *DefinitionError of derive", what, err)
		}
		testkit.Expect(t, "requests", s.Count().Total(), 0)
	}
}
