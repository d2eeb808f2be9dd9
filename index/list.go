package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ListOptions are the options of [Lists]. The zero value is ready for use.
type ListOptions struct {
	// Property is the name of the property that contains the members: their RowKeys, separated by /, which no RowKey contains. If the
	// property is full, the rest is in properties with 2, 3 and so on behind the name. Defaults to Members. If a later release changes the
	// name, entities are listed there once they are written again, or Verify has repaired them.
	Property string

	// WriteOnly and Reserved are as in Options.
	WriteOnly, Reserved bool
}

// Lists are index entities as the design guide draws them: one row for each value, which lists all entities that have it. A change of
// the value touches three rows in one transaction.
//
// All writers of a value share its row. Each reads it first, 1 request more, and the write is replanned after a conflict. A list has
// the room of one entity, 1 MiB, for some 40,000 members; beyond that, a write fails with a *FullError. One row for each member
// (Options.Pointer) has neither limit; use it unless the rows must look like this.
type Lists[T, K any] struct {
	ix       *Index[T, K] // its layout, and where its rows are
	property string
}

// NewLists defines lists of the entities that have a value. What is wrong with a definition is an error of [Attach].
func NewLists[T, K any](name string, layout keys.Layout[K], key func(*T) (K, bool), o *ListOptions) *Lists[T, K] {
	if o == nil {
		o = &ListOptions{}
	}
	// The rows are under bare values, as those of a unique index are.
	l := &Lists[T, K]{property: o.Property, ix: New(name, layout, key, &Options[T]{Unique: InPartition, Pointer: true, WriteOnly: o.WriteOnly, Reserved: o.Reserved})}
	if l.property == "" {
		l.property = defaultListProperty
	}
	if err := new(table.Row).Set(l.listProperty(99), ""); err != nil { // as many as there ever are
		l.ix.fail("Property", err.Error())
	}
	return l
}

const defaultListProperty = "Members"

// Name is the name of the definition.
func (l *Lists[T, K]) Name() string { return l.ix.name }

// FullError is the error of a list without room for another member. Nothing was written.
type ListFullError struct {
	Definition string
	Row        keys.Key // of the list
	Members    int      // with the one that has no room
}

func (e *ListFullError) Error() string {
	return fmt.Sprintf("index %s: the list %v of %d members is more than the 1 MiB of an entity: use index.New with Options.Pointer, which keeps one row for each member", e.Definition, e.Row, e.Members)
}

// lists keeps the rows of a Lists.
type listsMaintainer[T, K any] struct {
	*Lists[T, K]
	table *table.Table[T]
	tag   tag
}

func (l *Lists[T, K]) maintainer(t *table.Table[T]) (maintainer[T], error) {
	m := &listsMaintainer[T, K]{l, t, tagOf(l.ix.name, t)}
	if l.ix.invalid != nil {
		return m, l.ix.invalid
	}
	return m, l.ix.probe(t)
}

// MaxRows is the list that is left and the one that is joined.
func (m *listsMaintainer[T, K]) MaxRows() int { return 2 }

func (m *listsMaintainer[T, K]) Ranges() []keys.Range { return []keys.Range{m.ix.All()} }
func (m *listsMaintainer[T, K]) columns() []string    { return nil }

func (m *listsMaintainer[T, K]) Owns(row *table.Row) bool { return m.tag.matches(row.Owner()) }

func (m *listsMaintainer[T, K]) is(d Definition[T]) bool { return d == Definition[T](m.Lists) }

