package verify

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// widthElsewhere is how many entities are confirmed and repaired at a time.
const widthElsewhere = 10

// verify compares all rows with all entities. First it reads the rows, then the entities, and confirms each difference.
func (r *elsewhere[T]) verify(ctx context.Context) error {
	r.confirms, ctx = errgroup.WithContext(ctx)
	r.confirms.SetLimit(widthElsewhere)
	err := r.readRows(ctx)
	if err == nil {
		err = r.readEntities(ctx)
	}
	// What is left names an entity that was not read, or that does not want the row.
	if err == nil {
		byEntity := map[string][]rowElsewhere{}
		for pair := range r.digests {
			byEntity[pair.entity] = append(byEntity[pair.entity], rowElsewhere{pair.definition, keyOf(pair.row)})
		}
		for entity, rows := range byEntity {
			r.confirm(ctx, keyOf(entity), rows, false)
		}
	}
	if failed := r.confirms.Wait(); failed != nil {
		return failed // it has canceled ctx
	}
	return err
}

// readRows reads the rows of all definitions. With Repair, it deletes old tombstones.
func (r *elsewhere[T]) readRows(ctx context.Context) error {
	before := r.table.Engine().Options.Now().Add(-commit.Retention - time.Hour)
	for i, d := range r.elsewhere {
		for row, err := range d.Rows(ctx, r.pacer.PageSize()) {
			if err == nil {
				err = r.pacer.Spend(ctx, 1)
			}
			if err == nil && r.opt.Repair && d.IsTombstone(row) && row.Timestamp.Before(before) {
				if err = d.Delete(ctx, row); mustReread(err) {
					err = nil // a worker has written it again
				}
			}
			if err != nil {
				return err
			}
			r.count(0, 0, 1)
			for _, entity := range d.EntitiesIn(row) {
				if r.opt.Partition.IsSet() && entity.PartitionKey() != r.opt.Partition.String() {
					continue
				}
				r.digests[pairElsewhere{i, bothKeys(row.Key), bothKeys(entity)}] = r.digest(d.Content(row))
			}
		}
		if d.Ranged() {
			return table.ErrRanged
		}
	}
	return nil
}

// readEntities reads the entities and compares them with the rows.
func (r *elsewhere[T]) readEntities(ctx context.Context) error {
	q := table.Query[T]{Partition: r.opt.Partition, Rows: r.schema.Rows(), PageSize: r.pacer.PageSize(), TableScan: true}
	n := 0
	for row, err := range r.table.Rows(ctx, q) {
		if err == nil {
			err = r.pacer.Spend(ctx, 1)
		}
		if err != nil {
			return err
		}
		e, err := r.table.Entity(derived.AsEntity(row))
		if derived.IsForeign(err) {
			continue
		}
		if err == nil {
			err = r.compare(ctx, e, row)
		}
		if err != nil {
			r.drop(row.Key)
			if len(r.maintainers) == 0 { // otherwise it is reported already
				r.noteFault(Fault{Kind: Unreadable, Entity: row.Key, Err: err})
			}
		}
		r.count(0, 1, 0)
		if n++; n%1000 == 0 {
			r.noteProgress()
		}
	}
	if r.table.Engine().Ranged() {
		return table.ErrRanged
	}
	r.noteProgress()
	return nil
}

// drop leaves the rows of an entity that cannot be read as they are.
func (r *elsewhere[T]) drop(entity keys.Key) {
	for pair := range r.digests {
		if pair.entity == bothKeys(entity) {
			delete(r.digests, pair)
		}
	}
}

// compare compares an entity with the rows, and deletes from them what it has compared. An error is one of the definitions' functions.
func (r *elsewhere[T]) compare(ctx context.Context, e *table.Entity[T], row *table.Row) error {
	var evident, candidates []rowElsewhere
	for i, d := range r.elsewhere {
		want, err := d.WantedRows(e)
		if err != nil {
			return err
		}
		recorded := d.RecordedRows(row)
		for _, k := range want {
			pair := pairElsewhere{i, bothKeys(k), bothKeys(e.Key)}
			got, exists := r.digests[pair]
			delete(r.digests, pair)
			switch {
			case !slices.Contains(recorded, k):
				evident = append(evident, rowElsewhere{i, k})
			case !exists || got != r.digest(d.WantedContent(row, k)):
				candidates = append(candidates, rowElsewhere{i, k})
			}
		}
		for _, k := range recorded {
			if !slices.Contains(want, k) {
				delete(r.digests, pairElsewhere{i, bothKeys(k), bothKeys(e.Key)})
				evident = append(evident, rowElsewhere{i, k})
			}
		}
	}
	r.confirm(ctx, e.Key, evident, true)
	r.confirm(ctx, e.Key, candidates, false)
	return nil
}

// confirm confirms and repairs rows of an entity, together with other entities. evident says that the entity alone shows the faults:
// its maintainer state is not what it should be.
func (r *elsewhere[T]) confirm(ctx context.Context, entity keys.Key, rows []rowElsewhere, evident bool) {
	if len(rows) > 0 {
		r.confirms.Go(func() error { return r.confirmEntity(ctx, entity, rows, evident) })
	}
}

// confirmEntity confirms and repairs rows of an entity, until that succeeds or concurrent writers have changed them too often.
func (r *elsewhere[T]) confirmEntity(ctx context.Context, entity keys.Key, rows []rowElsewhere, evident bool) error {
	log := r.log
	log.Key, log.Conflicts = entity, true
	err := r.table.Engine().Options.Retry.OfConflicts().Repeat(ctx, log, func() (again bool, err error) {
		err = r.confirmOnce(ctx, entity, rows, evident)
		return err == errChanging || mustReread(err), err
	})
	var unreadable *unreadableError
	switch {
	case err == errChanging, mustReread(err):
		r.noteUnconfirmed()
		return nil
	case errors.As(err, &unreadable):
		r.noteFault(Fault{Definition: unreadable.definition, Kind: Unreadable, Entity: entity, Err: err})
		return nil
	}
	return err
}
