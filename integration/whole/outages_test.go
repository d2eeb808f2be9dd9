package whole_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"text/tabwriter"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"
	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/archive/blobarchive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/internal/testkit/valuestest"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// outage is what the methods of TestOutages work on: a table with the row of jones, a queue and two containers.
type outage struct {
	s       *storagetest.Service
	tables  *aztables.ServiceClient
	client  *aztables.Client
	base    *table.Table[Employee]
	indexed *table.Table[Employee]
	sending *table.Table[Employee] // with effects
	spread  *table.Table[Employee] // with indexes in other partitions
	jones   *table.Entity[Employee]
	out     bareworker.Outbox
	photos  valuestest.Values[photographed]
	logs    baretest.Registry // of the log in a table
	blobs   baretest.Registry // of the log in blobs
	lines   *logtail.Log[Employee]
	events  *bloblog.Log[Employee]
	log     *bloblog.Writer[Employee]
	poison  *eventual.PoisonQueue
	photo   largeentity.Blob
	cold    workertest.Destination
	common  table.Common // and the queues: of a worker
	queues  services
}

// services are the clients of a service in memory: those of an account, or the SDK's own.
type services interface {
	Tables() *aztables.ServiceClient
	Queues() *azqueue.ServiceClient
	Blobs() *service.Client
}

func newOutage(t *testing.T) *outage {
	s := storagetest.New(nil)
	return newOutageOf(t, s, s)
}

func newOutageOf(t *testing.T, service *storagetest.Service, s services) *outage {
	x := openOutage(t, s, table.Common{})
	x.s = service
	x.fill(t)
	return x
}

// openOutage opens the tables, the queue and the containers, and sends nothing.
func openOutage(t *testing.T, s services, common table.Common) *outage {
	x := &outage{tables: s.Tables(), client: s.Tables().NewClient("staff"), base: openStaffWith(t, s.Tables(), common)}
	x.indexed = attach(t, x.base)
	var err error
	x.out, err = bareworker.NewOutbox(s.Queues().NewQueueClient("notifications"), &common)
	fatal(t, err)
	x.sending, err = baretest.WithOutbox(x.base, x.out, bare.OnChange("badge", func(*extend.Change[Employee]) (string, bool) { return "new", true }))
	fatal(t, err)
	unique := index.NewUnique("unique", keys.Text(), func(e *Employee) (string, bool) { return e.Name, true }, nil)
	elsewhere := index.NewGlobal("elsewhere", keys.Text(), func(e *Employee) (string, bool) { return e.Name, true }, nil)
	x.spread, err = baretest.Attach(x.sending, unique, elsewhere)
	fatal(t, err)
	x.lines = logtail.New[Employee](&host.Host{Tables: s.Tables(), Registry: &x.logs}, "lines", &logtail.Options{Common: common})
	staff, err := bare.NewTable(s.Tables(), "staff", table.Schema[photographed]{
		Partition: keys.RawPartitionOf(func(e *photographed) *string { return &e.Department }),
		Row:       keys.RawRowOf(func(e *photographed) *string { return &e.ID }),
	}, nil)
	fatal(t, err)
	x.photos, _, err = valuestest.New(staff, s, "photos", &largeentity.Options{Common: common})
	fatal(t, err)
	x.events = bloblog.New(&host.Host{Account: s, Registry: &x.blobs}, "events", &bloblog.Options[Employee]{Common: common})
	x.log, err = x.events.Writer("staff")
	fatal(t, err)
	x.poison, err = bareworker.NewPoisonQueue(s.Queues().NewQueueClient("moves"), s.Queues().NewQueueClient("notifications"), &common)
	fatal(t, err)
	x.cold, err = workertest.Place(&host.Host{Account: s}, blobarchive.New("cold", &archive.Options{Common: common}))
	fatal(t, err)
	return x
}

// photographed is an Employee with a large value.
type photographed struct {
	Department, ID string
	Photo          largeentity.Blob
}

