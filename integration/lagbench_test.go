package integration

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/table"
)

// item is the entity type of the benchmark.
type item struct {
	Group string
	ID    int
	Text  string
}

var itemSchema = table.Schema[item]{
	Partition: keys.Partition(keys.Text(), func(m *item) *string { return &m.Group }),
	Row:       keys.Row(keys.Digits[int](6).Named("m"), func(m *item) *int { return &m.ID }),
}

// BenchmarkLag changes 50 entities a second on Azurite, for ten seconds, with four workers. It reports how long a view, or an index
// elsewhere, takes to follow: from the beginning of the write to the end of the worker's effect. It reports how long the writes
// take, too.
//
//	go test -run='^$' -bench=Lag -benchtime=1x ./integration
func BenchmarkLag(b *testing.B) {
	if testing.Short() {
		b.Skip("-short: starts Azurite")
	}
	service := backends[len(backends)-1]
	for name, attach := range map[string]attachment{"view": attachView, "index": attachIndex} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				byWorkers := measureLag(b, service, attach)
				for name, all := range map[string][]time.Duration{"": byWorkers.lag, "write-": byWorkers.writes} {
					slices.Sort(all)
					b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, name+"p50-ms")
					b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, name+"p99-ms")
				}
				b.ReportMetric(float64(byWorkers.backlog), "backlog")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// attachment attaches what follows items elsewhere. It returns the handle, and the handler of the effects.
type attachment func(ctx context.Context, acc *account.Account, items *table.Table[item]) (*table.Table[item], host.Handler, error)

func attachView(ctx context.Context, acc *account.Account, items *table.Table[item]) (t *table.Table[item], h host.Handler, err error) {
	to, err := bare.NewTable(acc.Tables(), items.Name()+"v", colleagueSchema, nil)
	if err != nil {
		return
	}
	if t, err = baretest.Attach(items, materialized.New("view", to, func(i *item, _ keys.Key) (colleague, bool) {
		return colleague{i.ID, i.Text, i.Group}, true
	})); err != nil {
		return
	}
	return t, baretest.Handlers(t)[0], tabledoor.Ensure(ctx, to)
}

func attachIndex(ctx context.Context, _ *account.Account, items *table.Table[item]) (t *table.Table[item], h host.Handler, err error) {
	byID := index.NewGlobal("byid", keys.Digits[int](6), func(i *item) (int, bool) { return i.ID, true }, nil)
	if t, err = baretest.Attach(items, byID); err != nil {
		return
	}
	return t, baretest.Handlers(t)[0], baretest.Ensure(ctx, t)
}

type lag struct {
	lag, writes []time.Duration
	backlog     int
}

// measureLag changes entities at a rate of 50 a second.
func measureLag(b *testing.B, service backend, attach attachment) (l lag) {
	const rate, writes = 50, 500
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatalf("got error %v; want none", err)
		}
	}
	o := &account.Options{}
	if service.Name() == "azurite" {
		o.Client.PerCallPolicies = append(o.Client.PerCallPolicies, azurite.ASCII{})
	}
	acc, err := account.FromConnectionString(service.ConnectionString(), o)
	must(err)
	name := freshName()
	base, err := bare.NewTable(acc.Tables(), name, itemSchema, nil)
	must(err)
	out, err := bareworker.NewOutbox(acc.Queues().NewQueueClient(name+"q"), nil)
	must(err)
	notifying, err := baretest.WithOutbox(base, out)
	must(err)
	must(tabledoor.Ensure(ctx, base))
	items, h, err := attach(ctx, acc, notifying)
	must(err)

	var mu sync.Mutex
	begun := map[string]time.Time{}
	followed := make(chan struct{}, writes)
	execute := h.Handle
	h.Handle = func(ctx context.Context, j eventual.Job) error {
		err := execute(ctx, j)
		mu.Lock()
		defer mu.Unlock()
		if began, of := begun[j.Key.RowKey()]; err == nil && of {
			l.lag = append(l.lag, time.Since(began))
			delete(begun, j.Key.RowKey())
			followed <- struct{}{}
		}
		return err
	}
	newWorker := func() bareworker.Worker {
		w, err := bareworker.New(acc.Queues().NewQueueClient(name+"q"), acc.Queues().NewQueueClient(name+"p"), []host.Handler{h}, &eventual.WorkerOptions{Concurrency: 8, Idle: 500 * time.Millisecond})
		must(err)
		return w
	}
	first := newWorker()
	must(first.Ensure(ctx))
	var all []*table.Entity[item]
	for i := range writes {
		e, err := base.Insert(ctx, &item{fmt.Sprint("g", i%20), i, "before"})
		must(err)
		all = append(all, e)
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	var workers sync.WaitGroup
	for range 4 {
		w := newWorker()
		workers.Go(func() { w.Run(working) })
	}

	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	var writing sync.WaitGroup
	for i, e := range all {
		<-tick.C
		writing.Go(func() {
			began := time.Now()
			mu.Lock()
			begun[e.Key.RowKey()] = began
			mu.Unlock()
			e.Value.Text = "after"
			err := items.Replace(ctx, e)
			returned := time.Now()
			mu.Lock()
			defer mu.Unlock()
			l.writes = append(l.writes, returned.Sub(began))
			if err != nil {
				b.Errorf("write: got error %v; want none", err)
				cancel()
			}
		})
		if i%rate == rate-1 {
			n, err := first.Backlog(ctx)
			must(err)
			l.backlog = max(l.backlog, n)
		}
	}
	writing.Wait()
	for range writes {
		select {
		case <-followed:
		case <-ctx.Done():
			b.Fatal("got entities that the view does not follow after a minute; want none")
		}
	}
	stop()
	workers.Wait()
	return l
}
