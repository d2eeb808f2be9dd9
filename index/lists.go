package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/property"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Lists are index entities as the design guide draws them: one row for each value, which lists all
// entities that have it. A change of the value touches three rows in one transaction.
//
// All writers of a value share its row. Each reads it first, 1 request more, and the write is
// replanned after a conflict. A list has the room of one entity, 1 MiB, for 500 Ki characters: some
// 39,000 members whose RowKeys have 12. Beyond that, a write fails with a *table.LimitError, 1
// request more, which looks whether the entity is as it was. One row for each member ([Index.Only]
// without fields) has neither limit; use it unless the rows must look like this.
type Lists[T, K any] struct {
	c *listsCore
	k *keyed[K]
}

// listsCore are Lists without their type parameters.
type listsCore struct {
	ix       *core // the layout and the range of the rows
	property string
}

// NewLists defines lists of the entities that have a value. The store returns the error of a wrong
// definition.
func NewLists[T, K any](name string, layout keys.Layout[K], key func(*T) (K, bool), o *ListOptions) *Lists[T, K] {
	if o == nil {
		o = &ListOptions{}
	}
	// A list has the RowKey that the row of a unique index would have.
	ix, k := single(name, layout, key, options{reserved: o.Reserved, unique: true})
	c := newLists(ix, o.Property)
	l := &Lists[T, K]{c, k}
	c.ix.definition = l
	return l
}

func newLists(ix *core, property string) *listsCore {
	ix.content = keyOnly
	l := &listsCore{property: cmp.Or(property, defaultListProperty), ix: ix}
	if err := new(table.Row).Set(l.listProperty(99), ""); err != nil { // a longer name than any list needs
		ix.fail("Property", fmt.Sprintf("names a property that cannot be stored: %v", err))
	}
	return l
}

const defaultListProperty = "Members"

// Name returns the name of the definition.
func (l *Lists[T, K]) Name() string {
	c, _ := l.core()
	return c.ix.name
}

// core returns the lists and the values; zero Lists have some that are wrong.
func (l *Lists[T, K]) core() (*listsCore, *keyed[K]) {
	if l == nil || l.c == nil {
		ix, k := zero[K]()
		return &listsCore{ix: ix}, k
	}
	return l.c, l.k
}

// Define adds the definition to the declaration of a table; aztablekit.Table calls it.
func (l *Lists[T, K]) Define(d *extend.Declaration[T]) error {
	c, _ := l.core()
	return define(d, l, c)
}

// Keys returns the keys of the entities that have the value k in a partition, in their order.
//
// Errors:
//   - table.ErrNotReadable
//   - table.ErrForeignRow if a foreign row has the list's key
//   - *table.DecodeError for a list that another program has stored with other types
//   - *keys.KeyError
//   - *table.DefinitionError for a wrong definition, and for a handle without it
//   - errors of a read (see package table)
//
// 1 request.
func (l *Lists[T, K]) Keys(ctx context.Context, t *table.Table[T], partition keys.PartitionKey, k K) ([]keys.Key, error) {
	c, v := l.core()
	return c.keysOf(ctx, tabledoor.Of(t), partition, v.wanted(c.ix, k))
}

// List yields the entities that have the value k in a partition, in the order of their keys. It
// reads each entity, and leaves out entities that have another value by then.
//
// Errors:
//   - table.ErrNotReadable
//   - table.ErrForeignRow if a foreign row has the list's key
//   - *table.DecodeError for a list that another program has stored with other types, or an entity
//     that does not fit T
//   - *keys.KeyError
//   - *table.DefinitionError for a wrong definition, and for a handle without it
//   - errors of a read (see package table)
//
// 1 request, and 1 for each entity, 10 at a time.
func (l *Lists[T, K]) List(
	ctx context.Context, t *table.Table[T], partition keys.PartitionKey, k K,
) iter.Seq2[*table.Entity[T], error] {
	c, v := l.core()
	return entities[T](c.list(ctx, tabledoor.Of(t), partition, v.wanted(c.ix, k)))
}

// Name returns the name of the definition.
func (l *listsCore) Name() string { return l.ix.name }

// keysOf is Lists.Keys.
func (l *listsCore) keysOf(
	ctx context.Context, t tabledoor.Untyped, partition keys.PartitionKey, of wanted,
) ([]keys.Key, error) {
	all, _, err := l.keys(ctx, t, partition, of)
	if err != nil {
		return nil, withDefinition(l.ix.name, err)
	}
	return all, nil
}

