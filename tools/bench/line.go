package main

import (
	"context"
	"fmt"
)

// figure is a measured number and its goal.
type figure struct {
	Got    float64 `json:"got"`
	Goal   float64 `json:"goal"`
	Bound  bound   `json:"bound"`
	Unit   string  `json:"unit,omitempty"`
	NoGoal bool    `json:"noGoal,omitempty"` // the number is printed only
}

// bound is how a number compares with its goal.
type bound string

const (
	atMost  bound = "≤"
	atLeast bound = "≥"
	exactly bound = "="
)

// met reports whether the number meets the goal.
func (f figure) met() bool {
	switch {
	case f.NoGoal:
		return true
	case f.Bound == atLeast:
		return f.Got >= f.Goal
	case f.Bound == exactly:
		return f.Got == f.Goal
	}
	return f.Got <= f.Goal
}

// result is what a line prints.
type result struct {
	ID     string  `json:"id"`
	What   string  `json:"what"`
	Value  figure  `json:"value"`
	Low    float64 `json:"low,omitempty"`  // a tenth of the ratios are below
	High   float64 `json:"high,omitempty"` // a tenth of the ratios are above
	Memory *figure `json:"memory,omitempty"`
	OK     bool    `json:"ok"`
}

// hasGoal reports whether the line has a goal. If not, its numbers are printed only.
func (r result) hasGoal() bool { return !r.Value.NoGoal || r.Memory != nil && !r.Memory.NoGoal }

// line is one goal: its number, what is measured, and the function that measures it.
type line struct {
	id, what string
	measure  func(ctx context.Context, s settings) (result, error)
}

// memory is what a goal of allocations counts.
type memory int

const (
	noMemory     memory = iota
	allocsRatio         // allocations, to those of the baseline
	allocsOfCall        // allocations of one call
	allocsEach          // allocations for each entity
	bytesRatio          // allocated bytes, to those of the baseline
	bytesOfData         // allocated bytes, to those of the values
)

// ratio is a goal for an operation in comparison with a baseline.
type ratio struct {
	id, what string
	op       string               // the name of the library's operation in testdata/allocations.txt; lines may share it
	time     float64              // the greatest ratio of the times
	memory   memory               // what most counts
	most     float64              // the greatest number of allocations or bytes
	setup    func() (pair, error) // prepares the operations
}

// line measures the goal.
func (g ratio) line() line {
	return line{g.id, g.what, func(_ context.Context, s settings) (result, error) {
		p, err := g.setup()
		if err != nil {
			return result{}, err
		}
		times, err := compare(p, s)
		if err != nil {
			return result{}, err
		}
		r := result{Value: figure{Got: times.median, Goal: g.time, Bound: atMost, NoGoal: g.time == 0}, Low: times.low, High: times.high}
		ours, err := costOf(p.ours)
		if err != nil {
			return result{}, err
		}
		base, err := costOf(p.base)
		if err != nil {
			return result{}, err
		}
		r.Memory = g.cost(p, ours, base)
		return r, nil
	}}
}

// cost returns what a call costs, by the goal's way of counting.
func (g ratio) cost(p pair, ours, base cost) *figure {
	f := &figure{Goal: g.most, Bound: atMost}
	switch g.memory {
	case noMemory:
		f.Got, f.Unit, f.NoGoal = ours.allocs/base.allocs, "allocs", true
	case allocsRatio:
		f.Got, f.Unit = ours.allocs/base.allocs, "allocs"
	case allocsOfCall:
		f.Got, f.Unit = ours.allocs, "allocs a call"
	case allocsEach:
		f.Got, f.Unit = ours.allocs/float64(p.entities), "allocs an entity"
	case bytesRatio:
		f.Got, f.Unit = ours.bytes/base.bytes, "bytes"
	case bytesOfData:
		f.Got, f.Unit = ours.bytes/float64(p.data), "× the data"
	}
	return f
}

// count is a goal for a number of requests.
type count struct {
	what  string
	want  int
	count func(ctx context.Context) (int, error)
}

// line measures the goal.
func (g count) line() line {
	return line{"P20", g.what, func(ctx context.Context, _ settings) (result, error) {
		n, err := g.count(ctx)
		return result{Value: figure{Got: float64(n), Goal: float64(g.want), Bound: exactly, Unit: "requests"}}, err
	}}
}

// wait is a goal for a figure that the machine's clock gives.
type wait struct {
	id, what string
	goal     figure // without Got
	measure  func(ctx context.Context) (float64, error)
}

// line measures the goal.
func (g wait) line() line {
	return line{g.id, g.what, func(ctx context.Context, _ settings) (r result, err error) {
		r.Value = g.goal
		r.Value.Got, err = g.measure(ctx)
		return r, err
	}}
}

// run measures a line.
func (l line) run(ctx context.Context, s settings) (result, error) {
	r, err := l.measure(ctx, s)
	if err != nil {
		return r, fmt.Errorf("%s %s: %w", l.id, l.what, err)
	}
	r.ID, r.What = l.id, l.what
	r.OK = r.Value.met() && (r.Memory == nil || r.Memory.met())
	return r, nil
}
