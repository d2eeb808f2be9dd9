package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// This file measures package verify on a table of entities with one full copy each.

// verifies returns the goals for package verify on n entities, in one partition and in partitions
// of 100. The goal of the heap is for 100,000.
func verifies(n int) (lines []line) {
	for _, c := range []struct {
		id, where  string
		partitions int
	}{{"verify1", "in one partition", 1}, {"verify2", "in partitions of 100", n / 100}} {
		recorded := sync.OnceValues(func() (*verified, error) { return newVerified(context.Background(), n, c.partitions) })
		lines = append(lines, line{c.id, "Verify, one full copy of each entity, " + c.where, func(ctx context.Context, _ settings) (result, error) {
			v, err := recorded()
			if err != nil {
				return result{}, err
			}
			cpu, allocs, err := v.cost(ctx)
			value, memory := most(25, "µs an entity"), most(verifiedAllocs, "allocs an entity")
			value.Got, memory.Got = cpu, allocs
			return result{Value: value, Memory: &memory}, err
		}}, line{c.id + "h", "peak heap of the same", func(ctx context.Context, _ settings) (result, error) {
			v, err := recorded()
			if err != nil {
				return result{}, err
			}
			value := most(100, "MB")
			value.NoGoal = n < 100_000
			value.Got, err = v.peakHeap(ctx)
			return result{Value: value}, err
		}})
	}
	return lines
}

// verifiedAllocs is the greatest number of allocations for each entity with one full copy.
const verifiedAllocs = 35

// verified is a recorded table of orders with one full copy each.
type verified struct {
	table    *table.Table[order]
	entities int
}

// newVerified stores n orders in some partitions, and records a run of package verify over them.
func newVerified(ctx context.Context, n, partitions int) (*verified, error) {
	r := newReplay()
	byEmail := emailIndex("email")
	acc, err := account.FromTransport(r.service, nil)
	if err != nil {
		return nil, err
	}
	stored, err := bare.NewTable(acc.Tables(), tableName, orderSchema(), nil)
	if err != nil {
		return nil, err
	}
	if stored, err = baretest.Attach(stored, byEmail); err != nil {
		return nil, err
	}
	if err := tabledoor.Ensure(ctx, stored); err != nil {
		return nil, err
	}
	each := n / partitions
	result, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range n {
			o := newOrder(i)
			if o.Customer = fmt.Sprintf("%s%04d", customer, i/each); !yield(stored.InsertOp(&o), nil) {
				return
			}
		}
	}, nil)
	if err != nil {
		return nil, err
	}
	if err := expect("stored entities", result.Applied, n); err != nil {
		return nil, err
	}
	t, err := newTape(r.service)
	if err != nil {
		return nil, err
	}
	v := &verified{entities: n}
	if v.table, err = tapedOrders(t, byEmail); err != nil {
		return nil, err
	}
	err = v.run(ctx)
	t.service = nil      // its rows would be part of the heap
	debug.FreeOSMemory() // or the runtime gives the memory of the service back during the measurement
	return v, err
}

// run verifies the table, which has no fault.
func (v *verified) run(ctx context.Context) error {
	r, err := verify.Check(ctx, v.table, nil)
	if err == nil && r.Faults > 0 {
		err = fmt.Errorf("got the report %+v; want no fault", r)
	}
	if err == nil {
		err = expect("entities", r.Rows, v.entities)
	}
	if err == nil {
		err = expect("rows", r.Counts["derived rows"], v.entities)
	}
	return err
}

// cost returns the microseconds of processor time and the allocations of a run, for each entity:
// the least of several runs.
func (v *verified) cost(ctx context.Context) (cpu, allocs float64, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for i := range 5 {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := processTime()
		if err := v.run(ctx); err != nil {
			return 0, 0, err
		}
		took := float64((processTime() - began).Nanoseconds()) / 1000 / float64(v.entities)
		runtime.ReadMemStats(&after)
		n := float64(after.Mallocs-before.Mallocs) / float64(v.entities)
		if i == 0 {
			cpu, allocs = took, n
		}
		cpu, allocs = min(cpu, took), min(allocs, n)
	}
	return cpu, allocs, nil
}

// peakHeap returns the greatest size of the heap during a run, in MB, garbage included.
func (v *verified) peakHeap(ctx context.Context) (float64, error) {
	liveHeap()
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for most := uint64(0); ; {
			metrics.Read(s)
			most = max(most, s[0].Value.Uint64())
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	err := v.run(ctx)
	close(stop)
	return float64(<-peak) / 1e6, err
}
