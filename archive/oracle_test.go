package archive_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/aztablekit/aztablekit/storagetest"
)

// oracle looks at both tables after each request that has reached the account, and knows so what has become of every life of an
// entity. It reads rows alone, by code of its own. Its entities' Last is a number that each update of a life increases, and that a
// restored life goes on with.
type oracle struct {
	mu    sync.Mutex
	lives map[string]*life
	was   view
}

// life is what is known of one.
type life struct {
	newest   int    // the highest number that was stored
	deleted  bool   // by its user
	moved    bool   // by a worker
	followed bool   // it was restored, and another goes on
	key      string // partition and row
}

// view is what both tables hold.
type view struct {
	current  map[string][2]string // key → life, number
	old      map[string]string    // life → number
	gone     map[string]bool      // lives that the destination remembers to have gone
	restored map[string]bool      // lives that were restored
	moves    map[string]bool      // intents that have a move to do
	live     int                  // intents
}

func look(s *storagetest.Service) view {
	v := view{map[string][2]string{}, map[string]string{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, 0}
	for _, r := range s.Rows("current") {
		switch {
		case strings.HasPrefix(r.RowKey, "~i|"):
			if r.Get("State") == "pending" {
				v.live++
				if effects, _ := r.Get("Effects").(string); strings.Contains(effects, `"current/old"`) {
					v.moves[r.RowKey] = true
				}
			}
		case strings.HasPrefix(r.RowKey, "~l|"):
			v.restored[strings.TrimPrefix(r.RowKey, "~l|")] = true
		case strings.HasPrefix(r.RowKey, "c_"):
			life, _ := r.Get("_life").(string)
			v.current[r.PartitionKey+"/"+r.RowKey] = [2]string{life, fmt.Sprint(r.Get("Last"))}
		}
	}
	for _, r := range s.Rows("old") {
		_, life, is := strings.Cut(r.RowKey, "~")
		if !is || strings.HasPrefix(r.RowKey, "~") {
			continue
		}
		if last, is := r.Get("Last").(string); is {
			v.old[life] = last
		} else {
			v.gone[life] = true
		}
	}
	return v
}

func newOracle() *oracle { return &oracle{lives: map[string]*life{}} }

// always must be true at every instant.
func (o *oracle) always(s *storagetest.Service) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	v := look(s)
	defer func() { o.was = v }()
	settled := false
	for i := range o.was.moves {
		settled = settled || !v.moves[i]
	}
	if err := untouched(s); err != nil {
		return err
	}
	for k, is := range v.current {
		n, _ := strconv.Atoi(is[1])
		was, there := o.was.current[k]
		if l := o.lives[was[0]]; there && was[0] != "" && is[0] == "" && l != nil { // somebody has written it without its incarnation
			l.followed = true
		}
		if l := o.lives[k]; there && was[0] == "" && l != nil { // it is given its life, or has none yet
			delete(o.lives, k)
			if is[0] == "" {
				o.lives[k] = l
			} else {
				o.lives[is[0]] = l
			}
		}
		id := is[0]
		if id == "" {
			id = k
		}
		l := o.lives[id]
		if l == nil {
			l = &life{key: k, newest: n}
			o.lives[id] = l
			for old := range v.restored {
				if from := o.lives[old]; !o.was.restored[old] && from != nil && from.key == k {
					if from.followed = true; n != from.newest {
						return fmt.Errorf("%s was restored with %d, and %d is its newest", k, n, from.newest)
					}
				}
			}
		}
		if n < l.newest && is[0] != "" { // who writes without an incarnation writes what he likes
			return fmt.Errorf("%s went back from %d to %d", k, l.newest, n)
		}
		l.newest = n
	}
	// Lives that have left the table.
	for k, was := range o.was.current {
		id := was[0]
		if id == "" {
			id = k
		}
		if is, there := v.current[k]; there && (is[0] == was[0] || was[0] == "" || is[0] == "") {
			continue
		}
		l := o.lives[id]
		if l == nil {
			continue
		}
		if !settled {
			if l.deleted = true; was[0] == "" { // the next of that key is another
				delete(o.lives, k)
			}
			continue
		}
		if l.moved = true; v.old[was[0]] != fmt.Sprint(l.newest) {
			return fmt.Errorf("%s was moved, but the destination has %q of it, not %d", k, v.old[was[0]], l.newest)
		}
	}
	// Each life is somewhere.
	for id, l := range o.lives {
		here := false
		if is, there := v.current[l.key]; there && (is[0] == id || l.key == id) {
			here = true
		}
		n, there := v.old[id]
		switch {
		case l.deleted || l.followed || here:
		case !there:
			return fmt.Errorf("life %s of %s is nowhere", id, l.key)
		case n != fmt.Sprint(l.newest):
			return fmt.Errorf("life %s of %s is in the destination with %s, and %d is its newest", id, l.key, n, l.newest)
		}
	}
	return nil
}

