package verify

import (
	"context"
	"iter"
	"strings"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// takeSnapshot reads the rows of a definition.
func (p *partition[T]) takeSnapshot(ctx context.Context, d derived.PerEntity[T]) error {
	s := &snapshot[T]{maintainer: d, digests: map[rowEntity]uint64{}, owners: map[string]string{}}
	p.snapshots = append(p.snapshots, s)
	if c, is := d.(derived.Copying); is {
		return p.takeCopies(ctx, s, c)
	}
	all := p.derivedRows(ctx, d, true)
	if d, is := d.(derived.Searched); is {
		all = p.search(ctx, d.Condition())
	}
	for row, err := range all {
		if err != nil {
			return err
		}
		p.count(0, 0, 1)
		s.add(row.Key.RowKey(), d.EntitiesIn(row), p.digest(d.Content(row)))
	}
	return nil
}

// takeCopies reads the rows of a definition that are copies. It decodes only those with maintainer state.
func (p *partition[T]) takeCopies(ctx context.Context, s *snapshot[T], c derived.Copying) error {
	s.copies.is = true
	s.copies.whole, s.copies.properties, s.copies.projectionID = c.Copied()
	for _, r := range s.maintainer.Ranges() {
		for scanned, err := range p.scanned(ctx, r, false) {
			if err != nil {
				return err
			}
			row, digest := table.RowOf(scanned.System()), scanned.Sum()
			entities := s.maintainer.EntitiesIn(row)
			if len(entities) == 0 {
				p.foreign[strings.Clone(row.Key.RowKey())] = true
				continue
			}
			if hasState(row) {
				if row, err = wholeRow(scanned); err == nil {
					row, err = p.removeState(ctx, s.maintainer, row)
				}
				if err != nil {
					return err
				}
				if row == nil {
					continue // deleted meanwhile
				}
				entities, digest = s.maintainer.EntitiesIn(row), p.digest(s.maintainer.Content(row))
			}
			p.count(0, 0, 1)
			s.add(row.Key.RowKey(), entities, digest)
		}
	}
	return nil
}

// add adds a row with the entities that it names.
func (s *snapshot[T]) add(row string, entities []string, digest uint64) {
	row = s.texts.keep(row)
	for _, entity := range entities {
		if strings.HasSuffix(row, entity) {
			entity = row[len(row)-len(entity):]
		} else {
			entity = s.texts.keep(entity)
		}
		if s.digests[rowEntity{row, entity}] = digest; s.maintainer.Unique() {
			s.owners[row] = entity
		}
	}
}

// derivedRows yields the rows of a definition. On the first pass over the definition it also reports rows that contain maintainer
// state, as no derived row should: no writer could write them.
func (p *partition[T]) derivedRows(ctx context.Context, d derived.Maintainer[T], first bool) iter.Seq2[*table.Row, error] {
	return func(yield func(*table.Row, error) bool) {
		for _, r := range d.Ranges() {
			for row, err := range p.scan(ctx, r) {
				if err == nil && !d.Owns(row) {
					p.foreign[row.Key.RowKey()] = true
					continue
				}
				if err == nil && first && hasState(row) {
					row, err = p.removeState(ctx, d, row)
				}
				if err == nil && row == nil {
					continue // deleted meanwhile
				}
				if !yield(row, err) {
					return
				}
			}
		}
	}
}

// search yields the rows of the partition that meet a condition.
func (p *partition[T]) search(ctx context.Context, where table.Cond[table.Row]) iter.Seq2[*table.Row, error] {
	return func(yield func(*table.Row, error) bool) {
		q := table.Query[table.Row]{Partition: keys.Stored(p.pk, "").Partition(), Where: where, PageSize: p.pacer.PageSize()}
		for e, err := range table.RowsOf(p.table.Engine(), false).List(ctx, q) {
			var row *table.Row
			if err == nil {
				row, err = &e.Value, p.pacer.Spend(ctx, 1)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func hasState(row *table.Row) bool { return row.Type(reserved.MaintainerState) != "" }

// removeState removes maintainer state from a derived row, and returns the row without it.
func (p *partition[T]) removeState(ctx context.Context, d derived.Maintainer[T], row *table.Row) (*table.Row, error) {
	f := Fault{Definition: d.Name(), Kind: Stale, Row: row.Key, Err: errChanging}
	for a := range p.attempts(ctx, row.Key.RowKey()) {
		clean := derived.WithoutSystemProperties(row)
		if entity, is := row.Engine().Primary(); is {
			clean = derived.Copy(clean.At(entity), row.Key, row.Engine().ProjectionID())
			clean.ETag = row.ETag
		} else {
			derived.Own(clean, row.Engine().Owner())
		}
		if !p.opt.Repair {
			f.Err = nil
			p.noteFault(f)
			return clean, nil
		}
		err := p.writeRow(ctx, clean, clean)
		if err == nil && row.Type(reserved.OperationID) != "" {
			return withoutOperationID(clean), nil // makes a full copy stale, so that it is repaired with its entity
		}
		if !mustReread(err) {
			f.Err, f.Repaired = err, err == nil
			p.noteFault(f)
			return clean, ctx.Err()
		}
		a.conflict = err
		if row, err = p.getRow(ctx, row.Key.RowKey()); err != nil || row == nil || !hasState(row) {
			return row, err
		}
	}
	p.noteFault(f)
	return row, ctx.Err()
}

func withoutOperationID(row *table.Row) *table.Row {
	var names []string
	for name := range row.All() {
		if name != reserved.OperationID {
			names = append(names, name)
		}
	}
	return derived.Project(row, names...)
}

// digest returns a number that differs if contents differ, and that does not depend on the order of the properties.
func (r *run[T]) digest(row *table.Row) uint64 {
	return engine.NewHasher(r.seed).Sum(row.Engine())
}
