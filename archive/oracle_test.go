package archive_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/aztablekit/aztablekit/storagetest"
)

// oracle reads both tables after each request that reaches the account, and derives what has happened to each incarnation of an
// entity. It reads stored rows only, with code of its own. The Last of its entities is a number that each update of an incarnation
// increases. A restored incarnation continues with the number of the old one.
type oracle struct {
	mu           sync.Mutex
	incarnations map[string]*incarnation // by ID; by key, for a row without an incarnation
	before       contents
}

// incarnation is what has happened to an incarnation.
type incarnation struct {
	key      string // partition and row, where it was seen last
	number   int    // the highest number that was stored
	deleted  bool   // by a program
	restored bool   // as another incarnation
}

// storedClerk is a row of table current.
type storedClerk struct{ incarnation, number string }

// id returns the incarnation, or the key of a row without one.
func (c storedClerk) id(key string) string {
	if c.incarnation == "" {
		return key
	}
	return c.incarnation
}

// contents is what both tables contain.
type contents struct {
	current      map[string]storedClerk // by key
	old          map[string]string      // number, by incarnation
	restored     map[string]bool        // incarnations of restore records
	pendingMoves map[string]bool        // RowKeys of commit records with a move that is not complete
	pending      int                    // pending commit records
}

func readContents(s *storagetest.Service) contents {
	c := contents{map[string]storedClerk{}, map[string]string{}, map[string]bool{}, map[string]bool{}, 0}
	committed := map[string]bool{}
	for _, r := range s.Rows("current") {
		if op, is := strings.CutPrefix(r.RowKey, "~i|"); is {
			committed[op] = r.Get("State") != "aborted"
		}
	}
	for _, r := range s.Rows("current") {
		mark, marked := r.Get("_tx").(string)
		op, _, _ := strings.Cut(mark, "/")
		switch {
		case marked && !committed[op]: // a move has only prepared the row
		case strings.HasPrefix(r.RowKey, "~i|"):
			if r.Get("State") == "pending" {
				c.pending++
				if effects, _ := r.Get("Effects").(string); strings.Contains(effects, `"current/old"`) {
					c.pendingMoves[r.RowKey] = true
				}
			}
		case strings.HasPrefix(r.RowKey, "~l|"):
			c.restored[strings.TrimPrefix(r.RowKey, "~l|")] = true
		case strings.HasPrefix(r.RowKey, "c_"):
			incarnation, _ := r.Get("_life").(string)
			c.current[r.PartitionKey+"/"+r.RowKey] = storedClerk{incarnation, fmt.Sprint(r.Get("Last"))}
		}
	}
	for _, r := range s.Rows("old") {
		_, incarnation, is := strings.Cut(r.RowKey, "~")
		if !is || strings.HasPrefix(r.RowKey, "~") {
			continue
		}
		if last, is := r.Get("Last").(string); is {
			c.old[incarnation] = last
		}
	}
	for incarnation, content := range storedBlobs(s) {
		if content.Row != nil {
			c.old[incarnation] = content.Row.Last
		}
	}
	return c
}

func newOracle() *oracle { return &oracle{incarnations: map[string]*incarnation{}} }

// always returns an error if the tables contradict the guarantees of the package at this instant.
func (o *oracle) always(s *storagetest.Service) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := readContents(s)
	defer func() { o.before = now }()
	if err := checkNeighbours(s); err != nil {
		return err
	}
	for k, clerk := range now.current {
		if err := o.observe(k, clerk, now); err != nil {
			return err
		}
	}
	return errors.Join(o.observeRemovals(now), o.checkAllStored(now))
}

