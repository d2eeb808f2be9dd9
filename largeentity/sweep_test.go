package largeentity_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/internal/testkit/valuestest"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// sweep runs a sweep, and returns its report.
func (fx *fixture) sweep(t testing.TB, o *largeentity.SweepOptions) largeentity.SweepReport {
	t.Helper()
	r, err := fx.photos.Sweep(context.Background(), o)
	must(t, err)
	return r
}

// newSweepFixture returns a fixture with a clock for the programs and the service.
func newSweepFixture(t testing.TB) (*fixture, *storagetest.Service, *clock) {
	c := &clock{}
	o := small()
	options.SetNow(&o.Common, c.now)
	s := storagetest.New(&storagetest.Options{Now: c.now})
	return newFixtureOn(t, s, s, o), s, c
}

// sweptBlobs are more than the 5,000 that a page of a list has in the nightly run.
var sweptBlobs = testkit.Count("sweptblobs", 2_000, "blobs that TestSweep uploads")

// TestSweep: among many blobs, all that nothing refers to are found, and no others.
func TestSweep(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, c := newSweepFixture(t)
	n := *sweptBlobs
	faults := n / 20
	var want []string
	var linked []employee
	for i := range n {
		owner := keys.At(dept.PartitionKey(fmt.Sprintf("D%02d.", i%40)), empid.RowKey(i))
		b, err := fx.photos.Upload(ctx, owner, strings.NewReader(text(10+i%7)), "")
		must(t, err)
		if i%20 == 7 {
			want = append(want, "dangling, entity false: "+b.Name())
			continue
		}
		linked = append(linked, employee{Department: fmt.Sprintf("D%02d.", i%40), ID: i, Photo: b})
	}
	_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range linked {
			if !yield(fx.staff.InsertOp(&linked[i]), nil) {
				return
			}
		}
	}, nil)
	must(t, err)
	container := fx.account.Blobs().NewContainerClient("photos")
	for i := range linked {
		if linked[i].ID%20 == 11 {
			_, err := container.NewBlobClient(linked[i].Photo.Name()).Delete(ctx, nil)
			must(t, err)
			want = append(want, "missing, entity true: "+linked[i].Photo.Name())
		}
	}
	_, err = container.NewBlockBlobClient("staff/D00~2E/readme.txt").Upload(ctx, streaming.NopCloser(strings.NewReader("x")), nil)
	must(t, err)
	c.ahead = 25 * time.Hour
	for i := range 3 {
		_, err := fx.photos.Upload(ctx, keys.At(dept.PartitionKey("D01."), empid.RowKey(i)), strings.NewReader(text(100)), "")
		must(t, err)
	}
	s.Count()

	var got []string
	fault := func(f verify.Fault) {
		got = append(got, fmt.Sprintf("%v, entity %v: %s", f.Kind, f.Entity != (keys.Key{}), f.Blob))
	}
	expect := func(what string, r, want largeentity.SweepReport) {
		t.Helper()
		testkit.Expect(t, what, fmt.Sprintf("%+v", r), fmt.Sprintf("%+v", want))
	}
	report := largeentity.SweepReport{
		Blobs: n - faults + 4, Linked: n - 2*faults, Young: 3, Foreign: 1, Rows: n - faults, Orphans: faults, Missing: faults,
	}
	expect("dry run", fx.sweep(t, &largeentity.SweepOptions{DryRun: true, Fault: fault}), report)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %d faults; want these %d", len(got), len(want))
	}
	counts := s.Count()
	for kind := range counts {
		if kind != kinds.BlobList && kind != requests.Query && kind != kinds.BlobProperties && kind != requests.Get {
			t.Errorf("a dry run: got requests %v; want only reads", counts)
			break
		}
	}
	if lists := counts[kinds.BlobList] + counts[requests.Query]; lists > 4*n/1000+4*40+10 {
		t.Errorf("got %d requests for lists; want few", lists)
	}
	got = nil
	pages := 0
	report.Rows += faults // of the orphans
	expect("sweep", fx.sweep(t, &largeentity.SweepOptions{Fault: fault, Progress: func(table.Progress) { pages++ }}), report)
	slices.Sort(got)
	if !slices.Equal(got, want) || pages == 0 {
		t.Errorf("got %d faults after %d pages; want these %d", len(got), pages, len(want))
	}
	c.ahead += 25 * time.Hour
	r := fx.sweep(t, nil)
	testkit.Expect(t, "tombstones that go", r.RowsGone, faults)
	testkit.Expect(t, "orphans after a day", r.Orphans, 3)
	testkit.Expect(t, "rows", len(s.Rows("staff")), 2*len(linked)+3)
}

