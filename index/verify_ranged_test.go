package index_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/index/verify"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestVerifyRanged: what a signature for a range of keys hides must not pass for what is gone. Verify refuses such, and nothing is
// written; a signature for the whole table serves.
func TestVerifyRanged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := office(t, four()...)
	hire(t, staff, s, worker{"S", 1, "Jones", "a@x", 30, nil}, worker{"S", 2, "Cao", "b@x", 40, []string{"t"}}, worker{"T", 3, "Li", "c@x", 50, nil})
	for _, c := range []struct {
		name    string
		grant   table.Grant
		verify  verify.Options
		refused bool
	}{
		{"rows, all partitions", table.Grant{Rows: wid.All(), Partitions: keys.Point(sales)}, verify.Options{}, true},
		{"rows, one partition", table.Grant{Rows: wid.All(), Partitions: keys.Point(sales)}, verify.Options{Partition: sales}, true},
		{"partitions", table.Grant{Partitions: keys.Point(sales)}, verify.Options{}, true},
		{"partitions, of which there is none", table.Grant{Partitions: keys.Point(dept.Of("R"))}, verify.Options{}, true},
		{"a partition that does not exist", table.Grant{Partitions: keys.Point(sales)}, verify.Options{Partition: dept.Of("R")}, true},
		{"the whole table", table.Grant{}, verify.Options{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			holder, err := index.Attach(grantedOf(t, s, c.grant), nil, four()...)
			check(err)
			c.verify.Repair = true
			s.Count()
			r, err := verify.Run(ctx, holder, &c.verify, four()...)
			if errors.Is(err, index.ErrRanged) != c.refused || !c.refused && (err != nil || !r.Sound() || r.Entities != 3) || len(r.Faults) > 0 {
				t.Errorf("%v, %+v", err, r)
			}
			expect(t, "Ranged", holder.Ranged(), c.refused)
			right(t, s)
		})
	}
}

// grantedOf is the table as somebody sees it who has a signature alone.
func grantedOf(t *testing.T, s *storagetest.Service, g table.Grant) *table.Table[worker] {
	t.Helper()
	o := &account.Options{Client: azcore.ClientOptions{Transport: s}}
	acc, err := account.FromConnectionString(s.ConnectionString(), o)
	check(err)
	g.Table, g.Expiry, g.AllowHTTP = "staff", s.Now().Add(time.Hour), true
	g.Read, g.Add, g.Update, g.Delete = true, true, true, true
	u, err := acc.TableSAS(g)
	check(err)
	acc, err = account.FromSAS(account.Endpoints{Table: u}, o)
	check(err)
	holder, err := table.New(acc.Tables(), "staff", schema, quick())
	check(err)
	return holder
}
