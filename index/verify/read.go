package verify

import (
	"context"
	"errors"
	"iter"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var (
	// errChanging: no consistent read was possible.
	errChanging = errors.New("gave up: concurrent writers changed the entity or its rows at each of Retry.ConflictAttempts attempts")
	// errForeign: the row of the entity is of another type. Only a table of that type can verify its rows.
	errForeign = errors.New("the row belongs to another type")
)

// unreadableError is an error of an entity, and not of the service.
type unreadableError struct {
	definition string // whose function failed, "" if the entity cannot be decoded
	error
}

func (e *unreadableError) Unwrap() error { return e.error }

// query is the query of a range of the partition.
func (p *partition[T]) query(r keys.Range) table.Query[T] {
	return table.Query[T]{Partition: keys.Stored(p.pk, "").Partition(), Rows: r, PageSize: p.pacer.PageSize()}
}

// scan yields the rows of a range of the partition.
func (p *partition[T]) scan(ctx context.Context, r keys.Range) iter.Seq2[*table.Row, error] {
	return func(yield func(*table.Row, error) bool) {
		for row, err := range p.table.Rows(ctx, p.query(r)) {
			if err == nil {
				err = p.pacer.Spend(ctx, 1)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// scanned is scan without decoding the rows. Entities says that they are entities.
func (p *partition[T]) scanned(ctx context.Context, r keys.Range, entities bool) iter.Seq2[*engine.Scanned, error] {
	return func(yield func(*engine.Scanned, error) bool) {
		err := p.table.Scan(ctx, p.query(r), entities, engine.NewHasher(p.seed), func(s *engine.Scanned) bool {
			err := p.pacer.Spend(ctx, 1)
			return yield(s, err) && err == nil
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// entityOf returns the entity of a row.
func (p *partition[T]) entityOf(s *engine.Scanned) (*table.Entity[T], error) {
	if e, is := s.Entity().(*table.Entity[T]); is {
		return e, nil
	}
	row, err := wholeRow(s)
	if err != nil {
		return nil, err
	}
	return p.table.Entity(derived.AsEntity(row))
}

// wholeRow returns a row with all its properties.
func wholeRow(s *engine.Scanned) (*table.Row, error) {
	row, err := s.Row()
	return table.RowOf(row), err
}

// getEntity reads an entity. The error is an *unreadableError if the entity cannot be decoded, and errForeign if it is of another
// type. The entity is nil if the RowKey is not in the range of the entities.
func (p *partition[T]) getEntity(ctx context.Context, rowKey string) (*table.Entity[T], *table.Row, error) {
	if !p.schema.Rows().Contains(rowKey) {
		return nil, nil, nil
	}
	row, err := p.getRow(ctx, rowKey)
	if err != nil || row == nil {
		return nil, nil, err
	}
	e, err := p.table.Entity(derived.AsEntity(row))
	switch {
	case derived.IsForeign(err):
		return nil, row, errForeign
	case err != nil:
		return nil, row, &unreadableError{error: err}
	}
	return e, row, nil
}

// getRow reads a row. The row is nil if it does not exist, or if no row can have the RowKey.
func (p *partition[T]) getRow(ctx context.Context, rowKey string) (*table.Row, error) {
	k := keys.Stored(p.pk, rowKey)
	if rowKey == derived.NoEntity || k.Err() != nil {
		return nil, nil
	}
	if err := p.pacer.Spend(ctx, 1); err != nil {
		return nil, err
	}
	row, err := p.table.GetRow(ctx, k)
	if errors.Is(err, table.ErrNotFound) {
		return nil, nil
	}
	return row, err
}

func (p *partition[T]) getRows(ctx context.Context, candidates []candidate) (rows []*table.Row, err error) {
	for _, c := range candidates {
		row, err := p.getRow(ctx, c.row)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// consistentRead is an entity and rows, each nil if it did not exist. Each row is as it was at one instant together with the
// entity; two rows may be of two instants.
type consistentRead[T any] struct {
	entity *table.Entity[T]
	stored *table.Row // the entity's row
	rows   []*table.Row
}

// stateOf returns the RowKeys in the maintainer state of the entity, none if there is no entity.
func (s *consistentRead[T]) stateOf(definition string) []string {
	if s.stored == nil {
		return nil
	}
	had, _ := derived.SplitState(s.stored.Engine().MaintainerState(definition))
	return had
}

// readConsistently reads an entity, the rows, and the entity again: if the entity did not change, no write changed its rows in
// between. If there is no entity, the rows are read again instead: an insert and a delete of the entity would write them. It fails
// with errChanging if something did change.
func (p *partition[T]) readConsistently(ctx context.Context, entity string, candidates []candidate) (s consistentRead[T], err error) {
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
	if before == nil || after == nil {
		return before == nil && after == nil
	}
	return before.ETag == after.ETag
}
