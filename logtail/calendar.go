package logtail

import (
	"context"
	"time"
)

// calendar is the periods with tables, for a follower that catches up.
type calendar struct {
	open []time.Time // their beginnings, the oldest first
	upTo time.Time   // open has all periods that begin before it
}

// nextPeriod moves the cursor over periods without tables, and returns until when to catch up: to the end of a period, and at most
// to final.
func (l *Log[T]) nextPeriod(ctx context.Context, c *Cursor, known *calendar, final time.Time) (end time.Time, err error) {
	p := l.tables.periods
	if p == nil {
		return final, nil
	}
	if c.from.IsZero() {
		c.moveTo(p.Horizon())
	}
	if err := l.tables.keeps(c.from); err != nil {
		return end, err
	}
	if !c.from.Before(known.upTo) {
		if known.open, err = p.open(ctx, c.from, final); err != nil {
			return end, err
		}
		known.upTo = final
	}
	for len(known.open) > 0 && !p.opt.Unit.add(known.open[0], 1).After(c.from) {
		known.open = known.open[1:]
	}
	if len(known.open) == 0 {
		c.moveTo(known.upTo)
		return known.upTo, nil
	}
	if start := known.open[0]; c.from.Before(start) {
		c.moveTo(start)
	}
	return earlier(p.opt.Unit.add(known.open[0], 1), known.upTo), nil
}
