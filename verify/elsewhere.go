package verify

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// widthElsewhere is how many entities are confirmed and repaired at a time.
const widthElsewhere = 10

// verify compares all rows with all entities. If there are more rows than may be kept in memory, it
// reads both again to compare what the sieve has left.
func (r *elsewhereRun) verify(ctx context.Context) error {
	if err := r.compareAll(ctx); err != nil || r.sieve == nil {
		return err
	}
	for _, g := range r.sieve.groups(r.mostRows) {
		again := &elsewhereRun{run: r.run, again: g, digests: map[pairElsewhere]uint64{}, notified: r.notified}
		if err := again.compareAll(ctx); err != nil {
			return err
		}
	}
	return nil
}

// compareAll reads the rows first, then the entities, and confirms each difference.
func (r *elsewhereRun) compareAll(ctx context.Context) error {
	r.confirms, ctx = errgroup.WithContext(ctx)
	r.confirms.SetLimit(widthElsewhere)
	var err error
	if r.readsAll() {
		err = r.readRows(ctx)
	}
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
func (r *elsewhereRun) readRows(ctx context.Context) error {
	before := door.Table(r.table).Options.Now().Add(-commit.Retention - time.Hour)
	for i, d := range r.elsewhere {
		for row, err := range d.Rows(ctx, r.pacer.PageSize()) {
			if err == nil {
				err = r.pacer.Spend(ctx, 1)
			}
			if err == nil && !r.opt.DryRun && d.IsTombstone(row) && row.Timestamp.Before(before) {
				err = r.sweep(ctx, d, row)
			}
			if err != nil {
				return err
			}
			r.addRow(i, row)
		}
		if d.Ranged() {
			return table.ErrRanged
		}
	}
	return nil
}

// sweep deletes an old tombstone.
func (r *elsewhereRun) sweep(ctx context.Context, d derived.Elsewhere, row *table.Row) error {
	err := d.Delete(ctx, row)
	switch {
	case mustReread(err):
		return nil // a worker has written it again
	case err == nil:
		r.count(derived.Tombstones, 1)
	}
	return err
}

// addRow adds a row of a definition with the entities that it names.
func (r *elsewhereRun) addRow(definition int, row *table.Row) {
	if r.again == nil {
		r.count(derived.Rows, 1)
	}
	d := r.elsewhere[definition]
	for _, entity := range d.EntitiesIn(row) {
		if named := bothKeys(entity); r.again.contains(named) {
			r.add(pairElsewhere{definition, bothKeys(row.Key), named}, r.digest(d.Content(row)))
		}
	}
}

// add adds a row with one entity. If there are too many, all go into a sieve.
func (r *elsewhereRun) add(p pairElsewhere, digest uint64) {
	if r.sieve == nil && r.again == nil && len(r.digests) >= r.mostRows {
		r.sieve = newSieve(r.seed)
		for p, digest := range r.digests {
			r.sieve.addStored(pair{p.definition, p.row, p.entity, digest})
		}
		r.digests = map[pairElsewhere]uint64{}
	}
	if r.sieve != nil {
		r.sieve.addStored(pair{p.definition, p.row, p.entity, digest})
		return
	}
	r.digests[p] = digest
}

// readEntities reads the entities and compares them with the rows.
func (r *elsewhereRun) readEntities(ctx context.Context) error {
	q := table.Query[table.Row]{Partitions: r.opt.Partitions, Rows: r.rows(), PageSize: r.pacer.PageSize(), TableScan: true}
	n := 0
	var page []*table.Row
	compare := func() error {
		if err := r.readRecorded(ctx, page); err != nil {
			return err
		}
		for _, row := range page {
			r.compareRow(ctx, row)
		}
		page = page[:0]
		return r.failed
	}
	for row, err := range r.table.Rows(ctx, q) {
		if err == nil {
			err = r.pacer.Spend(ctx, 1)
		}
		if err == nil && len(page) == together {
			err = compare()
		}
		if err != nil {
			return err
		}
		if r.again.contains(bothKeys(row.Key)) {
			page = append(page, row)
		}
		if n++; n%1000 == 0 {
			r.noteProgress()
		}
	}
	if err := compare(); err != nil {
		return err
	}
	if err := r.writeFills(ctx); err != nil {
		return err
	}
	if door.Table(r.table).Ranged() {
		return table.ErrRanged
	}
	r.noteProgress()
	return nil
}

// together is how many entities are compared together.
const together = 100

// readRecorded reads the rows that entities record, unless all rows were read. Errors of the
// entities are found later.
func (r *elsewhereRun) readRecorded(ctx context.Context, entities []*table.Row) (err error) {
	if r.whole() || r.opt.RecordsOnly {
		return nil
	}
	var all []pairElsewhere
	for _, row := range entities {
		for i, d := range r.elsewhere {
			for _, k := range d.RecordedRows(row) {
				all = append(all, pairElsewhere{i, bothKeys(k), bothKeys(row.Key)})
			}
		}
	}
	if err := r.pacer.Spend(ctx, len(all)); err != nil {
		return err
	}
	n := 0
	engine.InOrder(ctx, all, func(ctx context.Context, p pairElsewhere) (*table.Row, error) {
		return r.elsewhere[p.definition].GetRow(ctx, keyOf(p.row))
	}, func(row *table.Row, e error) bool {
		p := all[n]
		n++
		if err = e; err != nil || row == nil {
			return err == nil
		}
		r.count(derived.Rows, 1)
		if d := r.elsewhere[p.definition]; slices.Contains(d.EntitiesIn(row), keyOf(p.entity)) {
			r.digests[p] = r.digest(d.Content(row))
		}
		return true
	})
	if err == nil && slices.ContainsFunc(r.elsewhere, func(d derived.Elsewhere) bool { return d.Ranged() }) {
		return table.ErrRanged
	}
	return err
}

// compareRow compares the entity of a row.
func (r *elsewhereRun) compareRow(ctx context.Context, row *table.Row) {
	e, err := r.table.Entity(derived.AsEntity(row))
	if derived.IsForeign(err) {
		return
	}
	if err == nil {
		err = r.compare(ctx, e, row)
	}
	if err != nil {
		r.drop(row.Key)
		if len(r.maintainers) == 0 && r.again == nil { // otherwise it is reported already
			r.noteFault(Fault{Kind: Unreadable, Entity: row.Key, Err: err})
		}
	}
	if r.again == nil {
		r.countEntity()
	}
}

// drop leaves the rows of an entity that cannot be read as they are.
func (r *elsewhereRun) drop(entity keys.Key) {
	for pair := range r.digests {
		if pair.entity == bothKeys(entity) {
			delete(r.digests, pair)
		}
	}
}

// compare compares an entity with the rows, and deletes from them what it has compared. An error is
// one of the definitions' functions.
func (r *elsewhereRun) compare(ctx context.Context, e tabledoor.Entity, row *table.Row) error {
	var evident, candidates []rowElsewhere
	lacks := newEntity{entity: e}
	for i, d := range r.elsewhere {
		want, err := d.WantedRows(e)
		if err != nil {
			return err
		}
		recorded := d.RecordedRows(row)
		for _, k := range want {
			p := pairElsewhere{i, bothKeys(k), bothKeys(tabledoor.KeyOf(e))}
			got, exists := r.digests[p]
			delete(r.digests, p)
			switch {
			case !slices.Contains(recorded, k):
				evident = append(evident, rowElsewhere{i, k})
				lacks.add(rowElsewhere{i, k}, exists)
			case r.opt.RecordsOnly:
			case r.sieve != nil:
				r.sieve.addWanted(pair{i, p.row, p.entity, r.digest(d.WantedContent(row, k))})
			case !exists || got != r.digest(d.WantedContent(row, k)):
				candidates = append(candidates, rowElsewhere{i, k})
			}
		}
		for _, k := range recorded {
			if !slices.Contains(want, k) {
				delete(r.digests, pairElsewhere{i, bothKeys(k), bothKeys(tabledoor.KeyOf(e))})
				evident = append(evident, rowElsewhere{i, k})
			}
		}
	}
	if r.again == nil { // otherwise they are confirmed already
		if !r.opt.DryRun && len(evident) > 0 && len(evident) == len(lacks.rows) {
			r.fills = append(r.fills, lacks)
		} else {
			r.confirm(ctx, tabledoor.KeyOf(e), evident, true)
		}
		if len(r.fills) == mostFills {
			r.failed = r.writeFills(ctx)
		}
	}
	r.confirm(ctx, tabledoor.KeyOf(e), candidates, false)
	return nil
}

// confirm confirms and repairs rows of an entity, together with other entities. evident says that
// the entity alone shows the faults: its maintainer state is not what it should be.
func (r *elsewhereRun) confirm(ctx context.Context, entity keys.Key, rows []rowElsewhere, evident bool) {
	if len(rows) > 0 {
		r.confirms.Go(func() error { return r.confirmEntity(ctx, entity, rows, evident) })
	}
}

// confirmEntity confirms and repairs rows of an entity, until that succeeds or concurrent writers
// have changed them too often.
func (r *elsewhereRun) confirmEntity(ctx context.Context, entity keys.Key, rows []rowElsewhere, evident bool) error {
	log := r.log
	log.Key, log.Conflicts = entity, true
	err := r.untilConfirmed(ctx, engine.Retry(door.Table(r.table).Options.Retry).ForConflicts(), log, func() (changed bool, err error) {
		err = r.confirmOnce(ctx, entity, rows, evident)
		return err == errChanging || mustReread(err), err
	})
	var unreadable *unreadableError
	if errors.As(err, &unreadable) {
		r.noteFault(Fault{Definition: unreadable.definition, Kind: Unreadable, Entity: entity, Err: err})
		return nil
	}
	return err
}

// elsewhereRun is a run over the definitions whose rows are in other partitions or tables.
type elsewhereRun struct {
	*run
	digests  map[pairElsewhere]uint64 // of the content of all rows, for each entity that a row names
	sieve    *sieve                   // instead, of more rows than are kept
	again    *group                   // of the entities, which are compared again
	fills    []newEntity              // which are not written yet
	failed   error                    // of a request about them
	confirms *errgroup.Group          // confirmations and repairs of entities, several at a time

	notified *sync.Map // pending commit records, by PartitionKey and operation ID
}

func newElsewhereRun(r *run) *elsewhereRun {
	return &elsewhereRun{run: r, digests: map[pairElsewhere]uint64{}, notified: &sync.Map{}}
}

// pairElsewhere is a row of a definition, by its position, and an entity that it names.
type pairElsewhere struct {
	definition int
	row        string // both keys, as entity
	entity     string
}

// rowElsewhere is a row of a definition that may have a fault.
type rowElsewhere struct {
	definition int
	key        keys.Key
}

// bothKeys returns the two keys as one text; no key contains a /.
func bothKeys(k keys.Key) string { return k.PartitionKey() + "/" + k.RowKey() }

func keyOf(text string) keys.Key {
	pk, rk, _ := strings.Cut(text, "/")
	return keys.Raw(pk, rk)
}

// entityElsewhere is an entity as it was read, and some of its rows.
type entityElsewhere struct {
	entity tabledoor.Entity // nil if there is none
	stored *table.Row
	rows   []*table.Row // nil where there is none
}

// read reads rows and their entity.
func (r *elsewhereRun) read(ctx context.Context, entity keys.Key, rows []rowElsewhere) (s entityElsewhere, err error) {
	if err := r.pacer.Spend(ctx, 1+len(rows)); err != nil {
		return s, err
	}
	for _, k := range rows {
		row, err := r.elsewhere[k.definition].GetRow(ctx, k.key)
		if err != nil {
			return s, err
		}
		s.rows = append(s.rows, row)
	}
	if !r.schema.Rows().Contains(entity.RowKey()) {
		return s, nil
	}
	s.stored, err = tabledoor.FindRow(ctx, r.table, entity)
	if err != nil || s.stored == nil {
		return s, err
	}
	s.entity, err = r.table.Entity(derived.AsEntity(s.stored))
	switch {
	case derived.IsForeign(err):
		return s, nil
	case err != nil:
		return s, &unreadableError{error: err}
	}
	return s, nil
}

// faultElsewhere is a fault of a row.
type faultElsewhere struct {
	Fault
	of  rowElsewhere
	row *table.Row // as it was read, nil if there is none
}

// faultsOf returns the faults of rows; if evident is set, only those that the entity alone shows.
func (r *elsewhereRun) faultsOf(
	entity keys.Key, rows []rowElsewhere, s *entityElsewhere, evident bool,
) (all []faultElsewhere, err error) {
	for i, k := range rows {
		d := r.elsewhere[k.definition]
		wanted, recorded := false, false
		if s.entity != nil {
			want, err := d.WantedRows(s.entity)
			if err != nil {
				return nil, &unreadableError{d.Name(), err}
			}
			wanted, recorded = slices.Contains(want, k.key), slices.Contains(d.RecordedRows(s.stored), k.key)
		}
		if evident && wanted == recorded {
			continue
		}
		f := faultElsewhere{Fault{Definition: d.Name(), Row: k.key, Entity: entity}, k, s.rows[i]}
		var owners []keys.Key
		if f.row != nil {
			owners = d.EntitiesIn(f.row)
		}
		has := slices.Contains(owners, entity)
		switch first := r.firstOwner(d, f.of, entity, wanted && !has); {
		case wanted && !has && changeWithEntities(d) && len(owners) > 0:
			f.Kind, f.Owner = DuplicateValue, owners[0]
		case first != entity:
			f.Kind, f.Owner = DuplicateValue, first
		case wanted && !has:
			f.Kind = Missing
			if f.row != nil && !d.Owns(f.row) {
				f.Err = derived.ForeignRow(d.Name(), k.key)
			}
		case !wanted && !recorded && has && d.InFlight(f.row):
			continue
		case !wanted && has:
			f.Kind = Dangling
		case wanted != recorded:
			f.Kind = StateMismatch
		case wanted && r.digest(d.Content(f.row)) != r.digest(d.WantedContent(s.stored, k.key)):
			f.Kind = Stale
		default:
			continue
		}
		all = append(all, f)
	}
	return all, nil
}

// changeWithEntities reports whether the rows of a definition change together with their entities.
// Otherwise workers change them.
func changeWithEntities(d interface{ Kind() string }) bool { return d.Kind() == "" }

// firstOwner returns the first entity that lacks the row of a unique value, in a run without
// Repair: with Repair, the first one gets the row.
func (r *elsewhereRun) firstOwner(d derived.Elsewhere, row rowElsewhere, entity keys.Key, lacks bool) keys.Key {
	if !r.opt.DryRun || !changeWithEntities(d) || !lacks {
		return entity
	}
	first, _ := r.firstOwners.LoadOrStore(row, entity)
	return first.(keys.Key)
}

// confirmOnce makes one attempt to confirm and repair rows of an entity. A difference is a fault if
// no commit record is pending that will change the row, and neither the entity nor the row has
// changed since before that was known.
func (r *elsewhereRun) confirmOnce(ctx context.Context, entity keys.Key, rows []rowElsewhere, evident bool) error {
	first, err := r.read(ctx, entity, rows)
	if err != nil {
		return err
	}
	faults, err := r.faultsOf(entity, rows, &first, evident)
	if err != nil || len(faults) == 0 {
		return err
	}
	if !evident {
		switch pending, err := r.hasPendingRecord(ctx, entity, faults); {
		case err != nil:
			return err
		case pending:
			r.count(derived.Pending, 1)
			return nil
		}
		second, err := r.read(ctx, entity, rows)
		if err != nil {
			return err
		}
		if !unchanged(first.stored, second.stored) || !slices.EqualFunc(first.rows, second.rows, unchanged) {
			return errChanging
		}
	}
	if !r.opt.DryRun {
		return r.repair(ctx, &first, faults, evident)
	}
	for _, f := range faults {
		r.noteFault(f.Fault)
	}
	return nil
}