// observe learns from a row of table current.
func (o *oracle) observe(k string, clerk storedClerk, now contents) error {
	number, _ := strconv.Atoi(clerk.number)
	before, existed := o.before.current[k]
	if in := o.incarnations[before.incarnation]; existed && before.incarnation != "" && clerk.incarnation == "" && in != nil {
		in.restored = true // a program has written the row without its incarnation
	}
	if in := o.incarnations[k]; existed && before.incarnation == "" && in != nil { // the row gets an incarnation, or has none yet
		delete(o.incarnations, k)
		o.incarnations[clerk.id(k)] = in
	}
	in := o.incarnations[clerk.id(k)]
	if in == nil {
		in = &incarnation{key: k, number: number}
		o.incarnations[clerk.id(k)] = in
		for old := range now.restored {
			if from := o.incarnations[old]; !o.before.restored[old] && from != nil && from.key == k {
				if from.restored = true; number != from.number {
					return fmt.Errorf("%s was restored with number %d; want the newest, %d", k, number, from.number)
				}
			}
		}
	}
	in.key = k
	if number < in.number && clerk.incarnation != "" { // a program that writes no incarnation may write any number
		return fmt.Errorf("%s went back from number %d to %d", k, in.number, number)
	}
	in.number = number
	return nil
}

// observeRemovals learns from the incarnations that are not in table current any more. A move removes its effect in the same
// request.
func (o *oracle) observeRemovals(now contents) error {
	moveCompleted := false
	for record := range o.before.pendingMoves {
		moveCompleted = moveCompleted || !now.pendingMoves[record]
	}
	for k, before := range o.before.current {
		if clerk, exists := now.current[k]; exists && (clerk.incarnation == before.incarnation || before.incarnation == "" || clerk.incarnation == "") {
			continue
		} else if exists && clerk.number != before.number { // another incarnation in one request has the content of the first
			return fmt.Errorf("%s had number %s, and has number %s as another incarnation", k, before.number, clerk.number)
		}
		in := o.incarnations[before.id(k)]
		if in == nil || before.incarnation != "" && in.isCurrent(before.incarnation, now) { // it has another key
			continue
		}
		if !moveCompleted {
			if in.deleted = true; before.incarnation == "" { // the next row of that key is another incarnation
				delete(o.incarnations, k)
			}
			continue
		}
		if got := now.old[before.incarnation]; got != fmt.Sprint(in.number) {
			return fmt.Errorf("%s was moved, and the destination contains its number %q; want %d", k, got, in.number)
		}
	}
	return nil
}

// checkAllStored returns an error unless each incarnation that was neither deleted nor restored is in one of the tables.
func (o *oracle) checkAllStored(now contents) error {
	for id, in := range o.incarnations {
		number, archived := now.old[id]
		switch {
		case in.deleted || in.restored || in.isCurrent(id, now):
		case !archived:
			return fmt.Errorf("incarnation %s of %s is in neither table", id, in.key)
		case number != fmt.Sprint(in.number):
			return fmt.Errorf("the destination contains number %s of incarnation %s of %s; want the newest, %d", number, id, in.key, in.number)
		}
	}
	return nil
}

// isCurrent reports whether table current contains the incarnation.
func (in *incarnation) isCurrent(id string, now contents) bool {
	clerk, exists := now.current[in.key]
	return exists && (clerk.incarnation == id || in.key == id)
}

// atEnd returns an error unless each incarnation is in one of the tables, or in none if it was deleted or restored, and no work is
// left.
func (o *oracle) atEnd(s *storagetest.Service) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := readContents(s)
	for id, in := range o.incarnations {
		current := in.isCurrent(id, now)
		_, archived := now.old[id]
		problem := ""
		switch {
		case in.deleted && (current || archived):
			problem = "was deleted, and exists"
		case in.restored && (current || archived):
			problem = "was restored, and still exists"
		case !in.deleted && !in.restored && current == archived:
			problem = "is not in one of the tables"
		}
		if problem != "" {
			return fmt.Errorf("incarnation %s of %s %s: in the table %v, in the destination %v", id, in.key, problem, current, archived)
		}
	}
	if now.pending > 0 {
		return fmt.Errorf("got %d pending commit records; want none", now.pending)
	}
	for _, queue := range []string{"moves", "poison"} {
		if left := s.Messages(queue); len(left) > 0 {
			return fmt.Errorf("queue %s: got %d messages, such as %s; want none", queue, len(left), left[0].Text)
		}
	}
	return nil
}
