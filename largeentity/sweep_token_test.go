package largeentity_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// newOrphans returns a fixture with three blobs without an entity and one with an entity in each of five partitions. The names of two of
// these sort in another order than the keys.
func newOrphans(t *testing.T) (*fixture, *storagetest.Service) {
	ctx := context.Background()
	fx, s, c := newSweepFixture(t)
	for i, d := range []string{"A", "A-1", "A+", "Ä B", "S"} {
		for n := range 4 {
			owner := keys.At(dept.PartitionKey(d), empid.RowKey(10*i+n))
			b, err := fx.photos.Upload(ctx, owner, strings.NewReader(text(10)), "")
			must(t, err)
			if n == 0 {
				_, err := fx.staff.Insert(ctx, &employee{Department: d, ID: 10 * i, Photo: b})
				must(t, err)
			}
		}
	}
	c.ahead = 25 * time.Hour
	return fx, s
}

// TestSweepToken: a sweep that has failed at any of its requests goes on by its token, deletes each blob that is left, and none of an entity. It
// reads no rows of finished partitions again.
func TestSweepToken(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	ctx := context.Background()
	resumed := false
	for n := 1; ; n++ {
		fx, s := newOrphans(t)
		before := len(s.Requests())
		s.SetFaults(storagetest.AtRequest(before+n, storagetest.Refuse(403, "AuthorizationFailure")))
		first, err := fx.photos.Sweep(ctx, nil)
		s.SetFaults(nil)
		failed := len(s.Requests()) - before
		if err == nil {
			if first.Token != "" || first.Orphans != 15 || first.Linked != 5 || first.Rows != 20 {
				t.Errorf("a whole sweep: got %+v; want 15 orphans, 5 linked, 20 rows and no token", first)
			}
			break
		}
		rest, err := fx.photos.Sweep(ctx, &largeentity.SweepOptions{Token: first.Token})
		must(t, err)
		if left := len(s.StoredBlobs("photos")); left != 5 || rest.Token != "" {
			t.Errorf("failed at request %d: got %d blobs left and report %+v; want the 5 blobs of entities, and no token", n, left, rest)
		}
		if first.Token != "" && len(s.Requests())-before-failed < failed {
			resumed = true
		}
	}
	if !resumed {
		t.Error("got no sweep that went on with fewer requests; want one")
	}
}

// TestSweepTokenErrors: a token of something else is refused.
func TestSweepTokenErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newOrphans(t)
	deletes := 0
	s.SetFaults(storagetest.When(func(q storagetest.Request) bool {
		if q.Kind == kinds.BlobDelete {
			deletes++
		}
		return deletes > 4
	}, storagetest.Refuse(403, "AuthorizationFailure")))
	r, err := fx.photos.Sweep(ctx, nil)
	if err == nil || r.Token == "" {
		t.Fatalf("got %+v, %v; want an error and a token", r, err)
	}
	s.SetFaults(nil)
	for name, o := range map[string]*largeentity.SweepOptions{
		"damaged":       {Token: r.Token + "x"},
		"garbage":       {Token: "b:S"},
		"another range": {Token: r.Token, Partitions: dept.PartitionKey("S").Point()},
		"a relink":      {Token: r.Token, Relink: true},
	} {
		if _, err := fx.photos.Sweep(ctx, o); !errors.As(err, new(*table.ValueError)) {
			t.Errorf("%s: got error %v; want a *table.ValueError", name, err)
		}
	}
}
