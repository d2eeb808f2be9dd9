package largeentity_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestLateDuplicate: a write whose first plan is applied by a late duplicate, deletes no blob that only its second
// plan gives up: another entity may have it by then.
func TestLateDuplicate(t *testing.T) {
	t.Parallel()
	for _, exact := range []bool{false, true} {
		t.Run(fmt.Sprint("exact ", exact), func(t *testing.T) { t.Parallel(); testLateDuplicate(t, exact) })
	}
}

func testLateDuplicate(t *testing.T, exact bool) {
	ctx := context.Background()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	fx := newFixtureOn(t, s.Service, s, nil)
	other := newFixtureOn(t, s.Service, s.Service, nil)
	mine, theirs := fx.upload(t, text(20)), fx.upload(t, text(30))
	sent := 0
	var duplicate *http.Request
	s.BeforeRequest = func(r *http.Request) {
		if requests.KindOf(r) != requests.Transaction {
			return
		}
		switch sent++; sent {
		case 1: // it will be refused, because the entity exists
			body, err := io.ReadAll(r.Body)
			must(t, err)
			duplicate, r.Body = r.Clone(ctx), io.NopCloser(bytes.NewReader(body))
			duplicate.Body = io.NopCloser(bytes.NewReader(body))
			_, err = other.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: theirs})
			must(t, err)
		case 2: // the blob passes to another entity, and then the first request arrives again
			e, err := other.staff.Get(ctx, at(1))
			must(t, err)
			e.Value.ID = 2
			must(t, other.staff.Move(ctx, e))
			_, err = s.Service.Do(duplicate)
			must(t, err)
		}
	}
	staff := fx.staff
	if exact {
		staff = staff.Exact()
	}
	_, err := staff.Upsert(ctx, &employee{Department: "Sales", ID: 1, Photo: mine}, table.ReplaceExisting)
	must(t, err)
	testkit.Expect(t, "transactions", sent, 2)
	testkit.Expect(t, "states", states(s.Service), "live live, 2 blobs")
	for id, want := range map[int]string{1: text(20), 2: text(30)} {
		e, err := fx.base.Get(ctx, at(id))
		must(t, err)
		fx.expectContent(t, "photo", e.Value.Photo, want)
	}
}
