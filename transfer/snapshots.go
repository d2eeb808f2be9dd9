package transfer

import (
	"context"
	"fmt"
	"slices"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/catalogue"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/table"
)

// Snapshots is a definition for aztablekit.Table, by which an export can tell of each partition
// whether its rows are of one moment; see Counts["torn"] of [Export]. A write of one row is then a
// transaction of two rows: the stamp of the partition is the other one.
//
//	staff := aztablekit.Table(company, "staff", dept, empid, transfer.Snapshots[Employee]("snapshots"))
//
// Each transaction that writes entities then also stores a row of their partition again, its stamp
// (~s). A write takes as many requests as without, and each partition has one row more. A
// transaction has one row less: 99, with what follows from the entities. The service stores one
// transaction of a partition after the other in any case, and writers do not refuse each other
// because of the stamp. Clients with a signature need the rights to add and to update.
//
// What workers store in other partitions (indexes elsewhere, views), the clean-up and [Import] do
// not store stamps. Nor do programs without the definition whose signatures hide the table's
// catalogue: give them the definition, too.
//
// The name is unique among the definitions of the table. On a table in use the definition counts
// once aztablekit.Store.Fill has run; then each type of the table must have one, of a name of its
// own, or its writes are refused. aztablekit.Store.Retire takes it out of use and deletes the
// stamps.
func Snapshots[T any](name string) extend.Definition[T] { return snapshots[T]{name} }

type snapshots[T any] struct{ name string }

// Name implements extend.Definition.
func (s snapshots[T]) Name() string { return s.name }

// Define implements extend.Definition.
func (s snapshots[T]) Define(d *extend.Declaration[T]) error { return define(d, s.name) }

// define adds the definition to a declaration, d.
func define(d any, name string) error {
	if name == "" {
		return &table.ValueError{Field: "name", Reason: "is empty; give Snapshots one, such as snapshots"}
	}
	return host.Attach(d, func(t table.Handle) (table.Handle, error) {
		if other := door.Table(t).Mode.Stamps(); other != "" {
			return nil, &table.ValueError{Field: "definitions", Reason: fmt.Sprintf("contain Snapshots twice, as %q, too", other)}
		}
		return door.InMode(t, func(m *engine.Mode) { m.Chain = append(slices.Clip(m.Chain), engine.Stamps{Definition: name}) }), nil
	})
}

// stamps reads the stamps of a table's partitions.
type stamps struct {
	table     *engine.Table
	catalogue *catalogue.Catalogue
}

func stampsOf(t *engine.Table) stamps { return stamps{t, catalogue.New(t, 0)} }

// read returns what changes with each transaction of entities in a partition, "" if nothing tells.
// Requests: 1, and once a minute 1 for the definitions.
func (s stamps) read(ctx context.Context, partition string) (string, error) {
	stamp, err := s.table.Stamp(ctx, "Export", partition)
	if err != nil || stamp == "" {
		return "", err
	}
	definitions, err := s.catalogue.Stamps(ctx) // behind the stamp: it was kept until now
	if err != nil || definitions == "" {
		return "", err
	}
	return definitions + " " + stamp, nil
}

// watch is a partition whose rows do not fit on a page, while it is read. The zero watch is of
// none.
type watch struct {
	on        bool
	partition string
	stamp     string // from before its first row was read; "" if it is not known
}

// snapshotReader reads the rows of a span so that it knows which partitions are of one moment:
// those that are on one page, and those whose stamp is the same before their first page and after
// their last. A partition that begins on a page and may go on behind it is read again, from its
// beginning.
type snapshotReader struct {
	stamps stamps
	watch  watch
}

// begin begins with a span, and returns the stamp of the partition in which it begins: an earlier
// call has read the rows before. Requests: 1, none between partitions.
func (r *snapshotReader) begin(ctx context.Context, s span) (stamp string, err error) {
	if s.From.rk == "" {
		return "", nil
	}
	stamp, err = r.stamps.read(ctx, s.From.pk)
	r.watch = watch{true, s.From.pk, stamp}
	return stamp, err
}

// settle returns the rows of a page that are settled, and where to read on if others are to be read
// again.
func (r *snapshotReader) settle(ctx context.Context, page []*row, more bool) (rows []*row, again *place, err error) {
	if !more || len(page) == 0 {
		return page, nil, nil
	}
	last := page[len(page)-1].key.PartitionKey()
	if r.watch.on && r.watch.partition == last {
		return page, nil, nil
	}
	i := slices.IndexFunc(page, func(of *row) bool { return of.key.PartitionKey() == last })
	if i == 0 { // it has more rows than a page
		stamp, err := r.stamps.read(ctx, last)
		if err != nil {
			return nil, nil, err
		}
		r.watch = watch{true, last, stamp}
	}
	return page[:i], &place{pk: last}, nil
}

// endedBefore returns the partition that is watched, if rows from a place on are of others and it
// is torn. The end of the table is nil.
func (r *snapshotReader) endedBefore(ctx context.Context, at *place) (torn []string, err error) {
	was := r.watch
	if !was.on || at != nil && at.pk == was.partition {
		return nil, nil
	}
	r.watch = watch{}
	stamp := ""
	if was.stamp != "" {
		stamp, err = r.stamps.read(ctx, was.partition)
	}
	if stamp == "" || stamp != was.stamp {
		torn = []string{was.partition}
	}
	return torn, err
}

// stampAt returns the stamp of the partition in which a chunk ends, "" if it ends between two, or
// if the partition was written since it is watched. Requests: 1 within a partition.
func (r *snapshotReader) stampAt(ctx context.Context, end *place) (string, error) {
	if r == nil || end == nil || end.rk == "" || r.watch.stamp == "" {
		return "", nil
	}
	stamp, err := r.stamps.read(ctx, r.watch.partition)
	if stamp != r.watch.stamp {
		stamp = ""
	}
	return stamp, err
}
