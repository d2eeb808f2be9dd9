package index_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestVerifyRanged: rows outside of a signature's range of keys must not be taken for deleted:
// verify.Check fails with ErrRanged, and writes nothing.
func TestVerifyRanged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, copyDefinitions()...)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a@x", 30, nil}, worker{"S", 2, "Cao", "b@x", 40, []string{"t"}}, worker{"T", 3, "Li", "c@x", 50, nil})
	for _, c := range []struct {
		name    string
		grant   account.Grant
		verify  verify.Options
		refused bool
	}{
		{"rows, all partitions", account.Grant{Rows: wid.Rows().All(), Partitions: sales.Point()}, verify.Options{Pass: table.Pass{DryRun: true}}, true},
		{"rows, one partition", account.Grant{Rows: wid.Rows().All(), Partitions: sales.Point()}, verify.Options{Pass: table.Pass{DryRun: true, Partitions: sales.Point()}}, true},
		{"partitions", account.Grant{Partitions: sales.Point()}, verify.Options{Pass: table.Pass{DryRun: true}}, true},
		{"partitions, of which there is none", account.Grant{Partitions: dept.PartitionKey("R").Point()}, verify.Options{Pass: table.Pass{DryRun: true}}, true},
		{"a partition that does not exist", account.Grant{Partitions: sales.Point()}, verify.Options{Pass: table.Pass{DryRun: true, Partitions: dept.PartitionKey("R").Point()}}, true},
		{"the whole table", account.Grant{}, verify.Options{Pass: table.Pass{DryRun: true}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			holder, err := baretest.Attach(grantedOf(t, s, c.grant), copyDefinitions()...)
			check(t, err)
			c.verify.DryRun = false
			before := fmt.Sprint(s.Rows("staff"))
			s.Count()
			r, err := verify.Repair(ctx, holder, &c.verify, asDefinitions(copyDefinitions())...)
			if errors.Is(err, table.ErrRanged) != c.refused || !c.refused && (err != nil || r.Faults > 0 || r.Rows != 3) || len(derived.Kinds(r)) > 0 {
				t.Errorf("verify with repair: got %+v, error %v; want no fault, ErrRanged %v, and without ErrRanged a sound report of 3 entities and no error", r, err, c.refused)
			}
			if n := s.Count(); n.Total() == 0 || n[requests.Get]+n[requests.Query] != n.Total() {
				t.Errorf("requests of verify with repair: got %v; want get and query only, at least 1", n)
			}
			testkit.Expect(t, "rows after verify with repair", fmt.Sprint(s.Rows("staff")), before)
			testkit.Expect(t, "Ranged", door.Table(holder).Ranged(), c.refused)
			right(t, s)
		})
	}
}

// grantedOf returns the table as a program with a signature sees it.
func grantedOf(t *testing.T, s *storagetest.Service, g account.Grant) *table.Table[worker] {
	t.Helper()
	o := &account.Options{Client: azcore.ClientOptions{Transport: s}}
	acc, err := account.FromConnectionString(s.ConnectionString(), o)
	check(t, err)
	g.Table, g.Expiry, g.AllowHTTP = "staff", s.Now().Add(time.Hour), true
	g.Read, g.Add, g.Update, g.Delete = true, true, true, true
	u, err := acc.TableSAS(g)
	check(t, err)
	acc, err = account.FromSAS(account.Endpoints{Table: u}, o)
	check(t, err)
	holder, err := bare.NewTable(acc.Tables(), "staff", schema, quick())
	check(t, err)
	return holder
}

// TestSummaryThroughGrant: a writer whose signature is for some rows stores no summary of these rows alone, and replaces no row
// that it cannot see.
func TestSummaryThroughGrant(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, c := range map[string]struct {
		grant   account.Grant
		refused bool
	}{
		"some rows":     {account.Grant{Partitions: sales.Point(), Rows: keyrange.Stored("a", "w_000003")}, true},
		"the partition": {account.Grant{Partitions: sales.Point()}, false},
		"the table":     {account.Grant{}, false},
	} {
		staff, s := newStaff(t, ages, teams)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 50, nil}, worker{"S", 3, "Jones", "", 40, nil})
		holder, err := baretest.Attach(grantedOf(t, s, c.grant), ages, teams)
		check(t, err)
		err = holder.DeleteAny(ctx, at(2))
		if errors.Is(err, table.ErrRanged) != c.refused || !c.refused && err != nil {
			t.Errorf("%s: delete: got error %v; want ErrRanged %v and no other error", what, err, c.refused)
		}
		checkAll(t, s)
		check(t, holder.MergeAny(ctx, at(1), age.Set(29))) // needs no other entities
		checkAll(t, s)
	}
	// Entities without maintainer state.
	staff, s := newStaff(t, ages, teams, byLast)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 50, nil})
	replaced(t, s, 1, nil)
	holder, err := baretest.Attach(grantedOf(t, s, account.Grant{Partitions: sales.Point(), Rows: wid.Rows().All()}), byLast)
	check(t, err)
	before := len(s.Rows("staff"))
	if err := holder.DeleteAny(ctx, at(1)); !errors.Is(err, table.ErrRanged) || len(s.Rows("staff")) != before {
		t.Errorf("entities without maintainer state: delete: got error %v and %d rows; want ErrRanged and %d rows", err, len(s.Rows("staff")), before)
	}
}