// fill creates what the methods work on.
func (x *outage) fill(t *testing.T) {
	ctx := t.Context()
	fatal(t, errors.Join(tabledoor.Ensure(ctx, x.base), x.out.Ensure(ctx), baretest.Ensure(ctx, x.spread), x.photos.Ensure(ctx), x.logs.Ensure(ctx), x.blobs.Ensure(ctx), x.cold.Ensure(ctx)))
	fatal(t, kitInsert(ctx, x.base))
	fatal(t, errors.Join(x.log.Append(ctx, smith), x.log.Flush(ctx)))
	fatal(t, x.cold.Put(ctx, archivedJones, ""))
	var err error
	x.photo, err = x.photos.Upload(ctx, jones, strings.NewReader(strings.Repeat("x", 100_000)), "")
	fatal(t, err)
	x.jones, err = x.base.Get(ctx, jones)
	fatal(t, err)
}

var archivedJones = &archive.ArchivedRow{ID: archive.ID{Key: jones, Incarnation: strings.Repeat("1", 16)}, Row: &table.Row{Key: jones}}

var smith = &Employee{Department: "Sales", ID: "000224", Name: "Smith", Hired: hired}

// outageMethods are the methods of the library, beside what a program with the SDK calls.
var outageMethods = []struct {
	name     string
	reads    bool // it is a read, or begins with one: the SDK repeats it
	kit, sdk func(context.Context, *outage) error
}{
	{"Ensure", false, func(ctx context.Context, x *outage) error { return tabledoor.Ensure(ctx, x.base) }, func(ctx context.Context, x *outage) error { return sdkCreate(ctx, x.client) }},
	{"Insert", false, func(ctx context.Context, x *outage) error { _, err := x.base.Insert(ctx, smith); return err }, sdkOutageInsert},
	{"Insert, exact", false, func(ctx context.Context, x *outage) error { _, err := x.base.Exact().Insert(ctx, smith); return err }, sdkOutageTransaction},
	{"Insert, indexed", false, func(ctx context.Context, x *outage) error { _, err := x.indexed.Insert(ctx, smith); return err }, sdkOutageTransaction},
	{"Insert, outbox", false, func(ctx context.Context, x *outage) error { _, err := x.sending.Insert(ctx, smith); return err }, func(ctx context.Context, x *outage) error {
		if _, err := x.s.Queues().NewQueueClient("notifications").EnqueueMessage(ctx, "m", nil); err != nil {
			return err
		}
		return sdkOutageTransaction(ctx, x)
	}},
	{"Insert, unique everywhere", false, func(ctx context.Context, x *outage) error { _, err := x.spread.Insert(ctx, smith); return err }, sdkOutageTwoTransactions},
	{"Move", false, func(ctx context.Context, x *outage) error {
		x.jones.Value.Department = "Marketing"
		return x.sending.Move(ctx, x.jones)
	}, func(ctx context.Context, x *outage) error {
		return errors.Join(sdkOutageInsert(ctx, x), sdkOutageDelete(ctx, x))
	}},
	{"Move inside a partition", false, func(ctx context.Context, x *outage) error {
		x.jones.Value.ID = "000299"
		return x.base.Move(ctx, x.jones)
	}, sdkOutageTransaction},
	{"logtail", false, func(ctx context.Context, x *outage) error { _, err := x.lines.Append(ctx, smith); return err }, sdkOutageTransaction},
	{"Upsert", false, func(ctx context.Context, x *outage) error {
		_, err := x.base.Upsert(ctx, smith, table.ReplaceExisting)
		return err
	}, sdkOutageUpsert},
	{"Replace", false, func(ctx context.Context, x *outage) error { return x.base.Replace(ctx, x.jones) }, sdkOutageUpsert},
	{"Merge", false, func(ctx context.Context, x *outage) error { return x.base.Merge(ctx, x.jones, age.Set(50)) }, sdkOutageUpsert},
	{"MergeAny", false, func(ctx context.Context, x *outage) error { return x.indexed.MergeAny(ctx, jones, age.Set(50)) }, sdkOutageUpsert},
	{"Update", false, func(ctx context.Context, x *outage) error {
		_, err := x.base.Update(ctx, jones, func(e *Employee) error { e.Age++; return nil })
		return err
	}, sdkOutageUpsert},
	{"Delete", false, func(ctx context.Context, x *outage) error { return x.base.Delete(ctx, x.jones) }, sdkOutageDelete},
	{"DeleteAny", false, func(ctx context.Context, x *outage) error { return x.indexed.DeleteAny(ctx, jones) }, sdkOutageDelete},
	{"Delete, indexed", false, func(ctx context.Context, x *outage) error {
		e, err := x.indexed.Insert(ctx, smith)
		if err != nil {
			return err
		}
		return x.indexed.Delete(ctx, e)
	}, func(ctx context.Context, x *outage) error {
		return errors.Join(sdkOutageTransaction(ctx, x), sdkOutageDelete(ctx, x))
	}},
	{"Transact, exact", false, func(ctx context.Context, x *outage) error {
		_, err := table.Transact(ctx, x.base.Exact().InsertOp(smith), x.base.Exact().DeleteOp(x.jones))
		return err
	}, sdkOutageTransaction},
	{"Transact", false, func(ctx context.Context, x *outage) error {
		_, err := table.Transact(ctx, x.base.InsertOp(smith), x.base.DeleteOp(x.jones))
		return err
	}, sdkOutageTransaction},
	{"table.Bulk", false, func(ctx context.Context, x *outage) error {
		_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) { yield(x.indexed.InsertOp(smith), nil) }, nil)
		return err
	}, sdkOutageTransaction},
	{"table.BulkDelete", true, func(ctx context.Context, x *outage) error {
		_, err := table.BulkDelete(ctx, x.base, table.Query[Employee]{TableScan: true}, nil)
		return err
	}, func(ctx context.Context, x *outage) error {
		return errors.Join(sdkOutageList(ctx, x), sdkOutageDelete(ctx, x))
	}},
	{"Outbox.Ensure", false, func(ctx context.Context, x *outage) error { return x.out.Ensure(ctx) }, func(ctx context.Context, x *outage) error {
		_, err := x.s.Queues().NewQueueClient("notifications").Create(ctx, nil)
		return err
	}},
	{"Store.Ensure", false, func(ctx context.Context, x *outage) error { return x.photos.Ensure(ctx) }, sdkOutageContainer},
	{"Destination.Ensure", false, func(ctx context.Context, x *outage) error { return x.cold.Ensure(ctx) }, sdkOutageContainer},
	{"Upload", false, func(ctx context.Context, x *outage) error {
		_, err := x.photos.Upload(ctx, jones, strings.NewReader(strings.Repeat("x", 100_000)), "")
		return err
	}, sdkOutageBlob},
	{"bloblog", false, func(ctx context.Context, x *outage) error {
		return errors.Join(x.log.Append(ctx, smith), x.log.Flush(ctx))
	}, sdkOutageBlob},
	{"blobarchive", false, func(ctx context.Context, x *outage) error {
		return x.cold.Put(ctx, &archive.ArchivedRow{ID: archive.ID{Key: jones, Incarnation: strings.Repeat("0", 16)}, Row: &table.Row{Key: jones}}, "")
	}, sdkOutageBlob},
	{"Get", true, func(ctx context.Context, x *outage) error { _, err := x.base.Get(ctx, jones); return err }, func(ctx context.Context, x *outage) error {
		_, err := x.client.GetEntity(ctx, "Sales", jones.RowKey(), nil)
		return err
	}},
	{"GetMany", true, func(ctx context.Context, x *outage) error {
		for _, err := range x.base.GetMany(ctx, jones) {
			if err != nil {
				return err
			}
		}
		return nil
	}, sdkOutageList},
	{"List", true, func(ctx context.Context, x *outage) error {
		_, err := table.Collect(x.base.List(ctx, table.Query[Employee]{TableScan: true}))
		return err
	}, sdkOutageList},
	{"look-up", true, func(ctx context.Context, x *outage) error {
		_, err := table.Collect(byName.List(ctx, x.indexed, keys.RawPartition("Sales"), "Jones"))
		return err
	}, sdkOutageList},
}

