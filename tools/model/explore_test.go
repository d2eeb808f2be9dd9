package model

import "testing"

// TestExplore: the explorer finds the fault and the shortest sequence of steps to it.
func TestExplore(t *testing.T) {
	t.Parallel()
	fine := func(int) string { return "" }
	base := func(next map[int][]int) Model[int] {
		return Model[int]{
			Next: func(s int, step func(actor, what string, to int)) {
				for _, to := range next[s] {
					step("someone", "goes", to)
				}
			},
			Check: fine, CheckQuiet: fine, Termination: true,
			Quiet: func(s int) bool { return s == 9 },
			Show:  func(int) string { return "" },
		}
	}
	for _, test := range []struct {
		name  string
		next  map[int][]int
		check int // the state with a fault
		wrong string
		steps int
	}{
		{"fine", map[int][]int{0: {1, 2}, 1: {0, 9}, 2: {1}}, -1, "", 0},
		{"wrong", map[int][]int{0: {1, 2}, 1: {3}, 2: {4}, 3: {5}, 5: {4}, 4: {9}}, 4, "4", 2},
		{"stuck", map[int][]int{0: {1, 9}}, -1, "stuck", 1},
		{"endless", map[int][]int{0: {1, 9}, 1: {2}, 2: {1}}, -1, "no quiet state is reachable", 1},
		{"fault of a quiet state", map[int][]int{0: {1}, 1: {9}}, 9, "9", 2},
	} {
		m := base(test.next)
		say := func(s int) string {
			if s == test.check {
				return string(rune('0' + s))
			}
			return ""
		}
		if m.Check = say; test.check == 9 {
			m.Check, m.CheckQuiet = fine, say
		}
		if r := m.Explore(); r.Wrong != test.wrong || len(r.Trace) != test.steps {
			t.Errorf("%s: got %v, want %q after %d steps", test.name, r, test.wrong, test.steps)
		}
	}
	// A fault within the limit is found; otherwise nothing is said of termination.
	m := base(map[int][]int{0: {1, 2}, 1: {3}, 2: {1}, 3: {1}})
	m.Limit = 3
	if r := m.Explore(); !r.Cut || r.States != 3 || r.Wrong != "" {
		t.Errorf("3 of 4 states: got %v, want no fault", r)
	}
	m.Check = func(s int) string { return map[int]string{2: "fault"}[s] }
	if r := m.Explore(); r.Cut || r.Wrong != "fault" {
		t.Errorf("a fault within the limit: got %v, want it", r)
	}
}

// firstStates is the number of states of a sound protocol that are explored, those nearest to the start, unless -models is 2 or more.
// Protocols without one of their parts are explored until the fault.
const firstStates = 20_000

// explore explores a protocol without a fault.
func explore[S comparable](m Model[S]) Result {
	if *models < 2 {
		m.Limit = firstStates
	}
	return m.Explore()
}

// expectFault checks the fault of an exploration, "" for none.
func expectFault(t testing.TB, r Result, want string) {
	t.Helper()
	if t.Log(r); r.Wrong != want {
		t.Errorf("got %q, want %q", r.Wrong, want)
	}
}

// expectSound checks that an exploration found quiet states and no fault. The first states may not contain a quiet one.
func expectSound(t testing.TB, r Result) {
	t.Helper()
	if expectFault(t, r, ""); r.Quiet == 0 && !r.Cut {
		t.Error("got no quiet state, want at least one")
	}
}
