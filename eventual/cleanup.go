package eventual

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// plan makes sure that what was written of intents in a partition in this hour is deleted when it means nothing any more. Whoever is
// about to delete an intent's message looks for the hour's note in the partition; where there is none, the clean-up is sent first, and
// noted then: who dies in between has sent one too many, which does no harm.
func (w *Worker) plan(ctx context.Context, t *known, m message) {
	if w.cleanUps.q == nil {
		return
	}
	for {
		hour := w.opt.Now().UTC().Truncate(time.Hour)
		err := w.planned.once(folded(m.Table)+"/"+m.Partition+"/"+hour.String(), func() error { return w.planHour(ctx, t, m, hour) })
		switch {
		case err == errHourOver:
			continue
		case err != nil:
			w.opt.Logger.Warn("a clean-up could not be planned", "table", m.Table, "partition", m.Partition, "error", wire.Redact(err))
		}
		return
	}
}

// errHourOver: what was seen of an hour says nothing of the next.
var errHourOver = errors.New("eventual: the hour is over")

func (w *Worker) planHour(ctx context.Context, t *known, m message, hour time.Time) error {
	is, err := t.intents.SweepPlanned(ctx, m.partition(), hour)
	if err != nil || is {
		return err
	}
	due := hour.Add(time.Hour + table.CommitRecordRetention + 2*time.Hour) // for clocks that differ
	text := message{Version: version, Table: m.Table, Partition: m.Partition, Hour: hour.Format(time.RFC3339)}.text()
	if _, err := w.cleanUps.put(ctx, text, due.Sub(w.opt.Now())); err != nil {
		return err
	}
	if !w.opt.Now().Before(hour.Add(time.Hour)) {
		return errHourOver
	}
	return t.intents.PlanSweep(ctx, m.partition(), hour)
}

// hours are those of partitions whose clean-ups are known to be planned, to save requests.
type hours struct {
	mu     sync.Mutex
	all    map[string]bool
	flight singleflight.Group // for several messages of a partition are worked on at once
}

const maxNotes = 10_000

// once calls f unless it has succeeded before, as far as is remembered.
func (n *hours) once(name string, f func() error) error {
	n.mu.Lock()
	is := n.all[name]
	n.mu.Unlock()
	if is {
		return nil
	}
	if _, err, _ := n.flight.Do(name, func() (any, error) { return nil, f() }); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil || len(n.all) >= maxNotes {
		n.all = map[string]bool{}
	}
	n.all[name] = true
	return nil
}

// cleanUp deletes what old writes have left in a partition. It goes by the age of things, not by what the message says.
func (w *Worker) cleanUp(ctx context.Context, x *lease) (v verdict) {
	m, err := x.m, x.err
	defer func() { v.m = m }()
	t := w.tables[folded(m.Table)]
	switch {
	case err == errNewer, err == nil && t == nil:
		return verdict{kind: later, told: true, class: ClassUnknown, why: "its table or version is not known"}
	case err != nil || m.Hour == "":
		return verdict{kind: never, class: ClassUndecodable, why: errUndecodable}
	}
	partition := m.partition()
	if _, err := t.intents.Sweep(ctx, partition); err != nil {
		return own(ctx, err)
	}
	before := w.opt.Now().Add(-table.CommitRecordRetention - time.Hour)
	for _, h := range t.kinds {
		if h.Sweep == nil {
			continue
		}
		if err := w.guarded(ctx, h.Kind, func(ctx context.Context) error { return h.Sweep(ctx, partition, before) }); err != nil {
			return w.judged(ctx, table.Effect{Kind: h.Kind}, err)
		}
	}
	w.count(func(s *Stats) { s.CleanUps++ })
	return verdict{}
}
