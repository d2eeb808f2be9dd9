package blobarchive_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/archive/blobarchive"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// putForeign stores a blob by other means than a destination.
func putForeign(t testing.TB, c *container.Client, name, content string, metadata map[string]*string) {
	t.Helper()
	_, err := c.NewBlockBlobClient(name).Upload(context.Background(), streaming.NopCloser(strings.NewReader(content)), &blockblob.UploadOptions{Metadata: metadata})
	must(t, err)
}

func isForeign(err error) bool { return errors.Is(err, table.ErrForeignRow) }

// TestRoundTrip: a row comes back with all values and types, and without system properties.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	fx := newFixture(t)
	r := archived(t, idOf("a", incarnation), "<Jones> & \"Smith\" é日😀\r\n\u2028")
	for name, v := range map[string]any{
		"Int64": int64(math.MaxInt64), "Int32": int32(math.MinInt32), "Whole": 3.0, "Tiny": math.SmallestNonzeroFloat64, "NaN": math.NaN(), "Infinite": math.Inf(-1), "Bool": true,
		"Empty": []byte{}, "Binary": []byte{0, 1, 255}, "Text": "", "Guid": [16]byte{7, 8}, "Time": time.Date(1601, 1, 1, 0, 0, 0, 100, time.UTC), "Late": time.Date(9999, 12, 31, 23, 59, 59, 999999900, time.UTC),
	} {
		must(t, r.Row.Set(name, v))
	}
	fx.put(r, "")
	got, err := fx.Get(t.Context(), r.ID)
	must(t, err)
	expect(t, "ID", got.ID, r.ID)
	expect(t, "kind, moves and time", fmt.Sprint(got.Kind, got.Moves, got.Time), fmt.Sprint(r.Kind, r.Moves, r.Time))
	expect(t, "key of the row", got.Row.Key, r.Row.Key)
	n := 0
	for name, want := range r.Row.All() {
		n++
		if v, _ := got.Row.Get(name); fmt.Sprint(v) != fmt.Sprint(want) || reflect.TypeOf(v) != reflect.TypeOf(want) || got.Row.Type(name) != r.Row.Type(name) {
			t.Errorf("%s: got %v %v; want %v %v", name, got.Row.Type(name), v, r.Row.Type(name), want)
		}
	}
	for range got.Row.All() {
		n--
	}
	expect(t, "properties too many", n, 0)
	stored := fx.service.StoredBlobs("old")[0]
	expect(t, "name", stored.Name, "S/a/"+incarnation+".json")
	expect(t, "type", stored.ContentType, "application/json")
}

// TestContent: the content of a blob is the documented one.
func TestContent(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	o := &archive.Options{}
	options.SetNewID(&o.Common, func() string { return "PPPPPPPPPPPPPPPP" })
	d := destination(t, s, "old", o)
	must(t, d.Ensure(t.Context()))
	id := archive.ID{Key: keys.Raw("Sales", "empid_000456"), Incarnation: incarnation}
	row := archived(t, id, "Jones")
	must(t, row.Row.Set("Salary", int64(5)))
	must(t, d.Put(t.Context(), row, ""))
	must(t, d.Put(t.Context(), tombstone(idOf("b", incarnation)), ""))
	all := s.StoredBlobs("old")
	expect(t, "tombstone", string(all[0].Content()), `{"format":1,"partitionKey":"S","rowKey":"b","incarnation":"0000000000000001","kind":"current/old","moves":null,"time":"0001-01-01T00:00:00Z","put":"PPPPPPPPPPPPPPPP","row":null}`+"\n")
	expect(t, "row", string(all[1].Content()), `{"format":1,"partitionKey":"Sales","rowKey":"empid_000456","incarnation":"0000000000000001","kind":"current/old","moves":["00000000000000000000000001"],"time":"2026-01-02T03:04:05.0000006Z","put":"PPPPPPPPPPPPPPPP","row":{"PartitionKey":"Sales","RowKey":"empid_000456","Last":"Jones","Salary@odata.type":"Edm.Int64","Salary":"5"}}`+"\n")
	expect(t, "metadata", fmt.Sprint(all[0].Metadata, all[1].Metadata), "map[Tombstone:true] map[]")
}

