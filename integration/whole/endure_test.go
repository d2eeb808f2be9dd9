package whole_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/largeentity/series"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// page is an entity of TestEndures.
type page struct {
	Site, Name string
	Size       int64
	Ends       time.Time
	Photo      largeentity.Blob
}

var (
	pageSite = keys.Partition(keys.Text(), func(p *page) *string { return &p.Site })
	pageName = keys.Row(keys.Text().Named("page"), func(p *page) *string { return &p.Name })
	allPages = table.Query[page]{TableScan: true}
)

// endurance is what the work of TestEndures is on: tables with three partitions of pages, and a log.
type endurance struct {
	service *storagetest.Service
	store   *aztablekit.Store
	pages   *table.Table[page]
	plain   *table.Table[page]
	size    *index.Index[page, int64]
	ends    *expire.Ends[page]
	old     *archive.Mover[page]
	photos  *largeentity.Values[page]
	log     *logtail.Log[page]
	days    *logtail.Log[page]
	visits  *series.Series[int64]
	backup  transfer.Place
	blobs   transfer.Place
}

func newEndurance(t *testing.T) *endurance {
	x := &endurance{service: storagetest.New(nil)}
	ctx := t.Context()
	x.store = aztablekit.Open(x.service, "site", &aztablekit.Options{Daily: -1})
	x.size = index.New("size", keys.Digits[int64](6), func(p *page) (int64, bool) { return p.Size, true }, nil)
	x.ends = expire.At(func(p *page) time.Time { return p.Ends }, nil)
	x.old = archive.Into[page]("old", archive.ToTable("old", nil))
	x.photos = largeentity.In[page]("photos", nil)
	everywhere := index.NewUnique("name", keys.Text(), func(p *page) (string, bool) { return p.Site + p.Name, true }, nil)
	x.pages = aztablekit.Table(x.store, "pages", pageSite, pageName, x.size, x.ends, x.old, x.photos, everywhere)
	effect := eventual.On("effect", func(c *eventual.Change[page]) (string, bool) { return "", c.Old == nil }, func(context.Context, eventual.Job, string) error { return nil })
	x.plain = aztablekit.Table(x.store, "plain", pageSite, pageName, effect)
	x.log = logtail.New[page](x.store, "log", nil)
	x.days = logtail.NewByPeriod[page](x.store, "days", &logtail.PeriodOptions{Unit: "day", Keep: 2}, nil)
	x.visits = series.New[int64](x.store, "visits", series.Days(time.UTC), nil)
	x.backup = transfer.Container(x.service.Blobs().NewContainerClient("backup"), "today", nil)
	x.blobs = transfer.Container(x.service.Blobs().NewContainerClient("photos"), "", nil)
	testkit.NoError(t, x.store.Ensure(ctx))
	_, err := x.service.Blobs().NewContainerClient("backup").Create(ctx, nil)
	testkit.NoError(t, err)
	for _, site := range []string{"a", "b", "c"} {
		for i := range 2 {
			p := page{Site: site, Name: fmt.Sprint(i), Size: int64(i)}
			if i == 1 {
				p.Ends = time.Now().Add(time.Hour)
				p.Photo, err = x.photos.Upload(ctx, x.pages, x.pages.Key(p), strings.NewReader(strings.Repeat("x", 70_000)), "")
				testkit.NoError(t, err)
			}
			_, err1 := x.pages.Insert(ctx, &p)
			_, err2 := x.plain.Insert(ctx, &page{Site: site, Name: fmt.Sprint(i)})
			_, err3 := x.log.Append(ctx, &p)
			_, err4 := x.days.Append(ctx, &p)
			testkit.NoError(t, errors.Join(err1, err2, err3, err4, x.visits.Set(ctx, time.Now().AddDate(0, 0, i), 1)))
		}
	}
	return x
}

// volatile matches what differs from run to run in the keys of rows: random IDs.
var volatile = regexp.MustCompile(`[0-9A-Z]{16,}`)

