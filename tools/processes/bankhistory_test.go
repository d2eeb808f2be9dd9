package processes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// deed is a transaction of the bank: what it has read, and what it has written.
type deed struct {
	Process, Number int // of its posting, if it has written
	Began, Ended    time.Time
	Result          string
	Saw             map[int]balance // by account
	Moved           map[int]int     // cents by which accounts were changed
}

// balance is what a transaction has read of an account.
type balance struct{ Cents, Version int }

// String returns what a deed was, for messages.
func (d *deed) String() string {
	text, _ := json.Marshal(d)
	return string(text)
}

// unexplained returns what no order of the transactions of a history explains. The transactions have read the versions of accounts, of which the first is 0, and have
// written the next ones; one that has ended before another began comes before it. now are the accounts in the end.
func unexplained(history []*deed, now map[int]balance) (problems []string) {
	type version struct{ account, n int }
	writers, before := map[version]*deed{}, map[version]balance{}
	for _, d := range history {
		for n, cents := range d.Moved {
			at := version{n, d.Saw[n].Version + 1}
			if other := writers[at]; other != nil {
				problems = append(problems, fmt.Sprintf("version %d of account %d was written by %s and %s", at.n, n, d, other))
			}
			writers[at] = d
			before[version{n, at.n}] = balance{d.Saw[n].Cents + cents, at.n}
		}
	}
	contents := func(at version) (balance, bool) {
		if at.n == 0 {
			return balance{Cents: bankCents}, true
		}
		is, has := before[at]
		return is, has
	}
	for n, is := range now {
		if was, _ := contents(version{n, is.Version}); was != is {
			problems = append(problems, fmt.Sprintf("account %d is %+v; by the ledger, this is %+v", n, is, was))
		}
		if later := writers[version{n, is.Version + 1}]; later != nil {
			problems = append(problems, fmt.Sprintf("account %d has no version of %s", n, later))
		}
	}

	// What comes before a transaction: those of which it has read, and those that have read what it has replaced. A moment comes after all transactions that have ended
	// until then, and before all that began later.
	after, waits := map[any][]any{}, map[any]int{}
	edge := func(from, to any) {
		if from != to {
			after[from] = append(after[from], to)
			waits[to]++
		}
	}
	var moments []*deed
	for _, d := range history {
		for n, saw := range d.Saw {
			if is, has := contents(version{n, saw.Version}); !has || is != saw {
				problems = append(problems, fmt.Sprintf("%s has read what no transaction has left on account %d: %+v", d, n, is))
			}
			if w := writers[version{n, saw.Version}]; w != nil {
				edge(w, d)
			}
			if next := writers[version{n, saw.Version + 1}]; next != nil {
				edge(d, next)
			}
		}
		if !d.Ended.IsZero() {
			moments = append(moments, d)
		}
	}
	slices.SortFunc(moments, func(a, b *deed) int { return a.Ended.Compare(b.Ended) })
	for i, d := range moments {
		edge(d, i)
		if i > 0 {
			edge(i-1, i)
		}
	}
	for _, d := range history {
		i, _ := slices.BinarySearchFunc(moments, d.Began, func(m *deed, began time.Time) int { return m.Ended.Compare(began) })
		if i > 0 {
			edge(i-1, d)
		}
	}
	return append(problems, circle(history, len(moments), after, waits)...)
}

// circle returns transactions of which each must come before the next, and the last before the first; none if there is an order.
func circle(history []*deed, moments int, after map[any][]any, waits map[any]int) (problems []string) {
	var all, ready []any
	for _, d := range history {
		all = append(all, d)
	}
	for i := range moments {
		all = append(all, i)
	}
	for _, x := range all {
		if waits[x] == 0 {
			ready = append(ready, x)
		}
	}
	for done := 0; done < len(ready); done++ {
		for _, x := range after[ready[done]] {
			if waits[x]--; waits[x] == 0 {
				ready = append(ready, x)
			}
		}
	}
	if len(ready) == len(all) {
		return nil
	}
	// Each that is left waits for another one that is left: the way back from one ends in a circle.
	earlier := map[any]any{}
	var at any
	for _, x := range all {
		for _, y := range after[x] {
			if waits[x] > 0 && waits[y] > 0 {
				earlier[y], at = x, y
			}
		}
	}
	var way []any
	for !slices.Contains(way, at) {
		way = append(way, at)
		at = earlier[at]
	}
	way = way[slices.Index(way, at):]
	slices.Reverse(way)
	for _, x := range way {
		if d, is := x.(*deed); is {
			problems = append(problems, fmt.Sprintf("no order explains this: %s comes before the next, and the last before the first", d))
		}
	}
	return problems
}

// TestBankHistory: what TestBank finds in histories that are wrong.
func TestBankHistory(t *testing.T) {
	t.Parallel()
	second := func(n int) time.Time { return time.Unix(int64(n), 0) }
	deal := func(began, ended int, saw map[int]balance, moved map[int]int) *deed {
		d := &deed{Began: second(began), Saw: saw, Moved: moved}
		if ended > 0 {
			d.Ended = second(ended)
		}
		return d
	}
	first := balance{bankCents, 0}
	transfer := deal(1, 3, map[int]balance{0: first, 1: first}, map[int]int{0: -10, 1: 10})
	after := map[int]balance{0: {90, 1}, 1: {110, 1}}
	for name, test := range map[string]struct {
		history []*deed
		now     map[int]balance
		want    string // in a problem; "" if there is none
	}{
		"right":             {[]*deed{transfer, deal(2, 4, map[int]balance{0: first, 1: first}, nil), deal(2, 4, after, nil)}, after, ""},
		"lost":              {[]*deed{transfer}, map[int]balance{0: first, 1: first}, "has no version"},
		"half":              {[]*deed{transfer}, map[int]balance{0: {90, 1}, 1: first}, "has no version"},
		"without a posting": {nil, after, "by the ledger"},
		"lost update":       {[]*deed{transfer, deal(1, 3, map[int]balance{0: first}, map[int]int{0: 5})}, after, "was written by"},
		"never there":       {[]*deed{transfer, deal(2, 4, map[int]balance{0: {95, 1}}, nil)}, after, "has read what no transaction"},
		"two moments":       {[]*deed{transfer, deal(2, 4, map[int]balance{0: first, 1: {110, 1}}, nil)}, after, "no order"},
		"stale":             {[]*deed{transfer, deal(4, 5, map[int]balance{0: first, 1: first}, nil)}, after, "no order"},
		"read too early":    {[]*deed{deal(5, 0, transfer.Saw, transfer.Moved), deal(1, 4, after, nil)}, after, "no order"},
		"each goes by what the other changes": {[]*deed{
			deal(1, 3, map[int]balance{0: first, 1: first}, map[int]int{0: 0}),
			deal(1, 3, map[int]balance{0: first, 1: first}, map[int]int{1: 0}),
		}, map[int]balance{0: {100, 1}, 1: {100, 1}}, "no order"},
	} {
		got := strings.Join(unexplained(test.history, test.now), "\n")
		if !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s: got problems %q; want %q", name, got, test.want)
		}
	}
}
