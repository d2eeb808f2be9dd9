package largeentity_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/table"
)

// TestSweepRefused: if the service refuses any one request of a sweep, Sweep returns the error, and no linked blob is gone. The next sweep
// does the rest.
func TestSweepRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, c := newSweepFixture(t)
	id := 0
	var kept largeentity.Blob
	insert := func(content string) (*table.Entity[employee], largeentity.Blob) {
		id++
		k := keys.At(dept.PartitionKey("Sales"), empid.RowKey(id))
		b, err := fx.photos.Upload(ctx, k, strings.NewReader(content), "")
		must(t, err)
		e, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: id, Photo: b})
		must(t, err)
		return e, b
	}
	_, dangling := insert(text(40))
	_, err := fx.account.Blobs().NewContainerClient("photos").NewBlobClient(dangling.Name()).Delete(ctx, nil)
	must(t, err)
	prepare := func() {
		_, kept = insert(text(30))
		_, err := fx.photos.Upload(ctx, keys.At(dept.PartitionKey("Sales"), empid.RowKey(100_000)), strings.NewReader(text(20)), "") // an orphan
		must(t, err)
		c.ahead += 25 * time.Hour
	}
	errs := testkit.EachRefused(t, s, "Sweep", prepare, func() error {
		_, err := fx.photos.Sweep(ctx, nil)
		var re *azcore.ResponseError
		if err != nil && (!errors.As(err, &re) || re.StatusCode != 403) {
			t.Errorf("got error %v; want an *azcore.ResponseError with status 403", err)
		}
		s.SetFaults(nil)
		r := fx.sweep(t, nil)
		if r.Missing != 1 {
			t.Errorf("the next sweep: got report %+v; want 1 dangling link", r)
		}
		fx.expectContent(t, "the linked blob", kept, text(30))
		return err
	})
	for i, err := range errs {
		if err == nil {
			t.Errorf("request %d: got no error, want one", i+1)
		}
	}
}