// TestSweepReplaced: a sweep does what a writer has left, and leaves tombstones until nothing can link their blobs.
func TestSweepReplaced(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &clock{}
	o := small()
	o.LeaveToSweep = true
	options.SetNow(&o.Common, c.now)
	s := storagetest.New(&storagetest.Options{Now: c.now})
	fx := newFixtureOn(t, s, s, o)
	e, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, text(20))})
	must(t, err)
	e.Value.Photo = fx.upload(t, text(30))
	must(t, fx.staff.Replace(ctx, e))
	testkit.Expect(t, "left to the sweep", states(s), "live unlinked, 2 blobs")
	testkit.Expect(t, "deletes", fx.sweep(t, nil).Replaced, 1)
	testkit.Expect(t, "swept", states(s), "live unlinked, 1 blobs")
	testkit.Expect(t, "young tombstones", fx.sweep(t, nil).RowsGone, 0)
	c.ahead = 25 * time.Hour
	testkit.Expect(t, "old tombstones", fx.sweep(t, nil).RowsGone, 1)
	testkit.Expect(t, "swept", states(s), "live, 1 blobs")
	fx.expectContent(t, "photo", e.Value.Photo, text(30))
}

// TestSweepSlowWriter: a writer that stores a value whose blob a sweep has deleted is refused.
func TestSweepSlowWriter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, c := newSweepFixture(t)
	b := fx.upload(t, text(20))
	c.ahead = 25 * time.Hour
	testkit.Expect(t, "orphans", fx.sweep(t, nil).Orphans, 1)
	c.ahead = 0 // the writer's clock is wrong
	_, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: b})
	if !errors.Is(err, largeentity.ErrUploadAgain) {
		t.Errorf("got error %v; want ErrUploadAgain", err)
	}
	testkit.Expect(t, "states", states(s), "condemned, 0 blobs")
}

// TestSweepErrors: wrong options and wrong stores are refused.
func TestSweepErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, _ := newFixture(t, nil)
	for _, err := range []error{
		second(fx.photos.Values.Sweep(ctx, &table.Pass{Rate: -1})),
		second(fx.photos.Values.Sweep(ctx, &table.Pass{Concurrency: 1})),
		second(fx.photos.Values.Relink(ctx, &table.Pass{Skip: func(keys.Key, error) bool { return true }})),
		fx.refusal("photos", &largeentity.Options{Grace: time.Second}),
		fx.refusal("photos", &largeentity.Options{BlocksInFlight: -1}),
	} {
		var wrong *table.ValueError
		if !errors.As(err, &wrong) {
			t.Errorf("got error %v; want a ValueError", err)
		}
	}
	for _, err := range []error{
		fx.refusal("photos", &largeentity.Options{InlineUpTo: 1 << 20}),
		fx.refusal("photos", &largeentity.Options{BlockSize: 1 << 30}),
	} {
		var limit *table.LimitError
		if !errors.As(err, &limit) {
			t.Errorf("got error %v; want a LimitError", err)
		}
	}
	empty, _, err := valuestest.New(fx.base, fx.account, "nothing", nil)
	must(t, err)
	if _, err := empty.Sweep(ctx, nil); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("got error %v; want ErrNotCreated", err)
	}
}

func second[A any](_ A, err error) error { return err }

// TestDryRunRows: a dry run counts the rows that a sweep deletes once it has deleted their blobs.
func TestDryRunRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &clock{}
	o := small()
	o.LeaveToSweep = true
	options.SetNow(&o.Common, c.now)
	fx, _ := newFixture(t, o)
	e, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, text(20))})
	must(t, err)
	must(t, fx.staff.Delete(ctx, e))
	c.ahead = 25 * time.Hour
	would := fx.sweep(t, &largeentity.SweepOptions{DryRun: true})
	testkit.Expect(t, "dry run", would, fx.sweep(t, nil))
}