func (l *listsCore) keys(
	ctx context.Context, t tabledoor.Untyped, partition keys.PartitionKey, of wanted,
) (all []keys.Key, list keys.Key, err error) {
	rows, err := l.ix.readable(t)
	if err != nil {
		return nil, list, err
	}
	if list, err = l.ix.uniqueKey(t, partition, of); err != nil {
		return nil, list, err
	}
	ctx, end := door.Table(t).Span(ctx, "Keys")
	defer func() { end(err) }()
	row, err := tabledoor.FindRow(ctx, rows, list)
	if err != nil || row == nil {
		return nil, list, err
	}
	if !tagOf(l.ix.name, t).matches((*stored.Row)(row).Owner()) {
		return nil, list, derived.ForeignRow(l.ix.name, list) // the entities with the value may not be in any list
	}
	members, err := l.members(row)
	if err != nil {
		return nil, list, repairable(err)
	}
	for _, member := range members {
		if k := keys.Raw(list.PartitionKey(), member); k.Err() == nil { // no entity has an invalid key
			all = append(all, k)
		}
	}
	return all, list, nil
}

// list is Lists.List.
func (l *listsCore) list(ctx context.Context, t tabledoor.Untyped, partition keys.PartitionKey, of wanted) listed {
	return func(yield func(tabledoor.Entity, error) bool) {
		fail := func(err error) { yield(nil, withDefinition(l.ix.name, err)) }
		all, list, err := l.keys(ctx, t, partition, of)
		if err != nil {
			fail(err)
			return
		}
		t.GetMany(ctx, all, func(e tabledoor.Entity, err error) bool {
			switch {
			case errors.Is(err, table.ErrNotFound), derived.IsForeign(err):
				return true
			case err != nil:
				fail(err)
				return false
			}
			return l.ix.ifCurrent(e, list) == nil || yield(e, nil)
		})
	}
}

// members returns the members of a list, in order; none if the row is nil. Errors:
// *table.DecodeError, with the members that can be read.
func (l *listsCore) members(row *table.Row) (all []string, err error) {
	if row == nil {
		return nil, nil
	}
	for _, name := range l.listProperties(row) {
		s, wrong := property.Text(row, name)
		err = cmp.Or(err, wrong)
		for member := range strings.SplitSeq(s, "/") {
			if member != "" {
				all = append(all, member)
			}
		}
	}
	slices.SortFunc(all, keys.Compare)
	return slices.Compact(all), err
}

// listProperty returns the name of the property of a list with number i.
func (l *listsCore) listProperty(i int) string {
	if i == 1 {
		return l.property
	}
	return fmt.Sprint(l.property, i)
}

// listProperties returns the properties of a row that contain members. Another program may have
// deleted one of them, so that their numbers need not be consecutive.
func (l *listsCore) listProperties(row *table.Row) (names []string) {
	for name := range row.All() {
		rest, is := strings.CutPrefix(name, l.property)
		if n, err := strconv.Atoi(rest); is && (rest == "" || err == nil && n > 1 && name == l.listProperty(n)) {
			names = append(names, name)
		}
	}
	return names
}

// listsMaintainer writes the rows of a Lists.
type listsMaintainer struct {
	*listsCore
	tag  tag
	mode derived.RepairMode
}

// MaxRows counts the list that the entity leaves and the list that it joins.
func (m *listsMaintainer) MaxRows() int { return 2 }

func (m *listsMaintainer) Ranges() []keys.RowRange    { return []keys.RowRange{m.ix.all()} }
func (m *listsMaintainer) targetProperties() []string { return nil }

func (m *listsMaintainer) Owns(row *table.Row) bool {
	return m.tag.matches((*stored.Row)(row).Owner())
}

func (m *listsMaintainer) Definition() any    { return m.ix.definition }
func (m *listsMaintainer) Form() string       { return m.ix.form("lists") }
func (m *listsMaintainer) FormerForm() string { return m.ix.formerForm("lists") }

func (m *listsMaintainer) RowsPerWrite() int { return 0 }

func (m *listsMaintainer) InRepairMode(mode derived.RepairMode) derived.Maintainer {
	c := *m
	c.mode = mode
	return &c
}

