package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// memberSeparator stands between the two keys of an entity. It is escaped in the first.
const memberSeparator = ":"

var escapeMember = strings.NewReplacer(";", ";0", memberSeparator, ";1")

// memberText returns the keys of an entity as one text, which can be a component of a key.
func memberText(entity keys.Key) string {
	return escapeMember.Replace(entity.PartitionKey()) + memberSeparator + entity.RowKey()
}

// elsewhereMaintainer adds to the writes of entities the effects of a definition whose rows are
// elsewhere, and makes these rows.
type elsewhereMaintainer struct {
	name       string
	definition any
	tableName  string            // the option Table
	table      tabledoor.Untyped // of the entities
	rows       tabledoor.Untyped // where the rows are
	ranges     []keys.RowRange   // of their RowKeys
	formText   string
	formerText string
	rowsOf     func(v any, primary keys.Key) ([]keys.Key, error)
	form       copyForm
	mode       derived.RepairMode
}

// newElsewhere returns the maintainer of a definition, whose maintainer in the entities' partitions
// is m.
func newElsewhere(t tabledoor.Untyped, ix *core, m *indexMaintainer) (*elsewhereMaintainer, error) {
	e := &elsewhereMaintainer{name: ix.name, definition: m.Definition(), tableName: ix.opt.table, table: t, rowsOf: ix.rows, ranges: m.Ranges(), form: copyForm{m}}
	if door.Table(t).Mode.Outbox == nil && !ix.pointsElsewhere() {
		return e, &table.DefinitionError{Definition: ix.name, Field: "table", Reason: "has no outbox, by which workers learn of rows in other partitions: declare it by aztablekit.Table"}
	}
	name := door.Table(t).Prefix + e.tableName
	if e.tableName == "" {
		name = t.Name() + strings.ToLower(ix.name)
	}
	other, err := engine.New(door.Table(t).Service, name, door.Table(t).Options)
	if err = cmp.Or(edm.CheckTableName(name), err); err != nil {
		return e, &table.DefinitionError{Definition: ix.name, Field: "Options.Table", Reason: err.Error(), Err: err}
	}
	place := ", in table " + strings.TrimPrefix(name, door.Table(t).Prefix)
	e.formText, e.formerText = m.Form()+place, ""
	if former := m.FormerForm(); former != "" {
		e.formerText = former + place
	}
	other.Made = cmp.Or(door.Table(t).Made, "Store.Ensure")
	other = other.WithHomes(door.Table(t).Homes()...)
	other.Kin = door.Table(t).Kin
	e.rows = door.Elsewhere(t, other)
	return e, nil
}

func (m *elsewhereMaintainer) Name() string { return m.name }

// MaxRows is 0: no row is in the entity's transaction.
func (m *elsewhereMaintainer) MaxRows() int { return 0 }

func (m *elsewhereMaintainer) Definition() any            { return m.definition }
func (m *elsewhereMaintainer) Form() string               { return m.formText }
func (m *elsewhereMaintainer) FormerForm() string         { return m.formerText }
func (m *elsewhereMaintainer) Ranges() []keys.RowRange    { return m.ranges }
func (m *elsewhereMaintainer) targetProperties() []string { return nil }
func (m *elsewhereMaintainer) RowsPerWrite() int          { return 0 }
func (m *elsewhereMaintainer) Owns(row *table.Row) bool   { return m.form.Owns(row) }

func (m *elsewhereMaintainer) InRepairMode(mode derived.RepairMode) derived.Maintainer {
	c := *m
	c.mode = mode
	return &c
}

// stateText returns the key of a row as it is in the maintainer state: no key contains a /.
func stateText(row keys.Key) string { return row.PartitionKey() + "/" + row.RowKey() }

var errWasHere = errors.New("cannot be kept: the entity has rows of this definition in its own partition. Give the definition with rows in other partitions another name, and remove the other as docs/indexes.md says")