// TestSweepPace: a sweep keeps to SweepOptions.Rate.
func TestSweepPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fx, _, c := newSweepFixture(t)
		for i := range 30 {
			_, err := fx.photos.Upload(t.Context(), keys.At(dept.PartitionKey("D"), empid.RowKey(i)), strings.NewReader(text(10)), "")
			must(t, err)
		}
		c.ahead = 48 * time.Hour
		began := time.Now()
		r := fx.sweep(t, &largeentity.SweepOptions{Rate: 10})
		// 30 blobs are listed, their rows written, the blobs deleted, and the rows read.
		if took := time.Since(began); r.Orphans != 30 || took < 11*time.Second || took > 16*time.Second {
			t.Errorf("got %v for %+v; want 12 s and 30 orphans", took, r)
		}
		var ve *table.ValueError
		if _, err := fx.photos.Sweep(t.Context(), &largeentity.SweepOptions{Rate: -1}); !errors.As(err, &ve) {
			t.Errorf("got %v; want a *ValueError", err)
		}
	})
}

// TestStoredTypes stores each property of an entity with a blob, and of the row of the blob, with each type: the entity reads as before
// or fails with a *table.DecodeError, and no sweep deletes its blob.
func TestStoredTypes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const content = "a value of more than 8 bytes"
	for property, own := range map[string]string{"State": "text", "Entity": "text", "Incarnation": "text", "Since": "DateTime",
		"Photo": "Binary", "PhotoBlob": "text", "PhotoSize": "Int64", "PhotoSHA256": "text", "PhotoType": "text"} {
		for typ, column := range testkit.EachType(property, int64(len(content))) {
			if typ == own {
				continue
			}
			t.Run(property+" "+typ, func(t *testing.T) {
				t.Parallel()
				fx, s, c := newSweepFixture(t)
				e := &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, content)}
				_, err := fx.staff.Insert(ctx, e)
				must(t, err)
				rowKey := at(1).RowKey()
				if !strings.HasPrefix(property, "Photo") {
					for _, row := range s.Rows("staff") {
						rowKey = max(rowKey, row.RowKey) // the row of the blob
					}
				}
				body := fmt.Sprintf(`{"PartitionKey":"Sales","RowKey":%q,%s}`, rowKey, column)
				_, err = fx.account.Tables().NewClient("staff").UpsertEntity(ctx, []byte(body), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge})
				must(t, err)
				c.ahead = 100 * time.Hour
				fx.sweep(t, nil)
				got, err := fx.staff.Get(ctx, at(1))
				var de *table.DecodeError
				switch {
				case errors.As(err, &de) && de.Field == "Photo" && rowKey == at(1).RowKey():
				case err != nil:
					t.Errorf("got error %v; want none, or a *DecodeError of Photo", err)
				default:
					testkit.Expect(t, "Photo", got.Value.Photo, e.Photo)
				}
				testkit.Expect(t, "blobs", len(s.StoredBlobs("photos")), 1)
			})
		}
	}
}

// TestSweepRange: a sweep of a range of partitions deletes the orphans of the range, and leaves the others.
func TestSweepRange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, c := newSweepFixture(t)
	for i := range 12 {
		d := []string{" Ä", "M", "S"}[i%3]
		_, err := fx.photos.Upload(ctx, keys.At(dept.PartitionKey(d), empid.RowKey(i)), strings.NewReader(text(10)), "")
		must(t, err)
	}
	c.ahead = 25 * time.Hour
	departments := keys.Partition(dept, func(d *string) *string { return d })
	for _, step := range []struct {
		in          keys.PartitionRange
		blobs, left int
	}{
		{departments.Between("N", "R"), 0, 12},
		{dept.PartitionKey("M").Point(), 4, 8},
		{departments.AtLeast("M"), 4, 4},
		{keys.PartitionRange{}, 4, 0},
	} {
		r := fx.sweep(t, &largeentity.SweepOptions{Partitions: step.in})
		if r.Blobs != step.blobs || r.Orphans != step.blobs || len(s.StoredBlobs("photos")) != step.left {
			t.Errorf("%v: got %+v, %d blobs left; want %d orphans and %d left", step.in, r, len(s.StoredBlobs("photos")), step.blobs, step.left)
		}
	}
	if _, err := fx.photos.Sweep(ctx, &largeentity.SweepOptions{Partitions: departments.Between("b", "a")}); !errors.As(err, new(*keys.KeyError)) {
		t.Errorf("bounds that are swapped: got error %v; want a *keys.KeyError", err)
	}
}