// TestVersions: a row is stored only on condition of its version, and a tombstone stays.
func TestVersions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fx := newFixture(t)
	id := idOf("a", incarnation)
	changed := func(r *archive.ArchivedRow, version string) {
		t.Helper()
		if err := fx.Put(ctx, r, version); !errors.Is(err, table.ErrChanged) {
			t.Errorf("Put with version %q: got error %v; want ErrChanged", version, err)
		}
	}
	last, _ := fx.get(id)
	expect(t, "before", last, "none")
	changed(archived(t, id, "x"), `"0x8D6D41706E2489F"`)
	fx.put(archived(t, id, "1"), "")
	changed(archived(t, id, "x"), "")
	last, v1 := fx.get(id)
	expect(t, "first", last, "1")
	for _, version := range []string{"*", `"*"`, `""`, `"`, v1 + "," + v1, strings.Trim(v1, `"`), "W/" + v1, v1 + "\r\nx: y", `"0x8D6D41706E2489F"`, "é"} {
		changed(archived(t, id, "x"), version)
	}
	fx.put(archived(t, id, "2"), v1)
	changed(archived(t, id, "x"), v1)
	last, v2 := fx.get(id)
	expect(t, "second", last, "2")
	fx.put(tombstone(id), v2)
	changed(archived(t, id, "x"), v2)
	changed(archived(t, id, "x"), "")
	last, v3 := fx.get(id)
	expect(t, "removed", last, "tombstone")
	if v1 == v2 || v2 == v3 || v1 == "" {
		t.Errorf("got versions %s, %s, %s; want different ones", v1, v2, v3)
	}
	expect(t, "listed", listed(t, fx.List(ctx, keys.RawPartition("S")), isForeign), "")
}

// TestLists: a list of a key has its incarnations, and one of a partition its rows, whatever the keys begin with.
func TestLists(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fx := newFixture(t)
	all := []string{"a", "a ", "ab", "A", "a~", "a~b", ".", "..", "a%2Fb", "é日😀", " a", "a.json", "\uffff", "con"}
	for i, rk := range all {
		fx.put(archived(t, idOf(rk, incarnation), fmt.Sprint(i)), "")
		fx.put(archived(t, archive.ID{Key: keys.Raw("S2", rk), Incarnation: incarnation}, "other partition"), "")
	}
	fx.put(archived(t, idOf("a", "0000000000000002"), "second"), "")
	fx.put(tombstone(idOf("a", "0000000000000003")), "")
	for i, rk := range all {
		want := fmt.Sprintf("%s=%d", rk, i)
		if rk == "a" {
			want += " a=second"
		}
		expect(t, "Incarnations of "+rk, listed(t, fx.Incarnations(ctx, keys.Raw("S", rk)), isForeign), want)
		last, _ := fx.get(idOf(rk, incarnation))
		expect(t, "Get "+rk, last, fmt.Sprint(i))
	}
	n := 0
	for r, err := range fx.List(ctx, keys.RawPartition("S")) {
		must(t, err)
		if v, _ := r.Row.Get("Last"); r.Key.PartitionKey() != "S" || v == "other partition" {
			t.Errorf("List: got %v; want a row of partition S", r.Key)
		}
		n++
	}
	expect(t, "rows of the partition", n, len(all)+1)
	for range fx.List(ctx, keys.RawPartition("S")) {
		break // sends no more requests
	}
	expect(t, "rows of no partition", listed(t, fx.List(ctx, keys.RawPartition("S3")), isForeign), "")
}

// TestRequests: the documented requests.
func TestRequests(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fx := newFixture(t)
	id := idOf("a", incarnation)
	count := func(what, want string) {
		t.Helper()
		expect(t, what, fx.service.Count().String(), want)
	}
	fx.put(archived(t, id, "1"), "")
	count("Put", "1 blob-create")
	_, v := fx.get(id)
	count("Get", "1 blob-get")
	fx.put(archived(t, id, "2"), v)
	count("Put", "1 blob-create")
	fx.get(idOf("none", incarnation))
	count("Get of nothing", "1 blob-get")
	listed(t, fx.Incarnations(ctx, id.Key), isForeign)
	count("Incarnations", "1 blob-get, 1 blob-list")
	for i := range 1001 {
		fx.put(archived(t, idOf(fmt.Sprintf("b%04d", i), incarnation), ""), "")
	}
	_, v = fx.get(id)
	fx.put(tombstone(id), v)
	fx.service.Count()
	listed(t, fx.List(ctx, keys.RawPartition("S")), isForeign)
	count("List", "1001 blob-get, 2 blob-list")
	must(t, fx.Sweep(ctx, keys.RawPartition("S"), fx.service.Now().Add(-time.Minute)))
	count("Sweep of new tombstones", "2 blob-list")
	fx.service.Advance(time.Hour)
	must(t, fx.Sweep(ctx, keys.RawPartition("S"), fx.service.Now()))
	count("Sweep", "1 blob-delete, 1 blob-get, 2 blob-list")
	must(t, fx.Check(archived(t, id, "1")))
	must(t, fx.Ensure(ctx))
	count("Ensure", "1 container-create")
}

