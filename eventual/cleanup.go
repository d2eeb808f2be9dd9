package eventual

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// cleaner plans and executes the clean-up of commit records: one clean-up message for each partition and hour, and a note in the
// partition that the message was sent.
type cleaner struct {
	env     *environment
	planned hourSet
}

// plan makes sure that the commit records that were written this hour in the message's partition are deleted a day later. It is
// called before a message is deleted. The clean-up message is sent before the note is written: a crash in between leads to a second
// message, which does no harm.
func (c *cleaner) plan(ctx context.Context, t *tableHandlers, m message) {
	if c.env.cleanUps.client == nil {
		return
	}
	for {
		hour := c.env.opt.Now().UTC().Truncate(time.Hour)
		err := c.planned.once(m.partitionName()+"/"+hour.String(), func() error { return c.planHour(ctx, t, m, hour) })
		switch {
		case err == errHourOver:
			continue
		case err != nil:
			c.env.opt.Logger.Warn("clean-up not planned", "table", m.Table, "partition", m.Partition, "error", wire.Redact(err))
		}
		return
	}
}

// errHourOver: the hour ended before its clean-up was planned, so the next hour has to be planned.
var errHourOver = errors.New("eventual: the hour is over")

func (c *cleaner) planHour(ctx context.Context, t *tableHandlers, m message, hour time.Time) error {
	planned, err := t.table.Engine().SweepPlanned(ctx, m.Partition, hour)
	if err != nil || planned {
		return table.ErrorOf(err)
	}
	due := hour.Add(time.Hour + commit.Retention + 2*time.Hour) // 2 h for the differences of clocks
	text := message{Version: messageVersion, Table: m.Table, Partition: m.Partition, Hour: hour.Format(time.RFC3339)}.text()
	if _, err := c.env.cleanUps.put(ctx, text, due.Sub(c.env.opt.Now())); err != nil {
		return err
	}
	if !c.env.opt.Now().Before(hour.Add(time.Hour)) {
		return errHourOver
	}
	return table.ErrorOf(t.table.Engine().PlanSweep(ctx, m.Partition, hour))
}

// execute deletes old commit records in the message's partition. Their age decides: the hour in the message is not trusted.
func (c *cleaner) execute(ctx context.Context, x *lease) outcome {
	t := c.env.handlers.of(x.message.Table)
	switch {
	case x.err == errNewer, x.err == nil && t == nil:
		return outcome{kind: deferred, unknown: true, class: ClassUnknown, reason: "no handler is registered for its table or version"}
	case x.err != nil || x.message.Hour == "":
		return outcome{kind: poisoned, class: ClassUndecodable, reason: errUndecodable}
	}
	partition := x.message.partition()
	before := c.env.opt.Now().Add(-commit.Retention - time.Hour)
	for _, h := range t.byKind {
		if h.Sweep == nil {
			continue
		}
		sweep := func(ctx context.Context) error { return h.Sweep(ctx, partition, before) }
		if err := callHandler(ctx, c.env.opt.HandlerTimeout, h.Kind, sweep); err != nil {
			return handlerOutcome(ctx, h.Kind, c.env.opt.Defer, err)
		}
	}
	if _, err := t.records.Sweep(ctx, partition); err != nil { // after the handlers, which may look for old effects in the records
		return requestOutcome(ctx, err)
	}
	c.env.stats.add(func(s *Stats) { s.CleanUps++ })
	return outcome{}
}

// hourSet contains the hours of partitions whose clean-ups are planned, to save requests.
type hourSet struct {
	mu     sync.Mutex
	names  map[string]bool
	flight singleflight.Group // several messages of a partition are executed at the same time
}

const maxHours = 10_000

// once calls f, unless an earlier call for the name succeeded. It drops all names after maxHours.
func (s *hourSet) once(name string, f func() error) error {
	s.mu.Lock()
	known := s.names[name]
	s.mu.Unlock()
	if known {
		return nil
	}
	if _, err, _ := s.flight.Do(name, func() (any, error) { return nil, f() }); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil || len(s.names) >= maxHours {
		s.names = map[string]bool{}
	}
	s.names[name] = true
	return nil
}
