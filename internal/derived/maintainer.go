// Package derived is the seam between package index, whose maintainers write derived rows, and
// package verify, which compares these rows with the entities and repairs them.
package derived

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Maintainer writes the rows of one definition.
type Maintainer interface {
	// Name is that by which the engine knows it.
	Name() string

	// Definition returns the definition as the program made it, such as an *index.Index.
	Definition() any

	// Form describes what must not change under the definition's name: its kind, the layout of its
	// keys, where its rows are, and its version. FormerForm is the form under which earlier
	// releases have stored the same definition, "" for none.
	Form() string
	FormerForm() string

	// Ranges returns where the rows are, if no other rows may be there.
	Ranges() []keys.RowRange

	// Owns reports whether the definition has written a row, or the details in it. All other rows
	// are foreign: they are neither replaced nor deleted.
	Owns(row *table.Row) bool

	// RowsPerWrite returns how many rows each write of an entity writes, whatever has changed: full
	// copies contain the operation ID.
	RowsPerWrite() int

	// InRepairMode returns the same maintainer in a mode for repairs.
	InRepairMode(RepairMode) Maintainer
}

// PerEntity is a maintainer whose rows name the entities that they follow from. Its methods take
// and return RowKeys.
type PerEntity interface {
	Maintainer

	// WantedRows returns the rows that follow from an entity.
	WantedRows(e tabledoor.Entity) ([]string, error)

	// EntitiesIn returns the entities that a row names; NoEntity if the definition owns the row and
	// it names none.
	EntitiesIn(row *table.Row) []string

	// Content returns the properties of a row that follow from its entity, and WantedContent what
	// these should be. Both return nil if the row need only exist.
	Content(row *table.Row) *table.Row
	WantedContent(entity *table.Row) *table.Row

	// Without returns a row without some entities, nil if nothing is left of it.
	Without(row *table.Row, entities ...string) (*table.Row, error)

	// Shared reports whether a row may name several entities, and Unique whether an index row
	// belongs to one entity of several that could have it.
	Shared() bool
	Unique() bool
}

// Searched is a PerEntity whose rows are not in a range of their own, but found by a condition.
type Searched interface {
	Condition() table.Cond[table.Row]
}

// Copying is a PerEntity whose rows are copies (Row.Copy) of entities in the same partition. Its
// Owns and EntitiesIn need only the system properties of a row, and EntitiesIn returns no entity
// for a row that the definition does not own.
type Copying interface {
	// Copied returns the properties that the copies contain, or none and whole for all, and the
	// projection ID of the copies.
	Copied() (whole bool, properties []string, projectionID string)
}

// Elsewhere is a maintainer whose rows are in other partitions or tables.
type Elsewhere interface {
	Maintainer

	// Definition gives the targets for repairs.
	reconcile.Definition

	// Kind returns the kind of the effects by which workers change the rows, "" if they change
	// together with their entities.
	Kind() string

	// Rows yields all rows of the definition, tombstones and foreign rows included. Ranged reports
	// whether some were hidden.
	Rows(ctx context.Context, pageSize int) iter.Seq2[*table.Row, error]
	Ranged() bool

	// Table is where the rows are.
	Table() *engine.Table

	// GetRow reads a row, nil if there is none.
	GetRow(ctx context.Context, k keys.Key) (*table.Row, error)

	// Delete deletes a row that was read, by its ETag, and DeleteDangling one that its entity does
	// not name, if no write can name it any more.
	Delete(ctx context.Context, row *table.Row) error
	DeleteDangling(ctx context.Context, row *table.Row) error

	// WantedRows returns the rows that follow from an entity, and RecordedRows the rows in its
	// maintainer state.
	WantedRows(e tabledoor.Entity) ([]keys.Key, error)
	RecordedRows(entity *table.Row) []keys.Key

	// EntitiesIn returns the entities that a row names, none for a tombstone or a foreign row, and
	// IsTombstone tells these two apart.
	EntitiesIn(row *table.Row) []keys.Key
	IsTombstone(row *table.Row) bool

	// InFlight reports whether a row is right although its entity does not name it: the entity may
	// still be on its way.
	InFlight(row *table.Row) bool

	// Content returns the properties of a row that follow from its entity, and WantedContent what
	// these should be.
	Content(row *table.Row) *table.Row
	WantedContent(entity *table.Row, row keys.Key) *table.Row
}

// EffectKind returns the kind of the effects of all definitions elsewhere of a table's entities.
func EffectKind(t table.Handle) string { return "index " + door.Table(t).Mode.Schema.Scope() }

// Handler returns the handler of these effects.
func Handler(t table.Handle) host.Handler {
	return reconcile.Handler(EffectKind(t), t, definitionsElsewhere(t)...)
}

// Filling returns an outbox around another one by which a program fills these definitions. failed
// receives the entities of which a row can never be stored.
func Filling(out commit.Outbox, t table.Handle, failed func(entity keys.Key, err error)) commit.Outbox {
	return reconcile.Filling(out, EffectKind(t), t, failed, definitionsElsewhere(t)...)
}

