package index

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// The methods of derived.Elsewhere.

func (m *elsewhereMaintainer[T]) Kind() string { return kindOf(m.table) }

func (m *elsewhereMaintainer[T]) Rows(ctx context.Context, pageSize int) iter.Seq2[*table.Row, error] {
	return m.rows.Rows(ctx, table.Query[T]{TableScan: true, Rows: m.ranges[0], PageSize: pageSize})
}

func (m *elsewhereMaintainer[T]) Table() *engine.Table { return m.rows.Engine() }

func (m *elsewhereMaintainer[T]) Ranged() bool { return m.rows.Engine().Ranged() }

func (m *elsewhereMaintainer[T]) GetRow(ctx context.Context, k keys.Key) (*table.Row, error) {
	return m.rows.GetRow(ctx, k)
}

func (m *elsewhereMaintainer[T]) Delete(ctx context.Context, row *table.Row) error {
	rows := table.RowsOf(m.rows.Engine(), false)
	e, err := rows.Entity(row)
	if err != nil {
		return err
	}
	return rows.Delete(ctx, e)
}

func (m *elsewhereMaintainer[T]) WantedRows(e *table.Entity[T]) ([]keys.Key, error) {
	return m.rowsOf(&e.Value, e.Key)
}

func (m *elsewhereMaintainer[T]) RecordedRows(entity *table.Row) []keys.Key {
	rows, _, _ := m.recorded(entity.Engine().MaintainerState(m.name))
	return rows
}

func (m *elsewhereMaintainer[T]) EntitiesIn(row *table.Row) []keys.Key {
	if !m.Owns(row) || m.form.isTombstone(row) {
		return nil
	}
	return m.form.entitiesIn(row)
}

func (m *elsewhereMaintainer[T]) IsTombstone(row *table.Row) bool {
	return m.Owns(row) && m.form.isTombstone(row)
}

func (m *elsewhereMaintainer[T]) Content(row *table.Row) *table.Row {
	if !m.form.comparable() {
		return nil
	}
	return row
}

func (m *elsewhereMaintainer[T]) WantedContent(entity *table.Row, row keys.Key) *table.Row {
	if !m.form.comparable() {
		return nil
	}
	want, err := m.form.follow(entity.Key, row, nil, entity, true, false)
	if err != nil {
		return nil
	}
	return want
}

var _ derived.Elsewhere[struct{}] = (*elsewhereMaintainer[struct{}])(nil)
