package verify

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/table"
)

// consistentRead is an entity and rows, each nil if it did not exist. Each row is as it was at one
// instant together with the entity; two rows may be of two instants.
type consistentRead struct {
	entity tabledoor.Entity
	stored *table.Row // the entity's row
	rows   []*table.Row
}

// stateOf returns the RowKeys in the maintainer state of the entity, none if there is no entity.
func (s *consistentRead) stateOf(definition string) []string {
	if s.stored == nil {
		return nil
	}
	had, _ := stored.SplitState((*stored.Row)(s.stored).MaintainerState(definition))
	return had
}

// readConsistently reads an entity, the rows, and the entity again: if the entity did not change,
// no write changed its rows in between. If there is no entity, the rows are read again instead: an
// insert and a delete of the entity would write them. It fails with errChanging if something did
// change.
func (p *partition) readConsistently(
	ctx context.Context, entity string, candidates []candidate,
) (s consistentRead, err error) {
	if s.entity, s.stored, err = p.getEntity(ctx, entity); err != nil {
		return s, err
	}
	if s.rows, err = p.getRows(ctx, candidates); err != nil {
		return s, err
	}
	_, again, err := p.getEntity(ctx, entity)
	switch {
	case err != nil:
		return s, err
	case !unchanged(s.stored, again):
		return s, errChanging
	case s.stored != nil || entity == derived.NoEntity:
		return s, nil
	}
	rows, err := p.getRows(ctx, candidates)
	for i := range rows {
		if err == nil && !unchanged(s.rows[i], rows[i]) {
			err = errChanging
		}
	}
	return s, err
}

// unchanged reports whether two reads found the same version of a row, or no row.
func unchanged(before, after *table.Row) bool {
	return stored.SameVersion((*stored.Row)(before), (*stored.Row)(after))
}

// untilConfirmed repeats an attempt to confirm faults while it reports that concurrent writers have
// changed what it has read.
func (r *recorder) untilConfirmed(ctx context.Context, retry engine.Retry, log engine.Log, attempt func() (changed bool, err error)) error {
	var changed bool
	err := retry.Repeat(ctx, log, func() (_ bool, err error) {
		changed, err = attempt()
		if changed && err == nil {
			err = errChanging
		}
		return changed, err
	})
	if changed {
		r.count(derived.Unconfirmed, 1)
		return nil
	}
	return err
}

// mustReread reports whether a write failed because of a concurrent writer, or has an unknown
// outcome.
func mustReread(err error) bool {
	return errors.Is(err, table.ErrChanged) || errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrContended) || errors.Is(err, table.ErrUnknownOutcome)
}

// digest returns a number that differs if contents differ, and that does not depend on the order of
// the properties.
func (r *run) digest(row *table.Row) uint64 {
	return stored.NewHasher(r.seed).Sum((*stored.Row)(row))
}