// TestSweep: a sweep deletes old tombstones of the partition, and nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fx := newFixture(t)
	fx.put(tombstone(idOf("old", incarnation)), "")
	fx.put(archived(t, idOf("row", incarnation), "1"), "")
	fx.put(tombstone(archive.ID{Key: keys.Raw("T", "other"), Incarnation: incarnation}), "")
	yes := map[string]*string{"tombstone": to.Ptr("true")}
	row := fx.service.StoredBlobs("old")[1]
	fx.putForeign("S/row/"+incarnation+".json", string(row.Content()), yes) // the metadata contradicts the content
	fx.putForeign("S/foreign/"+incarnation+".json", "{}", yes)
	fx.putForeign("S/foreign.txt", "", yes)
	fx.service.Advance(24 * time.Hour)
	before := fx.service.Now()
	fx.put(tombstone(idOf("new", incarnation)), "")
	must(t, fx.Sweep(ctx, keys.RawPartition("S"), before))
	expect(t, "blobs", fx.blobNames(), "S/foreign.txt S/foreign/"+incarnation+".json S/new/"+incarnation+".json S/row/"+incarnation+".json T/other/"+incarnation+".json")
	// A tombstone that changes while it is swept stays.
	fx.service.Advance(24 * time.Hour)
	fx.service.SetFaults(storagetest.OfKind(kinds.BlobDelete, storagetest.Once(storagetest.Refuse(412, "ConditionNotMet"))))
	must(t, fx.Sweep(ctx, keys.RawPartition("S"), fx.service.Now()))
	if !strings.Contains(fx.blobNames(), "S/new/") {
		t.Errorf("got blobs %s; want the changed tombstone", fx.blobNames())
	}
	for _, fault := range []storagetest.Fault{storagetest.LostResponse(), storagetest.Refuse(503, "ServerBusy"), storagetest.ExecuteThenRefuse(500, "InternalError")} {
		fx.service.SetFaults(storagetest.OfKind(kinds.BlobDelete, storagetest.Once(fault)))
		must(t, fx.Sweep(ctx, keys.RawPartition("S"), fx.service.Now()))
		if strings.Contains(fx.blobNames(), "S/new/") {
			t.Errorf("%v: got blobs %s; want no tombstone", fault, fx.blobNames())
		}
		fx.put(tombstone(idOf("new", incarnation)), "")
		fx.service.Advance(24 * time.Hour)
	}
}

// TestLimits: what can never be stored is refused without a request.
func TestLimits(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fx := newFixture(t)
	long := func(pk, rk int) archive.ID {
		return archive.ID{Key: keys.Raw(strings.Repeat("p", pk), strings.Repeat("é", rk)), Incarnation: incarnation}
	}
	fits := long(501, 500) // and 2 slashes, 16 and 5 characters
	must(t, fx.Check(archived(t, fits, "x")))
	fx.put(archived(t, fits, "x"), "")
	fx.service.Count()
	var limit *table.LimitError
	for _, id := range []archive.ID{long(501, 501), long(512, 512), {Key: keys.Raw("p", strings.Repeat("%", 400)), Incarnation: incarnation}} {
		r := archived(t, id, "x")
		if err := fx.Check(r); !errors.As(err, &limit) || limit.Max != 1024 {
			t.Errorf("Check: got error %v; want a *LimitError of 1024", err)
		}
		if err := fx.Put(ctx, r, ""); !errors.As(err, &limit) {
			t.Errorf("Put: got error %v; want a *LimitError", err)
		}
		if _, err := fx.Get(ctx, id); !errors.As(err, &limit) {
			t.Errorf("Get: got error %v; want a *LimitError", err)
		}
	}
	var value *table.ValueError
	for _, incarnation := range []string{"", "..", "../../../x", "a/b", strings.Repeat("a", 16), strings.Repeat("A", 17)} {
		id := idOf("a", incarnation)
		_, err := fx.Get(ctx, id)
		for _, err := range []error{err, fx.Put(ctx, archived(t, id, "x"), ""), fx.Check(archived(t, id, "x"))} {
			if !errors.As(err, &value) {
				t.Errorf("incarnation %q: got error %v; want a *ValueError", incarnation, err)
			}
		}
	}
	invalid := archived(t, idOf("a", incarnation), "x")
	invalid.Kind = "\xff"
	if err := fx.Put(ctx, invalid, ""); !errors.As(err, &value) {
		t.Errorf("a kind that is not UTF-8: got error %v; want a *ValueError", err)
	}
	expect(t, "requests", fx.service.Count().String(), "none")
	unplaced := blobarchive.New("old", nil)
	_, got := unplaced.Get(ctx, idOf("a", incarnation))
	_, found := table.Collect(unplaced.Incarnations(ctx, keys.Raw("S", "a")))
	for i, err := range []error{got, found, unplaced.Put(ctx, archived(t, idOf("a", incarnation), "x"), "")} {
		if !errors.As(err, &value) || value.Field != "to" {
			t.Errorf("without a store: method %d: got error %v; want a *ValueError of to", i, err)
		}
	}
}
