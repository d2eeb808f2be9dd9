package materialized_test

import (
	"context"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
)

// TestView: a view follows its entities, and takes the stated requests.
func TestView(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{})
	e := s.insert(t, "Sales", 1, 100)
	testkit.Expect(t, "requests of an insert", s.Count().String(), "1 message-put, 1 message-update, 1 transaction")
	s.drain(t)
	testkit.Expect(t, "view", s.members(), "1:Sales:100")
	s.expectConsistent(t)
	s.Count()

	// The worker reads the commit record, the note and the entity, writes the note and the derived entity, and closes the record.
	// Of the requests for messages, one gets the message, and the other finds the queue empty.
	e.Value.Salary = 200
	testkit.NoError(t, s.staff.Replace(ctx, e))
	testkit.Expect(t, "requests of a change", s.Count().String(), "1 message-put, 1 message-update, 1 transaction")
	s.drain(t)
	testkit.Expect(t, "requests of the worker", s.Count().String(), "3 get, 1 merge, 1 message-delete, 2 message-get, 1 transaction")
	testkit.Expect(t, "view", s.members(), "1:Sales:200")

	testkit.NoError(t, s.staff.MergeAny(ctx, e.Key, salary.Set(300)))
	testkit.Expect(t, "requests of a change by key", s.Count().String(), "1 get, 1 message-put, 1 message-update, 1 transaction")
	s.drain(t)
	testkit.Expect(t, "view", s.members(), "1:Sales:300")

	e, err := s.staff.Get(ctx, e.Key)
	testkit.NoError(t, err)
	s.Count()
	e.Value.Notes = "x"
	testkit.NoError(t, s.staff.Replace(ctx, e))
	testkit.Expect(t, "requests of a change that is not in the view", s.Count().String(), "1 replace")

	testkit.NoError(t, s.staff.Merge(ctx, e, salary.Set(0)))
	s.drain(t)
	testkit.Expect(t, "view", s.members(), "gone:1")
	testkit.NoError(t, s.staff.Merge(ctx, e, salary.Set(5)))
	s.drain(t)
	testkit.Expect(t, "view", s.members(), "1:Sales:5")
	testkit.NoError(t, s.staff.Delete(ctx, e))
	s.drain(t)
	testkit.Expect(t, "view", s.members(), "gone:1")
	e = s.insert(t, "Sales", 1, 7)
	s.drain(t)
	testkit.Expect(t, "view", s.members(), "1:Sales:7")
	testkit.NoError(t, s.staff.Delete(ctx, e))
	s.drain(t)
	s.expectConsistent(t)

	// A day later, the clean-up deletes the tombstone.
	s.Advance(25*time.Hour + time.Minute)
	s.clean(t)
	s.Advance(3 * time.Hour)
	s.clean(t)
	testkit.Expect(t, "rows", len(s.Rows("company")), 0)
}

// TestSummary: counts and sums of the whole company are exact for the derived entities at every instant.
func TestSummary(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t, setting{summary: true})
	s.insert(t, "Sales", 1, 100)
	s.insert(t, "Sales", 2, 50)
	e := s.insert(t, "IT", 3, 10)
	s.drain(t)
	s.expectConsistent(t)
	g, err := s.heads.Get(ctx, s.company, companyPartition, "Sales")
	testkit.NoError(t, err)
	testkit.Expect(t, "employees of Sales", g.Count, int64(2))
	testkit.NoError(t, s.staff.Delete(ctx, e))
	s.drain(t)
	s.expectConsistent(t)
	s.Count()
	testkit.NoError(t, s.staff.MergeAny(ctx, s.staff.Key(employee{Department: "Sales", ID: 1}), salary.Set(70)))
	s.Count()
	s.drain(t)
	testkit.Expect(t, "requests of the worker", s.Count().String(), "5 get, 1 merge, 1 message-delete, 2 message-get, 1 transaction")
	s.expectConsistent(t)
}