// recorded returns the rows in the maintainer state, and the texts behind them. It leaves out what
// another program may have written.
func (m *elsewhereMaintainer) recorded(texts []string) (rows []keys.Key, content []string, err error) {
	for i, text := range texts {
		pk, rk, is := strings.Cut(text, "/")
		switch k := keys.Raw(pk, rk); {
		case is && pk == "":
			return rows, texts[i:], nil
		case !is && m.ranges[0].Contains(text):
			return nil, nil, &table.DefinitionError{Definition: m.name, Field: "name", Reason: errWasHere.Error(), Err: errWasHere}
		case is && k.Err() == nil:
			rows = append(rows, k)
		}
	}
	return rows, nil, nil
}

// Maintain compares the rows in the entity's maintainer state with the rows that the entity should
// have.
func (m *elsewhereMaintainer) Maintain(_ context.Context, p *extend.Plan, c *engine.Change) error {
	want, err := m.rowsOf(c.New, c.Key)
	if err != nil {
		return err
	}
	had, contentWas, err := m.recorded(c.State())
	if err != nil {
		return err
	}
	var changed []keys.Key
	for _, k := range slices.Concat(had, unrecorded(c, len(had) > 0, m.rowsOf)) {
		if !slices.Contains(want, k) {
			changed = append(changed, k)
		}
	}
	if len(want) > 0 {
		content, same, err := m.form.contentOf(c, want)
		if err != nil {
			return err
		}
		var state []string
		for _, k := range want {
			state = append(state, stateText(k))
			if !same || !slices.Equal(content, contentWas) || !slices.Contains(had, k) || m.mode.Rewrite {
				changed = append(changed, k)
			}
		}
		c.SetState(append(state, content...)...)
	}
	if len(changed) > 0 {
		reconcile.AddEffect(p, derived.EffectKind(m.table), m.name, changed...)
	}
	return nil
}

// Target returns a row for the execution of an effect, which is not trusted.
func (m *elsewhereMaintainer) Target(entity, row keys.Key) (reconcile.Target, error) {
	if strings.HasPrefix(row.PartitionKey(), reserved.First) || !m.ranges[0].Contains(row.RowKey()) || !m.form.mayBe(entity, row) {
		return nil, fmt.Errorf("%w: the definition has no row %v of %v", table.ErrForeignRow, row, entity)
	}
	return &reconcile.Row{
		Table: m.rows, Key: row, IsTombstone: reconcile.IsTombstone,
		Follow: func(stored, e *table.Row) (*table.Row, error) {
			has, err := m.has(e, row)
			if err != nil {
				return nil, err
			}
			return m.form.follow(entity, row, stored, e, has)
		},
	}, nil
}

// has reports whether an entity should have a row: whether its maintainer state records it, so that
// programs of two releases, with different key functions, agree. If another program has written the
// entity without its state, the key function decides.
func (m *elsewhereMaintainer) has(e *table.Row, row keys.Key) (bool, error) {
	if e == nil || !door.Table(m.table).Mode.Schema.Mine((*stored.Row)(e)) {
		return false, nil
	}
	if e.Type(reserved.MaintainerState) != "" && !(*stored.Row)(e).StateCorrupt() {
		return slices.Contains((*stored.Row)(e).MaintainerState(m.name), stateText(row)), nil
	}
	of, err := m.table.Entity(e)
	switch {
	case derived.IsForeign(err):
		return false, nil
	case err != nil:
		return false, err
	}
	rows, err := m.rowsOf(tabledoor.ValueOf(of), tabledoor.KeyOf(of))
	return slices.Contains(rows, row), err
}

// copyForm makes the rows elsewhere.
type copyForm struct{ *indexMaintainer }

func (f copyForm) contentOf(c *engine.Change, rows []keys.Key) (state []string, same bool, err error) {
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
			if err := door.Rows[table.Table[table.Row]](door.Table(f.table), false).InsertOp((*table.Row)(copied)).Err(); err != nil {
				return nil, false, err
			}
		}
	}
	return f.contentState(row), same, nil
}

