package extend_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// negative is a maintainer with a wrong MaxRows.
type negative struct{ badges }

func (negative) MaxRows() int { return -1 }

// remotes is a maintainer that calls a function.
type remotes struct {
	do func(ctx context.Context, p *extend.Plan, c *extend.Change[employee]) error
}

func (remotes) Name() string { return "remotes" }
func (remotes) MaxRows() int { return 2 }
func (m remotes) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	return m.do(ctx, p, c)
}

// TestRemotePlans: each partition has one plan in a write, from whichever plan it is asked for, and an invalid partition is an error.
func TestRemotePlans(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := openStaff()
	var ve *table.ValueError
	if _, err := extend.With(staff, negative{}); !errors.As(err, &ve) {
		t.Errorf("MaxRows -1: got error %v; want a *table.ValueError", err)
	}
	calls := 0
	m := remotes{func(ctx context.Context, p *extend.Plan, c *extend.Change[employee]) error {
		calls++
		own, err := p.Remote(staff, c.Key.Partition())
		if own != p || err != nil {
			t.Errorf("the plan of the own partition: got another plan or error %v; want the plan", err)
		}
		there, err := p.Remote(staff, keys.RawPartition("company"))
		testkit.NoError(t, err)
		for name, from := range map[string]*extend.Plan{"the plan": p, "the remote plan": there} {
			other, err := from.Remote(staff, keys.RawPartition("other"))
			testkit.NoError(t, err)
			if back, err := other.Remote(staff, c.Key.Partition()); back != p || err != nil {
				t.Errorf("back from %s: got another plan or error %v; want the first plan", name, err)
			}
			var ke *keys.KeyError
			if _, err := from.Remote(staff, keys.RawPartition("a/b")); !errors.As(err, &ke) {
				t.Errorf("%s, an invalid partition: got error %v; want a *keys.KeyError", name, err)
			}
			if err := from.Remove(keys.RawRow("a/b")); !errors.As(err, &ke) {
				t.Errorf("%s, removing an invalid RowKey: got error %v; want a *keys.KeyError", name, err)
			}
			if _, err := from.Load(ctx, keys.RawRow("a/b")); !errors.As(err, &ke) {
				t.Errorf("%s, loading an invalid RowKey: got error %v; want a *keys.KeyError", name, err)
			}
		}
		return there.Insert(&table.Row{Key: keys.Raw("company", "badge")}, errBadgeTaken)
	}}
	maintained, err := bare.WithOutbox(staff, &exampleOutbox{}, m)
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

	// An error of a remote plan ends the write with its reason, although the maintainer returns it through.
	foreign, _ := openStaff()
	other := remotes{func(ctx context.Context, p *extend.Plan, c *extend.Change[employee]) error {
		_, err := p.Remote(foreign, keys.RawPartition("company"))
		return err
	}}
	maintained, err = bare.WithOutbox(staff, &exampleOutbox{}, other)
	testkit.NoError(t, err)
	var de *table.DerivedError
	if _, err := maintained.Insert(ctx, &employee{"Sales", 3, "Li", 30}); !errors.As(err, &ve) || !errors.As(err, &de) || de.Maintainer != "remotes" {
		t.Errorf("a table of another service: got error %v; want a *table.ValueError and a *table.DerivedError of remotes", err)
	}
}
