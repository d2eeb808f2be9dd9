package index

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/aztablekit/aztablekit/table"
)

// crowd is what is wrong with many entities and is repaired at once: lists, for each write of a member writes all of its list.
type crowd[T any] struct {
	*inspection[T]
	suspects map[string][]claim

	mu     sync.Mutex
	lost   []newcomer[T] // whom lists have lost, or should
	leaves []leaver
	rows   map[claim]*table.Row // their lists, of which each has seen one of its own
}

// leaver is a member of a list that does not belong there.
type leaver struct {
	claim claim
	row   *table.Row // the list, as it was when that was seen
	fault Fault
}

func (c *crowd[T]) miss(n newcomer[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = append(c.lost, n)
}

func (c *crowd[T]) leave(l leaver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.rows[l.claim]; r != nil && r.ETag == l.row.ETag {
		l.row = r
	} else {
		c.rows[l.claim] = l.row
	}
	c.leaves = append(c.leaves, l)
}

// settle repairs it. Who cannot be repaired with the others is looked at alone.
func (c *crowd[T]) settle(ctx context.Context) error {
	if err := c.release(ctx); err != nil {
		return err
	}
	var names []string
	for _, n := range c.lost {
		for _, f := range n.faults {
			if !slices.Contains(names, f.Definition) {
				names = append(names, f.Definition)
			}
		}
	}
	skipped, err := c.together(ctx, c.lost, names...)
	for i, n := range c.lost {
		if _, is := skipped[i]; is {
			continue
		}
		for _, f := range n.faults {
			f.Repaired = true
			c.found(f)
		}
	}
	for i, n := range c.lost {
		if rk := n.e.Key.RowKey(); skipped[i] != nil && err == nil {
			err = c.judged(ctx, rk, c.suspects[rk], nil)
		}
	}
	return err
}

// release takes leavers out of each list by one write, by the ETag that they were seen with: whoever joins a list writes it.
func (c *crowd[T]) release(ctx context.Context) error {
	lists := map[claim][]leaver{}
	for _, l := range c.leaves {
		lists[l.claim] = append(lists[l.claim], l)
	}
	for at, all := range lists {
		row := all[0].row
		var members []string
		for _, l := range all {
			if l.row.ETag == row.ETag {
				members = append(members, l.fault.Entity.RowKey())
			}
		}
		left, err := c.shots[at.def].def.released(row, members...)
		if err == nil {
			err = c.write(ctx, row, left)
		}
		var open []leaver
		for _, l := range all {
			switch unseen := l.row.ETag != row.ETag; {
			case ctx.Err() != nil && (unseen || err != nil):
				l.fault.Err = cmp.Or(err, ctx.Err())
			case unseen || lost(err):
				open = append(open, l)
				continue
			default:
				l.fault.Err, l.fault.Repaired = err, err == nil
			}
			c.found(l.fault)
		}
		for _, l := range open {
			if err := c.judged(ctx, l.fault.Entity.RowKey(), []claim{at}, nil); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
