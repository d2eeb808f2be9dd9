package index

import (
	"strings"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// copyForm makes the rows elsewhere of an Index.
type copyForm[T, K any] struct{ *indexMaintainer[T, K] }

func (f copyForm[T, K]) contentOf(c *maintain.Change[T], rows []keys.Key) (state []string, same bool, err error) {
	row, same, err := f.contents(c)
	if err != nil {
		return nil, false, err
	}
	for i, k := range rows {
		copied := row.Copy(k, projectionID(f.copied))
		if err := f.checkProjection(copied); err != nil {
			return nil, false, err
		}
		if i == 0 { // the others differ in their keys only
			if err := table.RowsOf(f.table.Engine(), false).InsertAtOp(k, table.RowOf(copied)).Err(); err != nil {
				return nil, false, err
			}
		}
	}
	return f.contentState(row), same, nil
}

func (f copyForm[T, K]) mayBe(entity, row keys.Key) bool {
	rk := strings.TrimPrefix(row.RowKey(), f.prefixed(""))
	k, of, err := f.byValueAndKey.Decode(rk)
	if err != nil { // a layout that cannot decode
		return strings.HasSuffix(rk, memberText(entity))
	}
	return of == memberText(entity) && (!f.hasOwnPartitions() || f.byValue.Of(k).String() == row.PartitionKey())
}

func (f copyForm[T, K]) follow(entity, row keys.Key, stored, e *table.Row, has, _ bool) (*table.Row, error) {
	if stored != nil {
		if owner, isCopy := stored.Engine().Primary(); !isCopy || owner != entity {
			return nil, derived.ForeignRow(f.name, row)
		}
	}
	if !has {
		return reconcile.Tombstone(entity, row), nil
	}
	return derived.Copy(f.WantedContent(e), row, projectionID(f.copied)), nil
}

func (f copyForm[T, K]) isTombstone(stored *table.Row) bool { return reconcile.IsTombstone(stored) }

func (f copyForm[T, K]) entitiesIn(row *table.Row) []keys.Key {
	k, _ := row.Engine().Primary()
	return []keys.Key{k}
}

func (f copyForm[T, K]) comparable() bool { return true }
