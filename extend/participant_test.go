package extend_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var errBadgeTaken = errors.New("another employee has this badge")

// negative is a maintainer with a wrong MaxRows.
type negative struct{ farewells }

func (negative) MaxRows() int { return -1 }

// participants is a maintainer that calls a function.
type participants struct {
	do func(ctx context.Context, p *extend.Plan, c *extend.Change[employee]) error
}

func (participants) Name() string { return "participants" }
func (participants) MaxRows() int { return 2 }
func (m participants) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	return m.do(ctx, p, c)
}

// TestParticipantPlans: each partition has one plan in a write, from whichever plan it is asked for, and an invalid partition is an error.
func TestParticipantPlans(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := openStaff()
	var ve *table.ValueError
	if _, err := bare.With(staff, negative{}); !errors.As(err, &ve) {
		t.Errorf("MaxRows -1: got error %v; want a *table.ValueError", err)
	}
	calls := 0
	m := participants{func(ctx context.Context, p *extend.Plan, c *extend.Change[employee]) error {
		calls++
		own, err := door.Participant(p, door.Table(staff), c.Key.PartitionKey())
		if own != p || err != nil {
			t.Errorf("the plan of the own partition: got another plan or error %v; want the plan", err)
		}
		there, err := door.Participant(p, door.Table(staff), "company")
		testkit.NoError(t, err)
		for name, from := range map[string]*extend.Plan{"the plan": p, "the participant plan": there} {
			other, err := door.Participant(from, door.Table(staff), "other")
			testkit.NoError(t, err)
			if back, err := door.Participant(other, door.Table(staff), c.Key.PartitionKey()); back != p || err != nil {
				t.Errorf("back from %s: got another plan or error %v; want the first plan", name, err)
			}
			var ke *keys.KeyError
			if err := from.Remove(keys.RawRow("a/b")); !errors.As(err, &ke) {
				t.Errorf("%s, removing an invalid RowKey: got error %v; want a *keys.KeyError", name, err)
			}
			if _, err := from.Load(ctx, keys.RawRow("a/b")); !errors.As(err, &ke) {
				t.Errorf("%s, loading an invalid RowKey: got error %v; want a *keys.KeyError", name, err)
			}
		}
		return there.Insert(&table.Row{Key: keys.Raw("company", "badge")}, errBadgeTaken)
	}}
	maintained, err := baretest.WithOutbox(staff, &memoryOutbox{}, m)
	testkit.NoError(t, err)
	_, err = maintained.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	testkit.NoError(t, err)
	found := 0
	for _, r := range s.Rows("staff") {
		if r.PartitionKey == "company" && r.RowKey == "badge" {
			found++
		}
	}
	testkit.Expect(t, "rows of the other partition", found, 1)
	if calls == 0 {
		t.Error("got no call of the maintainer, want some")
	}
	_, err = maintained.Insert(ctx, &employee{"Sales", 2, "Cao", 30})
	if !errors.Is(err, errBadgeTaken) {
		t.Errorf("a second insert: got error %v; want errBadgeTaken", err)
	}

	// An error of a participant plan ends the write with its reason, although the maintainer returns it through.
	foreign, _ := openStaff()
	other := participants{func(ctx context.Context, p *extend.Plan, c *extend.Change[employee]) error {
		_, err := door.Participant(p, door.Table(foreign), "company")
		return err
	}}
	maintained, err = baretest.WithOutbox(staff, &memoryOutbox{}, other)
	testkit.NoError(t, err)
	var de *table.DerivedError
	if _, err := maintained.Insert(ctx, &employee{"Sales", 3, "Li", 30}); !errors.As(err, &ve) || !errors.As(err, &de) || de.Maintainer != "participants" {
		t.Errorf("a table of another service: got error %v; want a *table.ValueError and a *table.DerivedError of participants", err)
	}
}
