package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// pair is an operation of the library and its baseline.
type pair struct {
	ours, base func() error

	entities int // that one call reads or writes, for goals of allocations for each entity
	data     int // bytes of values that one call reads or writes, for goals of bytes

	clock func() time.Duration // nil: the processor time of this process
}

// settings are how much is measured.
type settings struct {
	slices int           // pairs of slices
	slice  time.Duration // the least time of one slice
}

// spread is the median of ratios, and the ratios below and above which a tenth of them are.
type spread struct{ median, low, high float64 }

// compare returns the ratio of the times of a pair: slices alternate in the order ours, baseline,
// baseline, ours. It runs on one processor.
func compare(p pair, s settings) (spread, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	clock := p.clock
	if clock == nil {
		clock = processTime
	}
	for _, f := range []func() error{p.ours, p.base} {
		if _, err := timeOf(f, s.slice, clock); err != nil {
			return spread{}, err
		}
	}
	ratios := make([]float64, s.slices)
	for i := range ratios {
		order := []func() error{p.ours, p.base}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		var times [2]float64
		for j, f := range order {
			var err error
			if times[j], err = timeOf(f, s.slice, clock); err != nil {
				return spread{}, err
			}
		}
		if i%2 == 1 {
			slices.Reverse(times[:])
		}
		ratios[i] = times[0] / times[1]
	}
	return spreadOf(ratios), nil
}

func spreadOf(ratios []float64) spread {
	slices.Sort(ratios)
	n := len(ratios)
	return spread{ratios[n/2], ratios[n/10], ratios[n*9/10]}
}

// timeOf calls f for at least d and returns the nanoseconds of one call, by a clock.
func timeOf(f func() error, d time.Duration, clock func() time.Duration) (float64, error) {
	n, began, spent := 0, time.Now(), clock()
	for {
		if err := f(); err != nil {
			return 0, err
		}
		n++
		if time.Since(began) >= d {
			return float64(clock()-spent) / float64(n), nil
		}
	}
}

// wallClock returns the time of the wall clock, for pairs whose service is another process.
func wallClock() time.Duration { return time.Duration(time.Now().UnixNano()) }

// cost is what one call allocates.
type cost struct{ allocs, bytes float64 }

// costOf returns the least cost of f of several runs. Other goroutines and emptied pools can only
// add to the cost.
func costOf(f func() error) (cost, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const runs, most = 5, 50
	calls := 1
	if took, err := timeOf(f, 0, processTime); err != nil {
		return cost{}, err
	} else if took > 0 {
		calls = min(max(int(float64(10*time.Millisecond)/took), 1), most)
	}
	var least cost
	for i := range runs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			if err := f(); err != nil {
				return cost{}, err
			}
		}
		runtime.ReadMemStats(&after)
		c := cost{float64(after.Mallocs-before.Mallocs) / float64(calls), float64(after.TotalAlloc-before.TotalAlloc) / float64(calls)}
		if i == 0 {
			least = c
		}
		least = cost{min(least.allocs, c.allocs), min(least.bytes, c.bytes)}
	}
	return least, nil
}

// expect returns an error unless a number is as it should be: an operation that does nothing is
// fast.
func expect(what string, got, want int) error {
	if got != want {
		return fmt.Errorf("got %d %s, want %d", got, what, want)
	}
	return nil
}