// Maintain removes the entity from the list in its maintainer state, and adds it to the list that
// it should be in.
func (m *listsMaintainer) Maintain(ctx context.Context, p *extend.Plan, c *engine.Change) error {
	want, err := m.ix.rowKeys(c.New, c.Key)
	if err != nil {
		return err
	}
	had, content := stored.SplitState(c.State())
	rewrite := !slices.Equal(content, m.contentState()) || m.mode.Rewrite
	for _, rk := range slices.Concat(had, unrecordedRows(c, had, m.ix.rowKeys)) {
		if !slices.Contains(want, rk) {
			if err := m.setMember(ctx, p, c.Key, rk, false); err != nil {
				return err
			}
		}
	}
	if len(want) == 0 {
		return nil
	}
	c.SetState(append(slices.Clone(want), m.contentState()...)...)
	for _, rk := range want {
		if !slices.Contains(had, rk) || rewrite {
			if err := m.setMember(ctx, p, c.Key, rk, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// contentState returns what the maintainer state contains behind the RowKeys: the property of the
// list, if that is not the default.
func (m *listsMaintainer) contentState() []string {
	if m.property == defaultListProperty {
		return nil
	}
	return []string{"/" + m.property}
}

// setMember adds the entity to a list, or removes it.
func (m *listsMaintainer) setMember(
	ctx context.Context, p *extend.Plan, entity keys.Key, list string, member bool,
) error {
	k := keys.Raw(entity.PartitionKey(), list)
	row, err := p.Load(ctx, k.Row())
	switch {
	case err != nil:
		return err
	case row == nil || m.Owns(row):
	case member:
		return derived.ForeignRow(m.ix.name, k)
	default:
		return nil // the entity is not in a foreign row
	}
	all, err := m.members(row)
	if err != nil && !m.mode.Active {
		return repairable(err)
	}
	i, is := slices.BinarySearchFunc(all, entity.RowKey(), keys.Compare)
	switch {
	case member && !is:
		all = slices.Insert(all, i, entity.RowKey())
	case !member && is:
		all = slices.Delete(all, i, i+1)
	case !member:
		return nil
	}
	// A list that contains the member already is written too, so that a repair that is about to
	// remove the member fails by the list's ETag.
	if member {
		if err := m.checkRoom(k, all); err != nil {
			return err
		}
	}
	if row, err = m.row(k, row, all); err != nil {
		return err
	}
	if isEmpty(row) {
		return p.Remove(k.Row())
	}
	return p.Put(row)
}

// The limits of a list in UTF-16 units. A property has 32 Ki at most. All properties together leave
// room for keys and names in 1 MiB.
const (
	maxListProperty = 30 << 10
	maxListUnits    = 500 << 10
)

// checkRoom returns a *table.LimitError for members that have no room in the row of a list.
func (l *listsCore) checkRoom(k keys.Key, all []string) error {
	n := lengthOf(all)
	if n <= maxListUnits {
		return nil
	}
	field := fmt.Sprintf("index %s: the list %v of %d members", l.ix.name, k, len(all))
	limit := fmt.Sprintf("characters of RowKeys; a row has room for %d: index.New with Only() stores one row for each member", maxListUnits)
	return &table.LimitError{Field: field, Limit: limit, Got: n, Max: maxListUnits}
}

// row returns the row of a list with these members, and with the other properties of the row
// before.
func (l *listsMaintainer) row(k keys.Key, before *table.Row, all []string) (*table.Row, error) {
	r := &table.Row{Key: k}
	if before != nil {
		r = before.At(k)
	}
	derived.Own(r, l.tag.text)
	derived.KeepType(before, r)
	for _, name := range l.listProperties(r) {
		r.Delete(name)
	}
	var chunk strings.Builder
	n, inChunk := 1, 0
	for i, member := range all {
		units := lengthOf(all[i : i+1])
		if inChunk+units > maxListProperty {
			if err := r.Set(l.listProperty(n), chunk.String()); err != nil {
				return nil, err
			}
			chunk.Reset()
			n, inChunk = n+1, 0
		}
		if inChunk > 0 {
			chunk.WriteByte('/')
		}
		chunk.WriteString(member)
		inChunk += units
		if i == len(all)-1 {
			return r, r.Set(l.listProperty(n), chunk.String())
		}
	}
	return r, nil
}

// isEmpty reports whether a row contains no property, except perhaps an operation ID.
func isEmpty(row *table.Row) bool {
	row = derived.WithoutSystemProperties(row)
	n := len((*stored.Row)(row).Columns())
	return n == 0 || n == 1 && row.Type(reserved.OperationID) != ""
}

// lengthOf returns the length of the members in a list, in UTF-16 units.
func lengthOf(all []string) (n int) {
	for _, member := range all {
		n += len(utf16.Encode([]rune(member))) + 1
	}
	return n
}

// The methods of derived.PerEntity.

func (m *listsMaintainer) WantedRows(entity any) ([]string, error) {
	return m.ix.rowKeys(tabledoor.ValueOf(entity), tabledoor.KeyOf(entity))
}

func (m *listsMaintainer) EntitiesIn(row *table.Row) []string {
	if !m.Owns(row) {
		return nil
	}
	all, _ := m.members(row) // a list without a readable member contains no entity
	if len(all) == 0 && (len(m.listProperties(row)) > 0 || isEmpty(row)) {
		return []string{derived.NoEntity}
	}
	return all
}

func (m *listsMaintainer) Content(*table.Row) *table.Row       { return nil }
func (m *listsMaintainer) WantedContent(*table.Row) *table.Row { return nil }

func (m *listsMaintainer) Shared() bool { return true }
func (m *listsMaintainer) Unique() bool { return false }

func (m *listsMaintainer) Without(row *table.Row, entities ...string) (*table.Row, error) {
	members, _ := m.members(row)
	all := slices.DeleteFunc(members, func(s string) bool { return slices.Contains(entities, s) })
	left, err := m.row(row.Key, row, all)
	if err != nil || isEmpty(left) {
		return nil, err
	}
	return left, nil
}

func (l *listsCore) maintainer(t tabledoor.Untyped) (maintainer, error) {
	m := &listsMaintainer{listsCore: l, tag: tagOf(l.ix.name, t)}
	if l.ix.invalid != nil {
		return m, l.ix.invalid
	}
	return m, l.ix.probe(t)
}
