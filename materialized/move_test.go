package materialized_test

import (
	"context"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/verify"
)

// TestMove: the view follows an entity that moves to another partition, with the same derived entity.
func TestMove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, is := range []setting{{}, {summary: true}} {
		s := newScene(t, is)
		s.insert(t, "Sales", 2, 20)
		e := s.insert(t, "Sales", 1, 10)
		s.drain(t)
		e.Value.Department = "IT"
		testkit.NoError(t, s.staff.Move(ctx, e))
		r := s.verify(t, verify.Options{}, "")
		testkit.Expect(t, "pending", r.Counts["pending"], 2) // the employee under the new key, and the derived entity of the old key
		s.drain(t)
		testkit.Expect(t, "members", s.members(), "1:IT:10 2:Sales:20")
		s.expectConsistent(t)
	}
}