func sdkOutageInsert(ctx context.Context, x *outage) error {
	_, err := x.client.AddEntity(ctx, []byte(`{"PartitionKey":"Sales","RowKey":"000224"}`), nil)
	return err
}

func sdkOutageUpsert(ctx context.Context, x *outage) error {
	_, err := x.client.UpsertEntity(ctx, []byte(`{"PartitionKey":"Sales","RowKey":"000223"}`), nil)
	return err
}

func sdkOutageDelete(ctx context.Context, x *outage) error {
	_, err := x.client.DeleteEntity(ctx, "Sales", jones.RowKey(), nil)
	return err
}

func sdkOutageTransaction(ctx context.Context, x *outage) error {
	_, err := x.client.SubmitTransaction(ctx, []aztables.TransactionAction{{ActionType: aztables.TransactionTypeAdd, Entity: []byte(`{"PartitionKey":"Sales","RowKey":"000224"}`)}}, nil)
	return err
}

func sdkOutageTwoTransactions(ctx context.Context, x *outage) error {
	return errors.Join(sdkOutageTransaction(ctx, x), sdkOutageUpsert(ctx, x))
}

func sdkOutageList(ctx context.Context, x *outage) error {
	_, err := x.client.NewListEntitiesPager(nil).NextPage(ctx)
	return err
}

