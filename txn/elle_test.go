package txn_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

// register is a row to which transactions append their numbers. Who reads it knows which transactions have written it, and in which order. It begins absent.
type register struct {
	Group string
	ID    int
	Log   string // numbers, each with a space behind it
}

var (
	group      = keys.Partition(keys.Text(), func(r *register) *string { return &r.Group })
	registerID = keys.Row(keys.Digits[int](2), func(r *register) *int { return &r.ID })
)

// registers is a store with registers in two tables.
type registers struct {
	*aztablekit.Store
	tables [2]*table.Table[register]
}

func openRegisters(acc aztablekit.Account, o *aztablekit.Options) *registers {
	s := aztablekit.Open(acc, "registers", o)
	return &registers{s, [2]*table.Table[register]{aztablekit.Table(s, "first", group, registerID), aztablekit.Table(s, "second", group, registerID)}}
}

// where is a register: its table, partition and number.
type where struct {
	table int
	group string
	id    int
}

func (w where) key() keys.Key { return keys.At(group.Of(w.group), registerID.Of(w.id)) }

// everywhere are the registers: two of a partition, two of other partitions, and one in another table.
var everywhere = []where{{0, "a", 1}, {0, "a", 2}, {0, "b", 1}, {0, "c", 1}, {1, "a", 1}}

// logged is a transaction, or a direct write, as its program has seen it.
type logged struct {
	number     string
	begin, end int64 // of a shared clock; the end is the greatest if the outcome is not known
	reads      map[where]string
	appends    []where
	outcome    string // done, refused, unknown
}

// history records transactions.
type history struct {
	mu    sync.Mutex
	clock int64
	all   []*logged
}

func (h *history) begin() *logged {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	l := &logged{number: fmt.Sprint(len(h.all) + 1), begin: h.clock, end: math.MaxInt64, outcome: "unknown"}
	h.all = append(h.all, l)
	return l
}

func (h *history) finish(l *logged, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	switch {
	case err == nil:
		l.outcome, l.end = "done", h.clock
	case !errors.Is(err, table.ErrUnknownOutcome) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded):
		l.outcome, l.end = "refused", h.clock
	}
}

// transact reads registers, and appends to some of them.
func (b *registers) transact(ctx context.Context, h *history, reads, appends []where) error {
	l := h.begin()
	err := txn.Run(ctx, b, func(tx *txn.Tx) error {
		found := map[where]string{}
		for _, w := range reads {
			t := b.tables[w.table]
			e, err := txn.Get(tx, t, w.key())
			writes := slices.Contains(appends, w)
			switch {
			case errors.Is(err, table.ErrNotFound):
				found[w] = ""
				if writes {
					tx.Do(t.InsertOp(&register{w.group, w.id, l.number + " "}))
				}
			case err != nil:
				return err
			default:
				found[w] = e.Value.Log
				if writes {
					e.Value.Log += l.number + " "
					tx.Do(t.ReplaceOp(e))
				}
			}
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		l.reads, l.appends = found, appends
		return nil
	})
	h.finish(l, err)
	return err
}

// write appends to a register directly.
func (b *registers) write(ctx context.Context, h *history, w where) error {
	l := h.begin()
	l.appends = []where{w}
	t := b.tables[w.table].Exact()
	_, err := t.Update(ctx, w.key(), func(r *register) error { r.Log += l.number + " "; return nil })
	if errors.Is(err, table.ErrNotFound) && !errors.Is(err, table.ErrUnknownOutcome) {
		_, err = t.Insert(ctx, &register{w.group, w.id, l.number + " "})
	}
	h.finish(l, err)
	return err
}

// check returns why no serial order explains the history, in which each transaction that has ended comes before those that began later. final is what the registers
// contain at the end.
//
// It is the method of Elle (Kingsbury, Alvaro 2020): the order in which a register was written is known, so each transaction comes behind the writer of what it has read, and
// before the writer of what came next. A cycle is a fault.
func (h *history) check(final map[where]string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	byNumber, stored := map[string]*logged{}, map[*logged]bool{}
	for _, l := range h.all {
		byNumber[l.number] = l
	}
	before := map[*logged][]*logged{} // who comes after
	order := func(a, b *logged) {
		if a != b {
			before[a] = append(before[a], b)
		}
	}
	for w, text := range final {
		var last *logged
		for _, number := range strings.Fields(text) {
			l := byNumber[number]
			switch {
			case l == nil || l.outcome == "refused" || !slices.Contains(l.appends, w):
				return fmt.Errorf("register %v is %q, and %s was %s and appends to %v", w, text, number, l.outcome, l.appends)
			case last != nil:
				order(last, l)
			}
			last, stored[l] = l, true
		}
	}
	var all []*logged
	for _, l := range h.all {
		if l.outcome == "refused" || l.outcome == "unknown" && !stored[l] {
			continue
		}
		all = append(all, l)
		for _, w := range l.appends {
			if n := strings.Count(" "+final[w], " "+l.number+" "); n != 1 {
				return fmt.Errorf("register %v is %q; want %s in it once, which was %s", w, final[w], l.number, l.outcome)
			}
		}
		for w, text := range l.reads {
			if !strings.HasPrefix(final[w], text) {
				return fmt.Errorf("%s has read %q of register %v, which is %q in the end", l.number, text, w, final[w])
			}
			if seen := strings.Fields(text); len(seen) > 0 {
				order(byNumber[seen[len(seen)-1]], l)
			}
			if next := strings.Fields(final[w][len(text):]); len(next) > 0 {
				order(l, byNumber[next[0]])
			}
		}
	}
	for _, a := range all {
		for _, b := range all {
			if a.end < b.begin {
				order(a, b)
			}
		}
	}
	if cycle := cycleIn(all, before); cycle != nil {
		var text strings.Builder
		for _, l := range cycle {
			fmt.Fprintf(&text, "\n  %s, %d to %d, %s: reads %v, appends to %v", l.number, l.begin, l.end, l.outcome, l.reads, l.appends)
		}
		return fmt.Errorf("no serial order explains these, each of which comes before the next, and the last before the first:%s\nin the end: %v", text.String(), final)
	}
	return nil
}

// cycleIn returns a cycle, nil if there is none.
func cycleIn(all []*logged, before map[*logged][]*logged) []*logged {
	var path []*logged
	done := map[*logged]bool{}
	var visit func(l *logged) []*logged
	visit = func(l *logged) []*logged {
		if i := slices.Index(path, l); i >= 0 {
			return slices.Clone(path[i:])
		}
		if done[l] {
			return nil
		}
		path = append(path, l)
		for _, next := range before[l] {
			if cycle := visit(next); cycle != nil {
				return cycle
			}
		}
		path = path[:len(path)-1]
		done[l] = true
		return nil
	}
	for _, l := range all {
		if cycle := visit(l); cycle != nil {
			return cycle
		}
	}
	return nil
}
