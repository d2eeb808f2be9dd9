package logtail

import (
	"context"
	"fmt"
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
	beginning := c.from.IsZero()
	if beginning {
		c.moveTo(p.Horizon())
	}
	if !c.from.Before(known.upTo) {
		var dropped bool
		if known.open, dropped, err = p.open(ctx, c.from, final); err != nil {
			return end, err
		}
		if dropped && !beginning { // by a job that keeps less
			return end, fmt.Errorf("%w: tables after %s are dropped", ErrPastRetention, c.from.Format(time.RFC3339))
		}
		known.upTo = final
	}
	end = earlier(known.upTo, final) // the clock may have stepped back
	for len(known.open) > 0 && !p.opt.Unit.add(known.open[0], 1).After(c.from) {
		known.open = known.open[1:]
	}
	if len(known.open) == 0 {
		c.moveTo(end)
		return end, nil
	}
	if start := earlier(known.open[0], end); c.from.Before(start) {
		c.moveTo(start)
	}
	return earlier(p.opt.Unit.add(known.open[0], 1), end), nil
}