// Maintain takes the entity out of the list that it was in, as it remembers, and into the one where it should be.
func (m *listsMaintainer[T, K]) Maintain(ctx context.Context, p *table.Plan, c *table.Change[T]) error {
	want, err := m.ix.rowKeys(c.New, c.Key)
	if err != nil {
		return err
	}
	had, form := splitState(c.State())
	again := !slices.Equal(form, m.stateSuffix()) || mustRewrite(ctx, m.ix.name)
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
	c.SetState(append(slices.Clone(want), m.stateSuffix()...)...)
	for _, rk := range want {
		if !slices.Contains(had, rk) || again {
			if err := m.setMember(ctx, p, c.Key, rk, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// form is in which property the entity is listed, if that is not the default; see copies.holding.
func (m *listsMaintainer[T, K]) stateSuffix() []string {
	if m.property == defaultListProperty {
		return nil
	}
	return []string{"/" + m.property}
}

// edit makes the entity a member of a list, or none.
func (m *listsMaintainer[T, K]) setMember(ctx context.Context, p *table.Plan, entity keys.Key, list string, member bool) error {
	k := keys.Stored(entity.PartitionKey(), list)
	row, err := p.Load(ctx, k.Row())
	switch {
	case err != nil:
		return err
	case row == nil || m.Owns(row):
	case member:
		return foreignRowError(m.ix.name, k)
	default:
		return nil // it cannot be in there
	}
	all := m.members(row)
	i, is := slices.BinarySearchFunc(all, entity.RowKey(), keys.Compare)
	switch {
	case member && !is:
		all = slices.Insert(all, i, entity.RowKey())
	case !member && is:
		all = slices.Delete(all, i, i+1)
	case !member:
		return nil
	}
	// It is written also where it holds the member already: whoever is about to take it out must meet this write.
	if member && lengthOf(all) > maxListUnits {
		return &ListFullError{Definition: m.ix.name, Row: k, Members: len(all)}
	}
	if row, err = m.row(k, row, all); err != nil {
		return err
	}
	if isEmpty(row) {
		return p.Remove(k.Row())
	}
	return p.Put(row)
}

// empty reports whether a row holds nothing, but perhaps an operation ID.
func isEmpty(row *table.Row) bool {
	row = row.WithoutSystemProperties()
	return row.Len() == 0 || row.Len() == 1 && row.Type(reserved.OperationID) != ""
}

// units is how long the members of a list are.
func lengthOf(all []string) (n int) {
	for _, member := range all {
		n += len(utf16.Encode([]rune(member))) + 1
	}
	return n
}

// members are those of a list, in order; none where there is no list.
func (l *Lists[T, K]) members(row *table.Row) (all []string) {
	if row == nil {
		return nil
	}
	for _, name := range l.listProperties(row) {
		v, _ := row.Get(name)
		s, _ := v.(string)
		for member := range strings.SplitSeq(s, "/") {
			if member != "" {
				all = append(all, member)
			}
		}
	}
	slices.SortFunc(all, keys.Compare)
	return slices.Compact(all)
}

func (l *Lists[T, K]) listProperty(i int) string {
	if i == 1 {
		return l.property
	}
	return fmt.Sprint(l.property, i)
}

// chunks are the properties of a row that hold members: also those that others have left behind a gap.
func (l *Lists[T, K]) listProperties(row *table.Row) (names []string) {
	for name := range row.All() {
		rest, is := strings.CutPrefix(name, l.property)
		if n, err := strconv.Atoi(rest); is && (rest == "" || err == nil && n > 1 && name == l.listProperty(n)) {
			names = append(names, name)
		}
	}
	return names
}

// The room of a list, in UTF-16 units: of one property, whose limit is 32 Ki, and of all, which leaves room for keys and names.
const (
	maxListProperty = 30 << 10
	maxListUnits    = 500 << 10
)

// row is the row of a list with these members, and with what else it held before.
func (l *listsMaintainer[T, K]) row(k keys.Key, before *table.Row, all []string) (*table.Row, error) {
	r := &table.Row{Key: k}
	if before != nil {
		r = before.At(k)
	}
	r.Own(l.tag.text)
	keepType(before, r)
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
		if inChunk += units; i == len(all)-1 {
			return r, r.Set(l.listProperty(n), chunk.String())
		}
	}
	return r, nil
}

// Keys returns the keys of the entities that have the value k in a partition, in their order. Errors: ErrWriteOnly; ErrForeignRow if a
// foreign row has the list's key; *keys.KeyError; *DefinitionError for a handle that it is not attached to; those of
// table.Table.GetRow. 1 request.
func (l *Lists[T, K]) Keys(ctx context.Context, t *table.Table[T], partition keys.Enc, k K) ([]keys.Key, error) {
	all, _, err := l.keys(ctx, t, partition, k)
	if err != nil {
		return nil, withDefinition(l.ix.name, err)
	}
	return all, nil
}

func (l *Lists[T, K]) keys(ctx context.Context, t *table.Table[T], partition keys.Enc, k K) (all []keys.Key, list string, err error) {
	if err := l.ix.checkReadable(t); err != nil {
		return nil, "", err
	}
	at, err := l.ix.uniqueKey(t, partition, k)
	if err != nil {
		return nil, "", err
	}
	row, err := t.GetRow(ctx, at)
	if errors.Is(err, table.ErrNotFound) {
		return nil, at.RowKey(), nil
	} else if err != nil {
		return nil, "", err
	}
	if !tagOf(l.ix.name, t).matches(row.Owner()) {
		return nil, "", foreignRowError(l.ix.name, at) // the entities of the value may not be listed anywhere
	}
	for _, member := range l.members(row) {
		if k := keys.Stored(at.PartitionKey(), member); k.Err() == nil { // else nobody can be that
			all = append(all, k)
		}
	}
	return all, at.RowKey(), nil
}

// List yields the entities that have the value k in a partition, in the order of their keys. It reads each entity, and leaves out
// those that have another value by then. Errors are those of Keys and of table.Table.Get. 1 request, and 1 for each entity, 10 at a
// time.
func (l *Lists[T, K]) List(ctx context.Context, t *table.Table[T], partition keys.Enc, k K) iter.Seq2[*table.Entity[T], error] {
	return func(yield func(*table.Entity[T], error) bool) {
		fail := func(err error) { yield(nil, withDefinition(l.ix.name, err)) }
		all, list, err := l.keys(ctx, t, partition, k)
		if err != nil {
			fail(err)
			return
		}
		for e, err := range t.GetMany(ctx, all...) {
			if errors.Is(err, table.ErrNotFound) || isForeign(err) {
				continue
			} else if err != nil {
				fail(err)
				return
			}
			if l.ix.ifCurrent(e, list) != nil && !yield(e, nil) {
				return
			}
		}
	}
}
