package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// elsewhereMaintainer adds to the writes of entities the effects of a definition whose rows are elsewhere, and makes these rows.
type elsewhereMaintainer[T any] struct {
	name       string
	definition any
	option     Elsewhere[T]
	table      *table.Table[T] // of the entities
	rows       *table.Table[T] // where the rows are
	ranges     []keys.Range    // of their RowKeys
	rowsOf     func(*T, keys.Key) ([]keys.Key, error)
	form       rowForm[T]
	mode       derived.RepairMode
}

// rowForm makes the rows of a definition elsewhere.
type rowForm[T any] interface {
	// contentOf returns what the maintainer state contains behind the keys of the rows, and reports whether the change of an entity
	// leaves the content of its rows as it was.
	contentOf(c *maintain.Change[T], rows []keys.Key) (state []string, same bool, err error)

	// mayBe reports whether the definition can make a row of an entity under a key.
	mayBe(entity, row keys.Key) bool

	// follow returns what a row should be, for what is stored and for the entity e, which should have it if has is set. A repair
	// replaces a stored row that cannot be read.
	follow(entity, row keys.Key, stored, e *table.Row, has, repairs bool) (*table.Row, error)

	// Owns reports whether the definition has written a row.
	Owns(row *table.Row) bool

	isTombstone(stored *table.Row) bool

	// entitiesIn returns the entities that a row names. comparable reports whether the rest of the row follows from the entity, too.
	entitiesIn(row *table.Row) []keys.Key
	comparable() bool
}

// newElsewhere returns the maintainer of a definition, whose maintainer in the entities' partitions is m.
func newElsewhere[T, K any](t *table.Table[T], ix *Index[T, K], m maintainer[T], form rowForm[T]) (*elsewhereMaintainer[T], error) {
	e := &elsewhereMaintainer[T]{name: ix.name, definition: m.Definition(), option: *ix.opt.Elsewhere, table: t, rowsOf: ix.rows, ranges: m.Ranges(), form: form}
	if t.Engine().Mode.Outbox == nil {
		return e, &DefinitionError{Definition: ix.name, Field: "Elsewhere", Reason: "is set, but the table has no outbox: pass Attach a handle that maintain.WithOutbox has returned"}
	}
	name := e.option.Table
	if name == "" {
		name = t.Name() + strings.ToLower(ix.name)
	}
	other, err := engine.New(t.Engine().Service, name, t.Engine().Options)
	if err = cmp.Or(engine.CheckTableName(name), err); err != nil {
		err = table.ErrorOf(err)
		return e, &DefinitionError{Definition: ix.name, Field: "Elsewhere.Table", Reason: err.Error(), Err: err}
	}
	other.Made = "index.Ensure"
	e.rows = t.Elsewhere(other.WithHomes(t.Engine().Homes()...))
	return e, nil
}

func (m *elsewhereMaintainer[T]) Name() string { return m.name }

// MaxRows is 0: no row is in the entity's transaction.
func (m *elsewhereMaintainer[T]) MaxRows() int { return 0 }

func (m *elsewhereMaintainer[T]) Definition() any            { return m.definition }
func (m *elsewhereMaintainer[T]) Ranges() []keys.Range       { return m.ranges }
func (m *elsewhereMaintainer[T]) targetProperties() []string { return nil }
func (m *elsewhereMaintainer[T]) RowsPerWrite() int          { return 0 }
func (m *elsewhereMaintainer[T]) Owns(row *table.Row) bool   { return m.form.Owns(row) }

func (m *elsewhereMaintainer[T]) InRepairMode(mode derived.RepairMode) maintain.Maintainer[T] {
	c := *m
	c.mode = mode
	return &c
}

// stateText returns the key of a row as it is in the maintainer state: no key contains a /.
func stateText(row keys.Key) string { return row.PartitionKey() + "/" + row.RowKey() }

var errWasHere = errors.New("the entity has rows of this definition in its own partition: give the definition with Elsewhere another name, and remove the other as docs/indexes.md says")

// recorded returns the rows in the maintainer state, and the texts behind them. It leaves out what another program may have written.
func (m *elsewhereMaintainer[T]) recorded(texts []string) (rows []keys.Key, content []string, err error) {
	for i, text := range texts {
		pk, rk, is := strings.Cut(text, "/")
		switch k := keys.Stored(pk, rk); {
		case is && pk == "":
			return rows, texts[i:], nil
		case !is && m.ranges[0].Contains(text):
			return nil, nil, &DefinitionError{Definition: m.name, Field: "Elsewhere", Reason: "cannot be set now", Err: errWasHere}
		case is && k.Err() == nil:
			rows = append(rows, k)
		}
	}
	return rows, nil, nil
}

// Maintain compares the rows in the entity's maintainer state with those that the entity should have.
func (m *elsewhereMaintainer[T]) Maintain(_ context.Context, p *maintain.Plan, c *maintain.Change[T]) error {
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
		reconcile.Plan(p, kindOf(m.table), m.name, changed...)
	}
	return nil
}

// kindOf returns the kind of the effects of all definitions elsewhere of a table's entities.
func kindOf[T any](t *table.Table[T]) string { return "index " + t.Engine().Mode.Schema.Scope() }

// Target returns a row for the execution of an effect, which is not trusted.
func (m *elsewhereMaintainer[T]) Target(entity, row keys.Key) (reconcile.Target, error) {
	if strings.HasPrefix(row.PartitionKey(), reserved.First) || !m.ranges[0].Contains(row.RowKey()) || !m.form.mayBe(entity, row) {
		return nil, fmt.Errorf("%w: the definition has no row %v of %v", table.ErrForeignRow, row, entity)
	}
	return &reconcile.Row{
		Table: m.rows, Key: row, IsTombstone: m.form.isTombstone,
		Follow: func(stored, e *table.Row) (*table.Row, error) {
			has, err := m.has(e, row)
			if err != nil {
				return nil, err
			}
			return m.form.follow(entity, row, stored, e, has, m.mode.Active)
		},
	}, nil
}

// has reports whether an entity should have a row: whether its maintainer state records it, so that programs of two releases, with
// different key functions, agree. If another program has written the entity without its state, the key function decides.
func (m *elsewhereMaintainer[T]) has(e *table.Row, row keys.Key) (bool, error) {
	if e == nil || !m.table.Engine().Mode.Schema.Mine(e.Engine()) {
		return false, nil
	}
	if e.Type(reserved.MaintainerState) != "" && !e.Engine().StateCorrupt() {
		return slices.Contains(e.Engine().MaintainerState(m.name), stateText(row)), nil
	}
	of, err := m.table.Entity(e)
	switch {
	case derived.IsForeign(err):
		return false, nil
	case err != nil:
		return false, err
	}
	rows, err := m.rowsOf(&of.Value, of.Key)
	return slices.Contains(rows, row), err
}