// wholeWork is the calls that go through whole tables. before is done before the first request
// counts.
var wholeWork = []struct {
	name   string
	begun  int // the requests up to the end of the first write, 0 for work that begins with a read
	before func(*endurance, context.Context) error
	call   func(context.Context, *endurance) error
}{
	{"Store.Verify", 0, nil, func(ctx context.Context, x *endurance) error { _, err := x.store.Verify(ctx, nil); return err }},
	{"Store.Repair", 0, (*endurance).loseRows, func(ctx context.Context, x *endurance) error { _, err := x.store.Repair(ctx, nil); return err }},
	{"Store.Fill", 0, (*endurance).unfill, func(ctx context.Context, x *endurance) error { _, err := x.store.Fill(ctx, nil); return err }},
	{"Store.Retire", 0, nil, func(ctx context.Context, x *endurance) error { return x.store.Retire(ctx, "pages", "size", nil) }},
	{"Store.NotifyPending", 0, later(time.Hour), func(ctx context.Context, x *endurance) error {
		_, err := x.store.NotifyPending(ctx, "plain", 0, nil)
		return err
	}},
	{"Ends.Sweep", 0, later(25 * time.Hour), func(ctx context.Context, x *endurance) error { _, err := x.ends.Sweep(ctx, x.pages, nil); return err }},
	{"Values.Sweep", 0, (*endurance).orphan, func(ctx context.Context, x *endurance) error {
		_, err := x.photos.Sweep(ctx, x.pages, nil)
		return err
	}},
	{"Values.Relink", 0, nil, func(ctx context.Context, x *endurance) error {
		_, err := x.photos.Relink(ctx, x.pages, nil)
		return err
	}},
	{"Mover.ArchiveAll", 0, nil, func(ctx context.Context, x *endurance) error {
		_, err := x.old.ArchiveAll(ctx, x.pages, allPages, nil)
		return err
	}},
	{"Log.Delete", 0, nil, func(ctx context.Context, x *endurance) error {
		_, err := x.log.Delete(ctx, time.Time{}, time.Now().Add(time.Hour), nil)
		return err
	}},
	{"Periods.Drop", 0, later(100 * time.Hour), func(ctx context.Context, x *endurance) error { _, err := x.days.Periods().Drop(ctx, nil); return err }},
	{"Series.Prune", 0, nil, func(ctx context.Context, x *endurance) error {
		_, err := x.visits.Prune(ctx, keys.PartitionRange{}, time.Now().AddDate(10, 0, 0), nil)
		return err
	}},
	{"table.Bulk", 4, nil, func(ctx context.Context, x *endurance) error {
		_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
			for i := range 9 {
				if !yield(x.plain.InsertOp(&page{Site: fmt.Sprint(i % 3), Name: fmt.Sprint(i)}), nil) {
					return
				}
			}
		}, &table.Pass{Concurrency: 1})
		return err
	}},
	{"table.BulkDelete", 0, nil, func(ctx context.Context, x *endurance) error {
		_, err := table.BulkDelete(ctx, x.plain, allPages, nil)
		return err
	}},
	{"table.EachPartition", 0, nil, func(ctx context.Context, x *endurance) error {
		_, err := table.EachPartition(ctx, x.plain, nil, func(ctx context.Context, in keys.PartitionKey) error {
			_, err := x.plain.Get(ctx, keys.At(in, pageName.Of("0")))
			return err
		})
		return err
	}},
	{"transfer.Export", 0, nil, func(ctx context.Context, x *endurance) error { return x.export(ctx) }},
	{"transfer.Import", 0, (*endurance).exportAndClear, func(ctx context.Context, x *endurance) error {
		_, err := transfer.Import(ctx, transfer.Exported(x.backup), x.plain, nil)
		return err
	}},
	{"transfer.ImportEntities", 0, (*endurance).exportAndClear, func(ctx context.Context, x *endurance) error {
		_, err := transfer.ImportEntities(ctx, transfer.Exported(x.backup), x.plain, nil)
		return err
	}},
	{"transfer.Compare", 0, (*endurance).export, func(ctx context.Context, x *endurance) error {
		for _, err := range transfer.Compare(ctx, transfer.Exported(x.backup), transfer.Of(x.plain), nil) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	{"transfer.CopyBlobs", 0, nil, func(ctx context.Context, x *endurance) error {
		_, err := transfer.CopyBlobs(ctx, transfer.Of(x.pages), x.blobs, x.backup, nil)
		return err
	}},
	{"transfer.WriteCSV", 0, nil, func(ctx context.Context, x *endurance) error {
		_, err := transfer.WriteCSV(ctx, new(bytes.Buffer), transfer.Of(x.plain), nil)
		return err
	}},
}

func later(d time.Duration) func(*endurance, context.Context) error {
	return func(*endurance, context.Context) error { time.Sleep(d); return nil }
}

// loseRows deletes an index row of each partition.
func (x *endurance) loseRows(ctx context.Context) error {
	for _, site := range []string{"a", "b", "c"} {
		if _, err := x.service.Tables().NewClient("pages").DeleteEntity(ctx, site, "size_000001_page_1", nil); err != nil {
			return err
		}
	}
	return nil
}

// unfill makes the definitions unfilled, as those of a table from before its catalogue.
func (x *endurance) unfill(ctx context.Context) error {
	_, err := x.service.Tables().NewClient("pages").DeleteEntity(ctx, "~c", "~c", nil)
	return errors.Join(err, x.store.Ensure(ctx))
}

// orphan leaves blobs of a program that has crashed two days ago.
func (x *endurance) orphan(ctx context.Context) error {
	for _, site := range []string{"a", "b", "c"} {
		if _, err := x.photos.Upload(ctx, x.pages, x.pages.Key(page{Site: site, Name: "9"}), strings.NewReader(strings.Repeat("y", 70_000)), ""); err != nil {
			return err
		}
	}
	time.Sleep(50 * time.Hour)
	return nil
}

func (x *endurance) export(ctx context.Context) error {
	_, err := transfer.Export(ctx, x.plain, x.backup, nil)
	return err
}

func (x *endurance) exportAndClear(ctx context.Context) error {
	_, err := table.BulkDelete(ctx, x.plain, table.Query[page]{Partition: pageSite.Of("a")}, nil)
	return errors.Join(x.export(ctx), err)
}

// TestEndures: work on whole tables goes on behind an outage of minutes that begins after any of
// its requests, and has the result that it has without one.
func TestEndures(t *testing.T) {
	t.Parallel()
	const outage = 4 * time.Minute
	faults := map[string]storagetest.Fault{"503": storagetest.Refuse(503, "ServerBusy"), "connection refused": storagetest.NotSent()}
	for _, work := range wholeWork {
		t.Run(work.name, func(t *testing.T) {
			t.Parallel()
			all, want := endure(t, work.before, work.call, -1, 0, storagetest.Fault{})
			if all <= max(work.begun, 1) {
				t.Fatalf("got %d requests; want more than the %d after which the work endures", all, max(work.begun, 1))
			}
			for name, fault := range faults {
				for after := max(work.begun, 1); after < all; after += testkit.Sample(1) {
					if _, got := endure(t, work.before, work.call, after, outage, fault); got != want {
						t.Fatalf("%s, after %d of %d requests: got\n%s\nwant\n%s", name, after, all, got, want)
					}
				}
			}
		})
	}
}

// endure does work during an outage that begins after a number of its requests, and returns how many it
// has sent, and its error with the rows that are stored then.
func endure(t *testing.T, before func(*endurance, context.Context) error, call func(context.Context, *endurance) error, after int, outage time.Duration, fault storagetest.Fault) (sent int, result string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		x := newEndurance(t)
		if before != nil {
			testkit.NoError(t, before(x, t.Context()))
		}
		var mu sync.Mutex
		var began time.Time
		x.service.SetFaults(storagetest.When(func(storagetest.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			sent++
			if sent == after+1 {
				began = time.Now()
			}
			return after >= 0 && sent > after && time.Since(began) < outage
		}, fault))
		err := call(t.Context(), x)
		x.service.SetFaults(nil)
		time.Sleep(3 * time.Minute) // for reads ahead, and until hidden messages are visible
		testkit.NoError(t, x.store.Drain(t.Context()))
		result = fmt.Sprintf("error: %v", err)
		for _, name := range x.service.TableNames() {
			rows := slices.DeleteFunc(x.service.Rows(name), func(r storagetest.Row) bool { return strings.HasPrefix(r.RowKey, "~") })
			result += fmt.Sprintf("\n%d rows of %s:", len(rows), name)
			for _, r := range rows {
				result += fmt.Sprintf(" %s/%s", r.PartitionKey, volatile.ReplaceAllString(r.RowKey, "…"))
			}
		}
	})
	return sent, result
}
