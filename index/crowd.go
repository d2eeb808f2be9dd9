package index

import (
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
		reason, is := skipped[i]
		switch rk := n.e.Key.RowKey(); {
		case !is:
			for _, f := range n.faults {
				f.Repaired = true
				c.found(f)
			}
		case reason != nil:
			if err := c.judged(ctx, rk, c.suspects[rk], nil); err != nil {
				return err
			}
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
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, l := range all {
			switch {
			case l.row.ETag != row.ETag || lost(err):
				if err := c.judged(ctx, l.fault.Entity.RowKey(), []claim{at}, nil); err != nil {
					return err
				}
				continue
			case err == nil:
				l.fault.Repaired = true
			default:
				l.fault.Err = err
			}
			c.found(l.fault)
		}
	}
	return nil
}
