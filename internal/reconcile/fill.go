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

// Filling is Inline for transactions of many entities whose rows do not exist yet. The effects of a
// transaction are executed together: rows are inserted without a read before, and one that exists
// is reconciled. A row that several entities share is read, changed once, and written.
//
// Requests of a transaction, besides those of the outbox: 1 to read the commit record, 1 for the
// entities, 1 for each row and 1 more for one that entities share, and 1 to mark the commit record;
// those of [Reconcile] more for a row that exists. failed receives the entities of which a row can
// never be stored, with the error. It is called at the same time for several.
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
	targets  [][]fillTarget // those of one row together
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
	shared := map[string]int{} // positions in targets
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
			row, is := t.(*Row)
			if !is || !row.Shared {
				f.targets = append(f.targets, []fillTarget{{entity, t}})
				continue
			}
			name := row.Table.Name() + "/" + row.Key.PartitionKey() + "/" + row.Key.RowKey()
			i, known := shared[name]
			if !known {
				i = len(f.targets)
				shared[name] = i
				f.targets = append(f.targets, nil)
			}
			f.targets[i] = append(f.targets[i], fillTarget{entity, t})
		}
	}
	f.began = door.Table(h.source).Options.Now()
	if err := f.each(ctx, readShared); err != nil {
		return err
	}
	var err error
	if f.entities, err = ReadTogether(ctx, h.source, partition, entities); err != nil {
		return err
	}
	return f.each(ctx, f.write)
}

// each calls do for all targets, several at a time, those of one row together.
func (f *fill) each(ctx context.Context, do func(context.Context, []fillTarget) error) error {
	var g errgroup.Group // one failure does not end the others
	g.SetLimit(width)
	for _, of := range f.targets {
		g.Go(func() (err error) {
			defer func() {
				if recover() != nil { // a function of the program's panics; a worker reports it
					err = errPanic
				}
			}()
			return do(ctx, of)
		})
	}
	return g.Wait()
}

var errPanic = errors.New("a function of the program panics")

// readShared reads a row that entities share. Other rows are not read.
func readShared(ctx context.Context, of []fillTarget) error {
	if row, is := of[0].Target.(*Row); is && row.Shared {
		return row.Read(ctx)
	}
	return nil
}

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

// write writes a row, or reconciles it with each of its entities if it is not as it was taken to
// be.
func (f *fill) write(ctx context.Context, of []fillTarget) error {
	err := errLate
	// By the wall clock, since the monotonic one may stand still while the machine is suspended.
	if door.Table(f.source).Options.Now().Round(0).Sub(f.began.Round(0)) <= mostAge {
		err = f.writeOnce(ctx, of)
	}
	if err == nil {
		return nil
	}
	var left error
	for _, t := range of {
		if err := Reconcile(ctx, f.source, t.entity, t.Target); err != nil {
			left = err
			if isPermanent(err) {
				f.failed(t.entity, err)
			}
		}
	}
	return left
}

func (f *fill) writeOnce(ctx context.Context, of []fillTarget) error {
	first, is := of[0].Target.(*Row)
	if !is || !first.Shared {
		return of[0].Write(ctx, f.entities[of[0].entity])
	}
	want := first.stored
	for _, t := range of {
		var err error
		if want, err = t.Target.(*Row).want(want, f.entities[t.entity]); err != nil {
			return err
		}
	}
	return first.put(ctx, want)
}