func sdkOutageContainer(ctx context.Context, x *outage) error {
	_, err := x.s.Blobs().NewContainerClient("new").Create(ctx, nil)
	return err
}

func sdkOutageBlob(ctx context.Context, x *outage) error {
	_, err := x.s.Blobs().NewContainerClient("photos").NewBlockBlobClient("b").Upload(ctx, streaming.NopCloser(strings.NewReader("x")), nil)
	return err
}

// TestOutages: a write gets through every outage that ends within its time, of whichever kind, and a read through those that the SDK
// gets through.
func TestOutages(t *testing.T) {
	t.Parallel()
	const noResponse = "no response" // the SDK waits for it without a bound, and a read of the library for its ReadTimeout
	kinds := []struct {
		name  string
		fault storagetest.Fault
	}{
		{"connection refused", storagetest.NotSent()},
		{"request lost", storagetest.LostRequest()},
		{"408", storagetest.Refuse(408, "RequestTimeout")},
		{"429", storagetest.Refuse(429, "TooManyRequests")},
		{"500", storagetest.Refuse(500, "InternalError")},
		{"500 timed out", storagetest.Refuse(500, "OperationTimedOut")},
		{"502", storagetest.Refuse(502, "")},
		{"503", storagetest.Refuse(503, "ServerBusy")},
		{"504", storagetest.Refuse(504, "")},
		{noResponse, storagetest.Hang()},
	}
	lengths := []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 5 * time.Second, 20 * time.Second}
	const longestRead = 3 // the last length that the SDK's pauses cover

	compared := testkit.Sample(1) == 1 // with the SDK, of which nothing is expected
	sample := testkit.Sample(1)
	if testing.Short() {
		sample *= 2
	}
	through := map[string]int{}
	var mu sync.Mutex
	t.Run("kinds", func(t *testing.T) {
		for k, kind := range kinds {
			t.Run(kind.name, func(t *testing.T) {
				t.Parallel()
				for i, length := range lengths {
					for j, m := range outageMethods {
						// Of a sample, each method with each kind, and not with each length, unless
						// there is no response and the test is not short.
						if (kind.name != noResponse || testing.Short()) && (i+j+k)%sample != 0 {
							continue
						}
						for who, call := range map[string]func(context.Context, *outage) error{"kit": m.kit, "sdk": m.sdk} {
							if who == "sdk" && !compared {
								continue
							}
							var err error
							var took time.Duration
							synctest.Test(t, func(t *testing.T) {
								x := newOutage(t)
								start := time.Now()
								x.s.SetFaults(storagetest.When(func(storagetest.Request) bool { return time.Since(start) < length }, kind.fault))
								ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
								defer cancel()
								err = call(ctx, x)
								took = time.Since(start)
							})
							if err == nil {
								mu.Lock()
								through[fmt.Sprint(kind.name, length, who)]++
								mu.Unlock()
							} else if who == "kit" && (!m.reads || i <= longestRead && kind.name != noResponse) {
								t.Errorf("%s, an outage of %v: got %v after %v; want none", m.name, length, err, took)
							}
						}
					}
				}
			})
		}
	})
	if testing.Short() || !compared {
		return
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "methods of %d that get through, library / SDK\t%v\n", len(outageMethods), strings.ReplaceAll(strings.Trim(fmt.Sprint(lengths), "[]"), " ", "\t"))
	for _, kind := range kinds {
		fmt.Fprint(w, kind.name)
		for _, length := range lengths {
			fmt.Fprintf(w, "\t%d / %d", through[fmt.Sprint(kind.name, length, "kit")], through[fmt.Sprint(kind.name, length, "sdk")])
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	t.Log("\n" + b.String())
}

// TestOutagesMeanwhile: a write gets through an outage of some seconds that begins after any of its requests.
func TestOutagesMeanwhile(t *testing.T) {
	t.Parallel()
	faults := map[string]storagetest.Fault{"connection refused": storagetest.NotSent(), "500": storagetest.Refuse(500, "InternalError")}
	if !testing.Short() {
		faults["request lost"], faults["503"] = storagetest.LostRequest(), storagetest.Refuse(503, "ServerBusy")
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, m := range outageMethods {
				if m.reads {
					continue
				}
				for after, began := 1, true; began; after++ {
					synctest.Test(t, func(t *testing.T) {
						x := newOutage(t)
						sent, start := 0, time.Time{}
						var mu sync.Mutex
						x.s.SetFaults(storagetest.When(func(storagetest.Request) bool {
							mu.Lock()
							defer mu.Unlock()
							if sent++; sent == after+1 {
								start = time.Now()
							}
							return sent > after && time.Since(start) < 3*time.Second
						}, fault))
						if err := m.kit(t.Context(), x); err != nil {
							t.Errorf("%s, an outage after %d requests: got %v after %v and %d requests; want none", m.name, after, err, time.Since(start), sent)
						}
						began = !start.IsZero()
					})
				}
			}
		})
	}
}

