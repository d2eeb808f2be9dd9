package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Filling is InlineTogether for transactions of many entities whose rows do not exist yet. The
// effects of a transaction are executed together: rows are inserted without a read before, and one
// that exists is reconciled.
//
// Requests of a transaction, besides those of the outbox: 1 to read the commit record, 1 for the
// entities, 1 for each row, and 1 to mark the commit record; those of [Reconcile] more for a row
// that exists. failed receives the entities of which a row can never be stored, with the error. It
// is called at the same time for several.
func Filling(outbox commit.Outbox, kind string, source table.Handle, failed func(entity keys.Key, err error), definitions ...Definition) commit.Outbox {
	h := &handler{kind, source, definitions}
	return InlineTogether(outbox, source, func(ctx context.Context, record *commit.Record) (done bool) {
		var own []commit.Effect
		for _, e := range record.Effects {
			if e.Kind == kind && e.Version <= payloadVersion && isOf(e, source) {
				own = append(own, e)
			}
		}
		return h.fill(ctx, record.Partition, own, failed) == nil && len(own) == len(record.Effects) && records.Of(source).MarkDone(ctx, record) == nil
	})
}

// fill executes the effects of one commit record together.
type fill struct {
	*handler
	began    time.Time
	targets  []fillTarget
	failed   func(entity keys.Key, err error)
	entities map[keys.Key]*table.Row
}

type fillTarget struct {
	entity keys.Key
	Target
}

// fill executes effects of a commit record of a partition. A target that is not read counts as
// absent, which its insert confirms: a tombstone that says that there is no row cannot have been
// swept since the entities were read.
func (h *handler) fill(ctx context.Context, partition keys.PartitionKey, effects []commit.Effect, failed func(entity keys.Key, err error)) error {
	f := &fill{handler: h, failed: failed}
	var entities []keys.Key
	for _, e := range effects {
		entity := host.EntityOf(e, partition)
		rows, err := h.rowsIn(entity, e.Payload)
		if err != nil {
			return err
		}
		targets, unknown, err := h.targets(entity, rows)
		if err = errors.Join(err, unknown); err != nil {
			return err
		}
		entities = append(entities, entity)
		for _, t := range targets {
			f.targets = append(f.targets, fillTarget{entity, t})
		}
	}
	f.began = door.Table(h.source).Options.Now()
	var err error
	if f.entities, err = ReadTogether(ctx, h.source, partition, entities); err != nil {
		return err
	}
	return f.writeAll(ctx)
}

// writeAll writes all rows, several at a time.
func (f *fill) writeAll(ctx context.Context) error {
	var g errgroup.Group // one failure does not end the others
	g.SetLimit(width)
	for _, of := range f.targets {
		g.Go(func() (err error) {
			defer func() {
				if recover() != nil { // a function of the program's panics; a worker reports it
					err = errPanic
				}
			}()
			return f.write(ctx, of)
		})
	}
	return g.Wait()
}

var errPanic = errors.New("a function of the program panics")

// mostPages is how many pages are read to find rows that lie far apart.
const mostPages = 3

// ReadTogether reads rows of a partition of a table, with their parts, by one query of the range in
// which they lie, and by their keys if there are many others in between. Rows that do not exist are
// left out. Errors: those of a read (see package table). Requests: 1 to 3, and 1 for each row that
// they did not find, 10 at a time.
func ReadTogether(ctx context.Context, t table.Handle, partition keys.PartitionKey, all []keys.Key) (map[keys.Key]*table.Row, error) {
	rows := door.Rows[table.Table[table.Row]](door.Table(t), true)
	found := make(map[keys.Key]*table.Row, len(all))
	all = slices.SortedFunc(slices.Values(all), func(a, b keys.Key) int { return keys.Compare(a.RowKey(), b.RowKey()) })
	var seen string // up to which all rows were read
	if len(all) > 1 {
		q := table.Query[table.Row]{Partition: partition, Rows: keyrange.Stored(all[0].RowKey(), all[len(all)-1].RowKey()+afterParts), Budget: table.Budget{Requests: mostPages}}
		for e, err := range rows.List(ctx, q) {
			if errors.Is(err, table.ErrBudget) {
				break
			}
			if err != nil {
				return nil, err
			}
			seen = e.Key.RowKey()
			if _, is := slices.BinarySearchFunc(all, seen, func(k keys.Key, rk string) int { return keys.Compare(k.RowKey(), rk) }); is {
				found[e.Key] = &e.Value
			}
		}
	}
	left := slices.DeleteFunc(all, func(k keys.Key) bool {
		return found[k] != nil || k.PartitionKey() == partition.String() && keys.Compare(k.RowKey(), seen) < 0
	})
	for e, err := range rows.GetMany(ctx, left...) {
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return nil, err
		}
		if err == nil {
			found[e.Key] = &e.Value
		}
	}
	return found, nil
}

// afterParts follows a RowKey in the first key behind the parts of its entity.
var afterParts = string(reserved.PartMark[0] + 1)

// write writes a row, or reconciles it if it is not as it was taken to be.
func (f *fill) write(ctx context.Context, of fillTarget) error {
	err := errLate
	// By the wall clock, since the monotonic one may stand still while the machine is suspended.
	if door.Table(f.source).Options.Now().Round(0).Sub(f.began.Round(0)) <= mostAge {
		err = of.Write(ctx, f.entities[of.entity])
	}
	if err == nil {
		return nil
	}
	if err = Reconcile(ctx, f.source, of.entity, of.Target); err != nil && isPermanent(err) {
		f.failed(of.entity, err)
	}
	return err
}
