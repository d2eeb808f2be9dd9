package model

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// Model is a system with a finite number of states.
type Model[S comparable] struct {
	Start S
	// Next calls step for every step that is possible in s.
	Next func(s S, step func(actor, what string, to S))
	// Check returns the fault of s, "" if there is none.
	Check func(s S) string
	// Quiet reports whether no work is in progress in s. CheckQuiet returns the fault of a quiet
	// state.
	Quiet      func(s S) bool
	CheckQuiet func(s S) string
	// Termination also checks that a quiet state is reachable from every state. It needs memory for
	// each step.
	Termination bool
	// Limit ends the exploration after so many states, and then says nothing of termination. 0
	// means no limit.
	Limit int
	// Show returns the text of s in a trace.
	Show func(s S) string
}

// Result is the result of an exploration.
type Result struct {
	States int
	Quiet  int
	Cut    bool     // Limit ended the exploration
	Wrong  string   // the fault nearest to the start, "" if no state has one
	Trace  []string // the shortest sequence of steps to the fault
}

func (r Result) String() string {
	if r.Cut {
		return fmt.Sprintf("the first %d states, %d of them quiet, no fault", r.States, r.Quiet)
	}
	if r.Wrong == "" {
		return fmt.Sprintf("%d states, %d of them quiet, no fault", r.States, r.Quiet)
	}
	return fmt.Sprintf("%s, after %d steps (%d states seen)\n\t%s", r.Wrong, len(r.Trace), r.States, strings.Join(r.Trace, "\n\t"))
}

// Explore visits every state in order of distance from the start, until one has a fault. A state
// without steps is a fault unless it is quiet.
func (m Model[S]) Explore() Result {
	e := explorer[S]{seed: maphash.MakeSeed(), table: make([]entry, 1<<12)}
	e.add(m.Start, 0)
	var r Result
	for at := 0; at < e.n; at++ {
		if m.Limit > 0 && at == m.Limit {
			return Result{States: at, Quiet: r.Quiet, Cut: true}
		}
		s := *e.state(at)
		r.Wrong = m.Check(s)
		quiet := m.Quiet(s)
		if quiet {
			r.Quiet++
			if r.Wrong == "" {
				r.Wrong = m.CheckQuiet(s)
			}
		}
		if r.Wrong == "" {
			steps := 0
			m.Next(s, func(_, _ string, to S) {
				steps++
				n := e.add(to, at)
				if m.Termination {
					e.steps = append(e.steps, n)
				}
			})
			e.ends = append(e.ends, uint32(len(e.steps)))
			if steps == 0 && !quiet {
				r.Wrong = "stuck"
			}
		}
		if r.Wrong != "" {
			r.Trace = m.trace(&e, at)
			break
		}
		if quiet && m.Termination {
			e.quiet = append(e.quiet, uint32(at))
		}
	}
	r.States = e.n
	if m.Termination && r.Wrong == "" {
		if at := e.endless(); at >= 0 {
			r.Wrong, r.Trace = "no quiet state is reachable", m.trace(&e, at)
		}
	}
	return r
}

// explorer numbers the states. States are stored in blocks, since a single slice would be copied
// when it grows.
type explorer[S comparable] struct {
	seed   maphash.Seed
	n      int
	blocks [][]S
	from   []uint32
	table  []entry  // a hash table, whose length is a power of 2
	steps  []uint32 // the states that steps lead to; those of state n end before steps[ends[n]]
	ends   []uint32
	quiet  []uint32
}

// entry is a state in the hash table. Its part of the hash spares most comparisons with states that
// are elsewhere in memory.
type entry struct{ hash, number uint32 } // the number from 1; 0 is a free slot

const block = 1 << 12

func (e *explorer[S]) state(i int) *S { return &e.blocks[i/block][i%block] }

// add returns the number of s, which it stores if it is new.
func (e *explorer[S]) add(s S, from int) uint32 {
	hash := uint32(maphash.Comparable(e.seed, s))
	slot := e.slot(hash, func(n uint32) bool { return *e.state(int(n - 1)) == s })
	if n := e.table[slot].number; n != 0 {
		return n - 1
	}
	if e.n%block == 0 {
		e.blocks = append(e.blocks, make([]S, block))
	}
	*e.state(e.n) = s
	e.n++
	e.from = append(e.from, uint32(from))
	e.table[slot] = entry{hash, uint32(e.n)}
	if 2*e.n >= len(e.table) {
		all := e.table
		e.table = make([]entry, 4*len(all))
		for _, old := range all {
			if old.number != 0 {
				e.table[e.slot(old.hash, func(uint32) bool { return false })] = old
			}
		}
	}
	return uint32(e.n - 1)
}

// slot returns the slot of the state with a hash for which same is true, or the free slot for it.
func (e *explorer[S]) slot(hash uint32, same func(number uint32) bool) uint32 {
	mask := uint32(len(e.table) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if x := e.table[i]; x.number == 0 || x.hash == hash && same(x.number) {
			return i
		}
	}
}

// endless returns the first state from which no quiet state is reachable, -1 if there is none.
func (e *explorer[S]) endless() int {
	begin := make([]uint32, e.n+2) // the steps into state n are those of into[begin[n]:begin[n+1]]
	for _, to := range e.steps {
		begin[to+2]++
	}
	for n := range e.n {
		begin[n+2] += begin[n+1]
	}
	into := make([]uint32, len(e.steps))
	from := 0
	for i, to := range e.steps {
		for i == int(e.ends[from]) {
			from++
		}
		into[begin[to+1]] = uint32(from)
		begin[to+1]++
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

// trace returns the steps from the start to a state. It computes their names again, which saves the
// memory for millions of names.
func (m Model[S]) trace(e *explorer[S], at int) []string {
	var back []string
	for at != 0 {
		from, found := int(e.from[at]), ""
		m.Next(*e.state(from), func(actor, what string, to S) {
			if found == "" && to == *e.state(at) {
				found = fmt.Sprintf("%-10s %-44s %s", actor, what, m.Show(to))
			}
		})
		back = append(back, found)
		at = from
	}
	slices.Reverse(back)
	return back
}
