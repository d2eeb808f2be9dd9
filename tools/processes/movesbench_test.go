package processes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/table"
)

// BenchmarkMoves requests 50 moves a second from Azurite, for ten seconds, with four workers. It reports how long each takes from
// the request to the archive, and how many messages are waiting. For comparison it does the same in the guide's way, which loses
// concurrent changes: a message with the key, a copy, a deletion, by four workers that ask the queue every 50 ms and execute one
// message at a time. The ratio is that of the two medians.
//
//	go test -run='^$' -bench=Moves -benchtime=1x ./tools/processes
func BenchmarkMoves(b *testing.B) {
	if testing.Short() {
		b.Skip("-short: starts Azurite")
	}
	const rate, moves = 50, 500
	for range b.N {
		guide := measureMoves(b, rate, moves, false)
		ours := measureMoves(b, rate, moves, true)
		b.ReportMetric(float64(ours.p99.Milliseconds()), "p99-ms")
		b.ReportMetric(float64(guide.p99.Milliseconds()), "guide-p99-ms")
		b.ReportMetric(float64(ours.p50)/float64(guide.p50), "p50/guide")
		b.ReportMetric(float64(ours.backlog), "backlog")
		b.ReportMetric(0, "ns/op")
	}
}

type measurement struct {
	p50, p99 time.Duration
	backlog  int
}

// measureMoves moves entities at a rate, in the library's way or in the guide's.
func measureMoves(b *testing.B, rate, moves int, ours bool) (p measurement) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	mp := &moverProcess{connection: service, Name: freshName()}
	must(b, mp.connect())
	first, err := mp.worker()
	must(b, err)
	must(b, errors.Join(tabledoor.Ensure(ctx, mp.current), mp.old.Ensure(ctx), first.Ensure(ctx)))
	var all []*table.Entity[item]
	for i := range moves {
		e, err := mp.current.Insert(ctx, &item{fmt.Sprint("g", i%20), i, "text"})
		must(b, err)
		all = append(all, e)
	}
	var mu sync.Mutex
	asked, took := map[string]time.Time{}, []time.Duration{}
	moved := make(chan struct{}, moves)
	done := func(key string) {
		mu.Lock()
		defer mu.Unlock()
		took = append(took, time.Since(asked[key]))
		moved <- struct{}{}
	}

	working, stop := context.WithCancel(ctx)
	defer stop()
	var workers sync.WaitGroup
	for range 4 {
		if ours {
			h := mp.mover.Handler
			move := h.Handle
			h.Handle = func(ctx context.Context, j eventual.Job) error {
				err := move(ctx, j)
				if err == nil {
					done(j.Key.RowKey())
				}
				return err
			}
			w, err := bareworker.New(mp.acc.Queues().NewQueueClient(mp.Name+"q"), mp.acc.Queues().NewQueueClient(mp.Name+"p"), []host.Handler{h}, &eventual.WorkerOptions{Concurrency: 8, Idle: 500 * time.Millisecond})
			must(b, err)
			workers.Go(func() { w.Run(working) })
		} else {
			workers.Go(func() { mp.workAsInGuide(working, done) })
		}
	}
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	var asking sync.WaitGroup
	for i, e := range all {
		<-tick.C
		asking.Go(func() {
			mu.Lock()
			asked[e.Key.RowKey()] = time.Now()
			mu.Unlock()
			var err error
			if ours {
				err = mp.mover.Archive(ctx, e)
			} else {
				_, err = mp.acc.Queues().NewQueueClient(mp.Name+"q").EnqueueMessage(ctx, e.Key.PartitionKey()+"/"+e.Key.RowKey(), nil)
			}
			if err != nil {
				b.Errorf("request of a move: got error %v; want none", err)
				cancel()
			}
		})
		if i%rate == rate-1 {
			n, err := first.Backlog(ctx)
			must(b, err)
			p.backlog = max(p.backlog, n)
		}
	}
	asking.Wait()
	for range moves {
		select {
		case <-moved:
		case <-ctx.Done():
			b.Fatal("got entities that are not moved after a minute; want none")
		}
	}
	stop()
	workers.Wait()
	slices.Sort(took)
	p.p50, p.p99 = took[len(took)/2], took[len(took)*99/100]
	return p
}

// workAsInGuide is a worker of the guide's pattern.
func (mp *moverProcess) workAsInGuide(ctx context.Context, done func(string)) {
	q := mp.acc.Queues().NewQueueClient(mp.Name + "q")
	from, to := mp.acc.Tables().NewClient(mp.Name+"c"), mp.acc.Tables().NewClient(mp.Name+"o")
	for ctx.Err() == nil {
		got, err := q.DequeueMessage(ctx, nil)
		if err != nil || len(got.Messages) == 0 {
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		m := got.Messages[0]
		group, key, _ := strings.Cut(*m.MessageText, "/")
		e, err := from.GetEntity(ctx, group, key, nil)
		if err == nil {
			_, err = to.UpsertEntity(ctx, e.Value, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
		}
		if err == nil {
			_, err = from.DeleteEntity(ctx, group, key, nil)
		}
		if err == nil {
			done(key)
			_, _ = q.DeleteMessage(ctx, *m.MessageID, *m.PopReceipt, nil)
		}
	}
}
