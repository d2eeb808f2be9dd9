package testkit

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/anishathalye/porcupine"
)

// History records the calls of several programs with their results, by a shared clock, so that they
// can be checked for linearizability. The zero value is empty.
type History[In, Out any] struct {
	mu    sync.Mutex
	clock int64
	calls []porcupine.Operation
}

func (h *History[In, Out]) tick() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	return h.clock
}

// Do makes a call and records it. known reports whether its outcome is known: otherwise it may
// still be applied at any later time.
func (h *History[In, Out]) Do(in In, call func() (out Out, known bool)) {
	begin, end := h.tick(), int64(math.MaxInt64)
	out, known := call()
	if known {
		end = h.tick()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, porcupine.Operation{Input: in, Output: out, Call: begin, Return: end})
}

// Check returns an error that tells the history if its results are those of no order of the calls.
func (h *History[In, Out]) Check(model porcupine.Model) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if porcupine.CheckOperations(model, h.calls) {
		return nil
	}
	slices.SortFunc(h.calls, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	for _, c := range h.calls {
		fmt.Fprintf(&text, "\n  %d to %d: %+v: %+v", c.Call, c.Return, c.Input, c.Output)
	}
	return errors.New("the results are not linearizable:" + text.String())
}

// Model is what a history is checked against: the state at first, and the states that there may be
// after a call with a result, none if the result is impossible.
func Model[State, In, Out any](first State, step func(State, In, Out) []State) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{first} },
		Step: func(state, in, out any) (all []any) {
			for _, after := range step(state.(State), in.(In), out.(Out)) {
				all = append(all, after)
			}
			return all
		},
	}
	return m.ToModel()
}