func definitionsElsewhere(t table.Handle) (all []reconcile.Definition) {
	for _, m := range MaintainersOf[Elsewhere](door.Table(t)) {
		if m.Kind() != "" {
			all = append(all, m)
		}
	}
	return all
}

// PerGroup is a maintainer whose rows are totals of what all entities of a group contribute.
type PerGroup interface {
	Maintainer

	// StateOf returns the maintainer state that an entity should have.
	StateOf(e tabledoor.Entity) ([]string, error)

	// Equal reports whether a row contains the same total as another, and Matches whether it does
	// except for approximate bounds: of the measures that allow them, or of all.
	Equal(got, want *table.Row) bool
	Matches(got, want *table.Row, all bool) bool

	// EmptyGroup returns the row of a group without entities, and IsEmptyGroup reports whether a
	// row is one.
	EmptyGroup(group keys.Key) *table.Row
	IsEmptyGroup(row *table.Row) bool

	// Totals makes the rows of all groups of a partition from the rows of its entities.
	Totals(partitionKey string, entities iter.Seq2[*table.Row, error]) (GroupTotals, error)
}

// GroupTotals are the rows of the groups of a partition as they should be, by RowKey.
type GroupTotals struct {
	Rows     map[string]*table.Row
	Recorded map[string]*table.Row // of the entities whose maintainer state records their group alone; nil if that is all entities
	Members  map[string]string     // for each group, the RowKey of one entity whose maintainer state records it
	Failed   map[string]error      // why the row of a group cannot be made
}

// Differs reports whether a maintainer, as the program made it, makes other rows of a stored entity
// than the entity records. Content is not compared, nor are measures that only one of the two
// knows.
func Differs(m any, e tabledoor.Entity) bool {
	row, err := tabledoor.RowOf(e)
	if err != nil || row == nil {
		return false
	}
	var want, had []string
	switch m := m.(type) {
	case interface {
		WantedRows(tabledoor.Entity) ([]keys.Key, error)
		RecordedRows(*table.Row) []keys.Key
	}:
		var rows []keys.Key
		rows, err = m.WantedRows(e)
		want, had = textsOf(rows), textsOf(m.RecordedRows(row))
	case PerEntity:
		want, err = m.WantedRows(e)
		had, _ = stored.SplitState((*stored.Row)(row).MaintainerState(m.Name()))
	case PerGroup:
		want, err = m.StateOf(e)
		had = (*stored.Row)(row).MaintainerState(m.Name())
		if IsUnknownGroup(had) {
			had = nil
		}
		want, had = common(want, had)
	}
	slices.Sort(want)
	slices.Sort(had)
	return err == nil && !slices.Equal(want, had)
}

func textsOf(all []keys.Key) (texts []string) {
	for _, k := range all {
		texts = append(texts, k.PartitionKey()+"/"+k.RowKey())
	}
	return texts
}

// common returns two states of a group without the measures that only one of them has.
func common(a, b []string) (_, _ []string) {
	without := func(texts, others []string) []string {
		return slices.DeleteFunc(slices.Clone(texts), func(text string) bool {
			name, _, isMeasure := strings.Cut(text, "=")
			same := func(other string) bool { return strings.HasPrefix(other, name+"=") }
			return isMeasure && strings.HasPrefix(name, "/") && !slices.ContainsFunc(others, same)
		})
	}
	return without(a, b), without(b, a)
}

// MaintainersOf returns the maintainers of a table that are an M.
func MaintainersOf[M any](t *engine.Table) (all []M) {
	for _, m := range t.Mode.Maintainers {
		if m, is := m.Typed().(M); is {
			all = append(all, m)
		}
	}
	return all
}

// RepairMode tells a maintainer that package verify writes an entity to repair derived rows. The
// zero value is the mode of all other writes, in which a maintainer trusts the maintainer state of
// the entity. There are seven uses:
//
//	                                       Rewrite  ReleaseOnly  CheckUnique  Absent
//	entities get rows they do not record                            (1)
//	confirmed faults of many entities        yes                    (1)
//	confirmed faults of one entity           yes                    yes         yes
//	one entity gives rows up for another               yes          yes
//	a summary miscounts one entity                                  yes
//	the rows elsewhere of an entity        (2)
//
// (1) if the writes also write unique rows of definitions that are not verified, because each row
// costs a request. (2) if a definition's rows are written again; without, the entity only records
// its rows.
//
// Active is set in all of them.
//
// "Entities get rows they do not record" needs no Rewrite: a maintainer compares the wanted rows
// with the maintainer state.
type RepairMode struct {
	Active bool

	Rewrite      bool // write the rows again, also if nothing has changed
	ReleaseOnly  bool // delete rows that the entity should not have, and write none that it lacks
	CheckUnique  bool // read a unique row before it is replaced, since another entity may have it by now; Rewrite alone does so, too
	RowsRead     bool // the rows of the definition were read; those of other definitions must be read before they are replaced
	CountsGroups bool // groups are counted again by the repair itself

	Absent  map[string]bool // RowKeys of wanted rows that did not exist when they were read together with the entity
	Foreign map[string]bool // RowKeys of existing rows that the definition does not own
}