func (f copyForm) mayBe(entity, row keys.Key) bool {
	of, err := f.values.suffixOf(row.RowKey())
	if err != nil { // a layout that cannot decode
		return strings.HasSuffix(row.RowKey(), memberText(entity))
	}
	if of != memberText(entity) || !f.hasOwnPartitions() {
		return of == memberText(entity)
	}
	pk, err := f.values.partitionOf(row.RowKey())
	return err == nil && pk.String() == row.PartitionKey()
}

func (f copyForm) follow(entity, row keys.Key, old, e *table.Row, has bool) (*table.Row, error) {
	if old != nil {
		if owner, isCopy := (*stored.Row)(old).Primary(); !isCopy || owner != entity {
			return nil, derived.ForeignRow(f.name, row)
		}
	}
	if !has {
		return reconcile.Tombstone(entity, row), nil
	}
	return derived.Copy(f.WantedContent(e), row, projectionID(f.copied)), nil
}

// ofElsewhere is the maintainer of a definition whose rows are elsewhere.
type ofElsewhere interface {
	Definition() any
	rowsTable() tabledoor.Untyped
}

func (m *elsewhereMaintainer) rowsTable() tabledoor.Untyped { return m.rows }

// RowsTable and HandlerOf are for package bare.

func (m *elsewhereMaintainer) RowsTable() (name string, ensure func(context.Context) error) {
	return m.rows.Name(), door.Table(m.rows).Ensure
}

func (m *elsewhereMaintainer) HandlerOf(t table.Handle) host.Handler {
	return derived.Handler(t)
}

// The methods of derived.Elsewhere.

func (m *elsewhereMaintainer) Kind() string { return derived.EffectKind(m.table) }

func (m *elsewhereMaintainer) Rows(ctx context.Context, pageSize int) iter.Seq2[*table.Row, error] {
	return m.rows.Rows(ctx, table.Query[table.Row]{TableScan: true, Rows: m.ranges[0], PageSize: pageSize})
}

func (m *elsewhereMaintainer) Table() *engine.Table { return door.Table(m.rows) }

func (m *elsewhereMaintainer) Ranged() bool { return door.Table(m.rows).Ranged() }

func (m *elsewhereMaintainer) GetRow(ctx context.Context, k keys.Key) (*table.Row, error) {
	return tabledoor.FindRow(ctx, m.rows, k)
}

func (m *elsewhereMaintainer) Delete(ctx context.Context, row *table.Row) error {
	return derived.WriteRow(ctx, m.rows, row, nil)
}

func (m *elsewhereMaintainer) DeleteDangling(ctx context.Context, row *table.Row) error {
	return m.Delete(ctx, row)
}

func (m *elsewhereMaintainer) WantedRows(entity any) ([]keys.Key, error) {
	return m.rowsOf(tabledoor.ValueOf(entity), tabledoor.KeyOf(entity))
}

func (m *elsewhereMaintainer) RecordedRows(entity *table.Row) []keys.Key {
	rows, _, _ := m.recorded((*stored.Row)(entity).MaintainerState(m.name))
	return rows
}

func (m *elsewhereMaintainer) EntitiesIn(row *table.Row) []keys.Key {
	if !m.Owns(row) || reconcile.IsTombstone(row) {
		return nil
	}
	k, _ := (*stored.Row)(row).Primary()
	return []keys.Key{k}
}

func (m *elsewhereMaintainer) IsTombstone(row *table.Row) bool {
	return m.Owns(row) && reconcile.IsTombstone(row)
}

func (m *elsewhereMaintainer) InFlight(*table.Row) bool { return false }

func (m *elsewhereMaintainer) Content(row *table.Row) *table.Row { return row }

func (m *elsewhereMaintainer) WantedContent(entity *table.Row, row keys.Key) *table.Row {
	want, err := m.form.follow(entity.Key, row, nil, entity, true)
	if err != nil {
		return nil
	}
	return want
}

var _ derived.Elsewhere = (*elsewhereMaintainer)(nil)