// neighbours are rows of other types, whose keys resemble those of clerks, of their archived rows, and of the library's: they are there
// from the start, in both tables, and nothing of them changes.
var neighbours = []string{"a", "c_", "c_000001x", "c_00000", "c_000001~", "c_000001~0123456789ABCDEF~0123456789ABCDEF", "d_000001", "\uE000", "zz"}

// bystanders writes the neighbours.
func bystanders(h *house) {
	for _, name := range []string{"current", "old"} {
		c := h.acc.Tables().NewClient(name)
		for _, rk := range neighbours {
			body, err := json.Marshal(map[string]any{"PartitionKey": "S", "RowKey": rk, "Mine": name + rk, "_life": "0123456789ABCDEF"})
			check(err)
			if _, err := c.UpsertEntity(context.Background(), body, nil); err != nil {
				panic(err)
			}
		}
	}
}

// untouched reports what has become of the neighbours, and of anything that is in the tables and should not be.
func untouched(s *storagetest.Service) error {
	for _, name := range []string{"current", "old"} {
		left := map[string]bool{}
		for _, rk := range neighbours {
			left[rk] = true
		}
		for _, r := range s.Rows(name) {
			switch {
			case left[r.RowKey]:
				delete(left, r.RowKey)
				if r.Get("Mine") != name+r.RowKey || r.Get("_life") != "0123456789ABCDEF" || r.Get("_op") != nil || r.Get("_sys") != nil || r.Get("Last") != nil {
					return fmt.Errorf("%s: a row of another type was changed: %v", name, r)
				}
			case name == "current" && !currentRow.MatchString(r.RowKey), name == "old" && !oldRow.MatchString(r.RowKey), r.PartitionKey != "S":
				return fmt.Errorf("%s: somebody has written the row %s, %s", name, r.PartitionKey, r.RowKey)
			}
		}
		if len(left) > 0 && len(left) < len(neighbours) {
			return fmt.Errorf("%s: rows of other types are gone: %v", name, left)
		}
	}
	return nil
}

// The rows that this library writes for clerks: entities, commit records, notes of restores and of clean-ups; archived rows and notes.
var (
	currentRow = regexp.MustCompile(`^(c_[0-9]{6}|~i\|[0-9A-Z]{26}|~l\|[0-9A-Z]{16}|~g\|[0-9]{10})$`)
	oldRow     = regexp.MustCompile(`^(c_[0-9]{6}~[0-9A-Z]{16}|~d\|[0-9A-Z]{16})$`)
)

// check must be true in the end.
func (o *oracle) check(s *storagetest.Service) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	v := look(s)
	for id, l := range o.lives {
		is, there := v.current[l.key]
		here := there && (is[0] == id || l.key == id)
		_, old := v.old[id]
		switch {
		case l.deleted && (here || old):
			return fmt.Errorf("life %s of %s was deleted, and is back: in the table %v, in the destination %v", id, l.key, here, old)
		case l.followed && (here || old):
			return fmt.Errorf("life %s of %s was restored, and is still there: in the table %v, in the destination %v", id, l.key, here, old)
		case !l.deleted && !l.followed && here == old:
			return fmt.Errorf("life %s of %s: in the table %v, in the destination %v", id, l.key, here, old)
		}
	}
	if v.live > 0 {
		return fmt.Errorf("%d intents are live", v.live)
	}
	for _, q := range []string{"moves", "poison"} {
		if left := s.Messages(q); len(left) > 0 {
			return fmt.Errorf("%d messages are left in %s: %v", len(left), q, left[0].Text)
		}
	}
	return nil
}
