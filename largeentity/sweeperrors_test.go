package largeentity_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/internal/testkit/valuestest"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestSweepRanged: blobs whose rows a signature hides are not taken for orphans.
func TestSweepRanged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, c := newSweepFixture(t)
	_, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, text(20))})
	must(t, err)
	c.ahead = 25 * time.Hour
	o := &account.Options{Client: azcore.ClientOptions{Transport: s}}
	acc, err := account.FromConnectionString(s.ConnectionString(), o)
	must(t, err)
	for name, g := range map[string]account.Grant{
		"another partition":   {Partitions: dept.PartitionKey("HR").Point()},
		"partitions":          {Partitions: dept.PartitionKey("Sales").Point()},
		"rows of a partition": {Partitions: dept.PartitionKey("Sales").Point(), Rows: empid.Rows().All()},
	} {
		g.Table, g.Expiry, g.AllowHTTP, g.Read, g.Add, g.Update, g.Delete = "staff", s.Now().Add(time.Hour), true, true, true, true, true
		u, err := acc.TableSAS(g)
		must(t, err)
		granted, err := account.FromSAS(account.Endpoints{Table: u}, o)
		must(t, err)
		staff, err := bare.NewTable(granted.Tables(), "staff", schema, nil)
		must(t, err)
		photos, _, err := valuestest.New(staff, acc, "photos", &largeentity.Options{Common: options.At(c.now)})
		must(t, err)
		for _, dry := range []bool{true, false} {
			report, err := photosOf{photos}.Sweep(ctx, &largeentity.SweepOptions{DryRun: dry})
			if !errors.Is(err, table.ErrRanged) || report.Orphans > 0 {
				t.Errorf("%s, dry run %t: got %+v, error %v; want ErrRanged", name, dry, report, err)
			}
		}
	}
	testkit.Expect(t, "states", states(s), "live, 1 blobs")
}

// TestSweepKept: a blob that the service refuses to delete does not keep a sweep from the others, and the next sweep tries again.
func TestSweepKept(t *testing.T) {
	t.Parallel()
	fx, s, c := newSweepFixture(t)
	for range 3 {
		fx.upload(t, text(20))
	}
	c.ahead = 25 * time.Hour
	s.SetFaults(storagetest.OfKind(kinds.BlobDelete, storagetest.Once(storagetest.Refuse(409, "SnapshotsPresent"))))
	testkit.Expect(t, "first", fx.sweep(t, nil), largeentity.SweepReport{Blobs: 3, Rows: 3, Orphans: 2, Kept: 1})
	testkit.Expect(t, "second", fx.sweep(t, nil), largeentity.SweepReport{Blobs: 1, Rows: 3, Orphans: 1})
	testkit.Expect(t, "states", states(s), "condemned condemned condemned, 0 blobs")
}
