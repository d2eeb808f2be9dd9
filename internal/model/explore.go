package model

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// Model is a system of which every schedule is looked at. Its states are finite in number.
type Model[S comparable] struct {
	Start S
	// Next takes every step that anybody can take in s.
	Next func(s S, step func(who, what string, to S))
	// Check says what is wrong in s, whatever is still under way; "" if nothing.
	Check func(s S) string
	// Quiet says whether nothing is under way in s. There, and only there, Settled says what is wrong.
	Quiet   func(s S) bool
	Settled func(s S) string
	// Rest asks also that every state can become quiet yet. It costs some memory for each step.
	Rest bool
	// Show is how s looks in a trace.
	Show func(s S) string
}

// Result is what Explore saw.
type Result struct {
	States int
	Quiet  int
	Wrong  string   // the first fault in order of distance from the start; "" if there is none in any state
	Trace  []string // the shortest way there
}

func (r Result) String() string {
	if r.Wrong == "" {
		return fmt.Sprintf("%d states, %d of them quiet, nothing wrong", r.States, r.Quiet)
	}
	return fmt.Sprintf("%s, after %d steps (%d states seen)\n\t%s", r.Wrong, len(r.Trace), r.States, strings.Join(r.Trace, "\n\t"))
}

// Explore looks at every state, nearest first, until one is wrong. A state in which nobody can do anything is wrong unless it is quiet.
func (m Model[S]) Explore() Result {
	e := explorer[S]{seed: maphash.MakeSeed(), table: make([]uint32, 1<<12)}
	e.add(m.Start, 0)
	var r Result
	for at := 0; at < e.n; at++ {
		s := *e.state(at)
		r.Wrong = m.Check(s)
		quiet := m.Quiet(s)
		if quiet {
			r.Quiet++
			if r.Wrong == "" {
				r.Wrong = m.Settled(s)
			}
		}
		if r.Wrong == "" {
			steps := 0
			m.Next(s, func(_, _ string, to S) {
				steps++
				n := e.add(to, at)
				if m.Rest {
					e.steps = append(e.steps, [2]uint32{uint32(at), n})
				}
			})
			if steps == 0 && !quiet {
				r.Wrong = "stuck"
			}
		}
		if r.Wrong != "" {
			r.Trace = m.trace(&e, at)
			break
		}
		if quiet && m.Rest {
			e.quiet = append(e.quiet, uint32(at))
		}
	}
	r.States = e.n
	if at := e.restless(); m.Rest && r.Wrong == "" && at >= 0 {
		r.Wrong, r.Trace = "it can never come to rest", m.trace(&e, at)
	}
	return r
}

// explorer keeps the states by number; the table finds the number of a state, and costs four bytes for each slot. States are kept in
// blocks, since one slice would be copied whenever it grows.
type explorer[S comparable] struct {
	seed   maphash.Seed
	n      int
	blocks [][]S
	from   []uint32
	table  []uint32 // number + 1; 0 is free
	steps  [][2]uint32
	quiet  []uint32
}

const block = 1 << 12

func (e *explorer[S]) state(i int) *S { return &e.blocks[i/block][i%block] }

// add is the number of s, which is new or not.
func (e *explorer[S]) add(s S, from int) uint32 {
	slot := e.slot(s)
	if n := e.table[slot]; n != 0 {
		return n - 1
	}
	if e.n%block == 0 {
		e.blocks = append(e.blocks, make([]S, block))
	}
	*e.state(e.n) = s
	e.n++
	e.from = append(e.from, uint32(from))
	e.table[slot] = uint32(e.n)
	if 2*e.n >= len(e.table) {
		e.table = make([]uint32, 4*len(e.table))
		for i := range e.n {
			e.table[e.slot(*e.state(i))] = uint32(i + 1)
		}
	}
	return uint32(e.n - 1)
}

// slot is where s is, or belongs.
func (e *explorer[S]) slot(s S) uint64 {
	mask := uint64(len(e.table) - 1)
	for i := maphash.Comparable(e.seed, s) & mask; ; i = (i + 1) & mask {
		if n := e.table[i]; n == 0 || *e.state(int(n - 1)) == s {
			return i
		}
	}
}

// restless is the first state from which no quiet one can be reached; -1 if there is none.
func (e *explorer[S]) restless() int {
	begin := make([]uint32, e.n+2) // the steps into state n are those of into[begin[n]:begin[n+1]]
	for _, s := range e.steps {
		begin[s[1]+2]++
	}
	for n := range e.n {
		begin[n+2] += begin[n+1]
	}
	into := make([]uint32, len(e.steps))
	for _, s := range e.steps {
		into[begin[s[1]+1]] = s[0]
		begin[s[1]+1]++
	}
	can := make([]bool, e.n)
	for open := e.quiet; len(open) > 0; {
		n := open[len(open)-1]
		if open = open[:len(open)-1]; !can[n] {
			can[n] = true
			open = append(open, into[begin[n]:begin[n+1]]...)
		}
	}
	return slices.Index(can, false)
}

// trace finds the steps again by taking those of each state on the way: names are not worth keeping for millions of states.
func (m Model[S]) trace(e *explorer[S], at int) []string {
	var back []string
	for at != 0 {
		from, found := int(e.from[at]), ""
		m.Next(*e.state(from), func(who, what string, to S) {
			if found == "" && to == *e.state(at) {
				found = fmt.Sprintf("%-10s %-44s %s", who, what, m.Show(to))
			}
		})
		back = append(back, found)
		at = from
	}
	slices.Reverse(back)
	return back
}
