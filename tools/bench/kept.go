package main

import (
	"context"
	"runtime"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// This file measures how much memory an entity holds that a program keeps of a list.

// kept is the goal for the memory of a kept entity.
func kept() wait {
	return wait{"kept", "memory of each entity kept, 1 of 1,000 of 1,000,000", most(4096, "bytes"), func(ctx context.Context) (float64, error) { return keep(ctx, 1000) }}
}

// keep lists pages of 1,000 orders, keeps one order of each, and returns the bytes that each holds.
func keep(ctx context.Context, pages int) (float64, error) {
	r := newReplay()
	if err := create(r, newOrders(pageSize)...); err != nil {
		return 0, err
	}
	t, err := ordersOf(r, nil)
	if err != nil {
		return 0, err
	}
	all := make([]*table.Entity[order], 0, pages)
	list := func() error {
		n := 0
		for e, err := range t.List(ctx, table.Query[order]{Partition: keys.RawPartition(customer)}) {
			if err != nil {
				return err
			}
			if n == pageSize/2 {
				all = append(all, e)
			}
			n++
		}
		return expect("entities", n, pageSize)
	}
	if err := list(); err != nil { // records the response
		return 0, err
	}
	all = all[:0]
	before := liveHeap()
	for range pages {
		if err := list(); err != nil {
			return 0, err
		}
	}
	after := liveHeap()
	runtime.KeepAlive(r)
	return float64(int64(after)-int64(before)) / float64(pages), expect("kept entities", len(all), pages)
}

// liveHeap returns the size of the live heap.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // empties pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