// TestOutagesAfterLostResponses: a write gets through an outage after the response to any of its requests was lost, at once or after the
// next request, but for deletes: that of a row that is gone may be another program's.
func TestOutagesAfterLostResponses(t *testing.T) {
	t.Parallel()
	for i, m := range outageMethods {
		if m.reads || testing.Short() && i%3 != 0 && !strings.Contains(m.name, "load") {
			continue
		}
		for n, began := 2, true; began; n++ {
			lost, between := n/2, n%2
			var err error
			synctest.Test(t, func(t *testing.T) {
				x := newOutage(t)
				sent, start := 0, time.Time{}
				var mu sync.Mutex
				count := func(storagetest.Request) bool {
					mu.Lock()
					defer mu.Unlock()
					if sent++; sent == lost {
						start = time.Now()
					}
					return sent == lost
				}
				down := func(storagetest.Request) bool { return sent > lost+between && time.Since(start) < 20*time.Second }
				x.s.SetFaults(storagetest.First(storagetest.When(count, storagetest.LostResponse()), storagetest.When(down, storagetest.NotSent())))
				err = m.kit(t.Context(), x)
				began = !start.IsZero()
			})
			if err != nil && !(strings.Contains(m.name, "Delete") && errors.Is(err, table.ErrUnknownOutcome)) {
				t.Errorf("%s, an outage %d requests after response %d was lost: got %v; want none", m.name, between, lost, err)
			}
		}
	}
}

// TestSingleAttempt: with Retry.Attempts of 1, a write is sent once, whatever its outcome.
func TestSingleAttempt(t *testing.T) {
	t.Parallel()
	for _, fault := range []storagetest.Fault{storagetest.NotSent(), storagetest.LostRequest(), storagetest.Refuse(503, "ServerBusy"), storagetest.Refuse(500, "InternalError")} {
		synctest.Test(t, func(t *testing.T) {
			s := storagetest.New(nil)
			fatal(t, tabledoor.Ensure(t.Context(), openStaff(t, s.Tables())))
			o := &table.Options{}
			o.Retry.Attempts, o.BlindWrites = 1, true
			rows, err := bare.NewTable(s.Tables(), "staff", table.Schema[table.Row]{}, o)
			fatal(t, err)
			sent := 0
			s.SetFaults(storagetest.When(func(q storagetest.Request) bool {
				if q.Kind != requests.Get { // which looks at the row
					sent++
				}
				return true
			}, fault))
			if _, err = rows.Upsert(t.Context(), &table.Row{Key: jones}, table.ReplaceExisting); err == nil || sent != 1 {
				t.Errorf("%v: got %v after %d writes; want an error after 1", fault, err, sent)
			}
		})
	}
}
