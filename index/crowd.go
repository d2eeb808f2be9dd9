package index

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/aztablekit/aztablekit/table"
)

// crowd is what is wrong with many entities and is repaired at once: lists, for each write of a member writes all of its list.
type batchRepair[T any] struct {
	*partitionRun[T]
	candidates map[string][]candidate

	mu        sync.Mutex
	additions []addition[T] // whom lists have lost, or should
	removals  []removal
	rows      map[candidate]*table.Row // their lists, of which each has seen one of its own
}

// leaver is a member of a list that does not belong there.
type removal struct {
	candidate candidate
	row       *table.Row // the list, as it was when that was seen
	fault     Fault
}

func (c *batchRepair[T]) addAddition(n addition[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.additions = append(c.additions, n)
}

func (c *batchRepair[T]) addRemoval(l removal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.rows[l.candidate]; r != nil && r.ETag == l.row.ETag {
		l.row = r
	} else {
		c.rows[l.candidate] = l.row
	}
	c.removals = append(c.removals, l)
}

// settle repairs it. Who cannot be repaired with the others is looked at alone.
func (c *batchRepair[T]) repair(ctx context.Context) error {
	if err := c.remove(ctx); err != nil {
		return err
	}
	var names []string
	for _, n := range c.additions {
		for _, f := range n.faults {
			if !slices.Contains(names, f.Definition) {
				names = append(names, f.Definition)
			}
		}
	}
	skipped, err := c.writeTogether(ctx, c.additions, names...)
	for i, n := range c.additions {
		if _, is := skipped[i]; is {
			continue
		}
		for _, f := range n.faults {
			f.Repaired = true
			c.noteFault(f)
		}
	}
	for i, n := range c.additions {
		if rk := n.entity.Key.RowKey(); skipped[i] != nil && err == nil {
			err = c.confirmAndNote(ctx, rk, c.candidates[rk], nil)
		}
	}
	return err
}

// release takes leavers out of each list by one write, by the ETag that they were seen with: whoever joins a list writes it.
func (c *batchRepair[T]) remove(ctx context.Context) error {
	lists := map[candidate][]removal{}
	for _, l := range c.removals {
		lists[l.candidate] = append(lists[l.candidate], l)
	}
	for at, all := range lists {
		row := all[0].row
		var members []string
		for _, l := range all {
			if l.row.ETag == row.ETag {
				members = append(members, l.fault.Entity.RowKey())
			}
		}
		left, err := c.snapshots[at.snapshot].maintainer.Without(row, members...)
		if err == nil {
			err = c.writeRow(ctx, row, left)
		}
		var open []removal
		for _, l := range all {
			switch unseen := l.row.ETag != row.ETag; {
			case ctx.Err() != nil && (unseen || err != nil):
				l.fault.Err = cmp.Or(err, ctx.Err())
			case unseen || mustReread(err):
				open = append(open, l)
				continue
			default:
				l.fault.Err, l.fault.Repaired = err, err == nil
			}
			c.noteFault(l.fault)
		}
		for _, l := range open {
			if err := c.confirmAndNote(ctx, l.fault.Entity.RowKey(), []candidate{at}, nil); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
