package index

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/keydoor"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Index is a secondary index whose rows are sorted by their values, with the methods that look entities up in a partition: of the
// entities ([New]), or of the rows ([Global.In], [Unique.In]). An Index can be a package's variable, and is safe for concurrent use.
type Index[T, K any] struct {
	name          string
	byValue       values[K]                                     // the layout of a unique index: a row for each value
	byValueAndKey keydoor.Layout[K, keys.RowKey, keys.RowRange] // the layout of all others: a row for each value and entity
	key           func(*T) []K
	oneKey        func(*T) (K, bool) // of an index in which an entity has one value; nil for another
	maxValues     int                // of one entity
	opt           options
	content       content
	only          []table.FieldIn[T]         // the copied fields of rows with some fields
	elsewhere     bool                       // the rows are in other partitions than their entities, perhaps in another table
	partition     func(*T) keys.PartitionKey // of the rows elsewhere; nil for a partition for each value
	definition    any                        // as the program has it: the Index, or what contains it
	invalid       error
}

// content is what a row contains besides the key of its entity.
type content int

const (
	wholeEntity content = iota
	someFields          // those of Index.only
	keyOnly             // a pointer
)

// New defines an index. The RowKeys of its rows begin with name, which contains letters and digits, unless the layout has a name.
// key returns an entity's value, and false for an entity that is not in the index. key must be pure: its result must depend on the
// entity only, or index rows are lost. A later release with another key function is another definition: give it a new name; see
// docs/indexes.md.
//
//	byEmail := index.New("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) {
//		return e.Email, e.Email != ""
//	}, &index.Options{Unique: true}) // one owner in each department
//
// The store and the look-ups return the error of a wrong definition.
func New[T, K any](name string, layout keys.Layout[K], key func(*T) (K, bool), o *Options) *Index[T, K] {
	return single(name, layout, key, optionsOf(o))
}

// NewMulti defines an index in which an entity has up to most values: its tags, its telephone numbers. Equal values count once. A
// list over a range of values yields an entity once for each of its values there. The write of an entity with more values fails
// with a *table.LimitError. A change may touch twice as many rows as values, of the 97 that all definitions of a table may touch
// together, so most is 48 at most. Once entities are stored, most must not become smaller than the number of values of any of them.
func NewMulti[T, K any](name string, layout keys.Layout[K], most int, key func(*T) []K, o *Options) *Index[T, K] {
	return multi(name, layout, most, key, optionsOf(o))
}

func optionsOf(o *Options) (opt options) {
	if o != nil {
		opt.unique, opt.reserved = o.Unique, o.Reserved
	}
	return opt
}

// single returns an index in which an entity has one value.
func single[T, K any](name string, layout keys.Layout[K], key func(*T) (K, bool), o options) *Index[T, K] {
	ix := newIndex[T](name, layout, 1, o)
	if key == nil {
		ix.fail("key", "is nil")
		return ix
	}
	ix.oneKey = key
	ix.key = func(v *T) []K {
		if k, in := key(v); in {
			return []K{k}
		}
		return nil
	}
	return ix
}

// multi returns an index in which an entity has several values.
func multi[T, K any](name string, layout keys.Layout[K], most int, key func(*T) []K, o options) *Index[T, K] {
	ix := newIndex[T](name, layout, most, o)
	ix.key = key
	if key == nil {
		ix.fail("key", "is nil")
	}
	if most < 1 {
		ix.fail("most", "must be at least 1")
	}
	return ix
}

func newIndex[T, K any](name string, layout keys.Layout[K], most int, o options) *Index[T, K] {
	ix := &Index[T, K]{name: name, maxValues: most, opt: o}
	ix.definition = ix
	if err := checkName(name); err != nil {
		ix.invalid = err
	}
	if layout == nil {
		ix.fail("layout", "is nil")
		layout = keys.Component[K]{}
	}
	ix.byValueAndKey = keydoor.Suffixed[K, keys.RowKey, keys.RowRange](layout, name)
	ix.byValue = keydoor.Named[K, keys.PartitionKey, keys.RowKey, *keys.RowRanges[K]](layout, name)
	if err := ix.byValue.Rows().All().Err(); err != nil && ix.invalid == nil {
		ix.invalid = &table.DefinitionError{Definition: name, Field: "layout", Reason: err.Error(), Err: err}
	}
	return ix
}

// Only returns the same index with copies of some fields, in place of full copies. A look-up then returns an entity with these fields and
// the fields of the key, to be read only: to write the entity, Get it by its key.
//
//	byName := index.New("name", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true }, nil).Only(lastName, email)
//
// The fields must include all that the key function uses. If a copy is of an older version than the schema, or of another kind,
// look-ups read the entity itself, 1 request more, until the entity is written again or verify.Repair repairs the copy.
//
// Without fields, a row contains only the key of its entity: a pointer, small, and not written by a write that leaves the value as
// it was. Look-ups read the entity itself, 1 request more for each, and so are right in a table in which other programs write
// entities without this library.
//
//	byName := index.New("name", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true }, nil).Only()
func (ix *Index[T, K]) Only(fields ...table.FieldIn[T]) *Index[T, K] {
	c := ix.copy()
	for i, f := range fields {
		if f == nil {
			c.fail("Only", fmt.Sprintf("has a field %d that is nil", i))
			return c
		}
	}
	c.only, c.content = slices.Clone(fields), someFields
	if len(fields) == 0 {
		c.content = keyOnly
	}
	if c.isUniqueElsewhere() && len(fields) > 0 {
		c.fail("Only", "has fields, but the rows of a value that is unique in other partitions are pointers; leave it out")
	}
	return c
}

// placed returns the same index with its rows in partitions of the program's choice.
func (ix *Index[T, K]) placed(partition func(*T) keys.PartitionKey) *Index[T, K] {
	c := ix.copy()
	if partition == nil {
		c.fail(fieldPartition, "is nil")
	}
	c.partition = partition
	return c
}

func (ix *Index[T, K]) copy() *Index[T, K] {
	if ix == nil {
		return zeroIndex[T, K]()
	}
	c := *ix
	c.definition = &c
	return &c
}

func (ix *Index[T, K]) fail(field, reason string) {
	if ix.invalid == nil {
		ix.invalid = &table.DefinitionError{Definition: ix.name, Field: field, Reason: reason}
	}
}

// Name returns the name of the index.
func (ix *Index[T, K]) Name() string {
	if ix == nil {
		return ""
	}
	return ix.name
}

// Define adds the definition to the declaration of a table; aztablekit.Table calls it.
func (ix *Index[T, K]) Define(d *extend.Declaration[T]) error { return define(d, ix) }

// isUniqueElsewhere reports whether the rows of unique values are in other partitions than their entities.
func (ix *Index[T, K]) isUniqueElsewhere() bool {
	return ix.elsewhere && ix.opt.unique
}

// full reports whether the rows are full copies of their entities.
func (ix *Index[T, K]) full() bool { return ix.content == wholeEntity }

// prefixed returns the RowKey under which a key of the layout is stored.
func (ix *Index[T, K]) prefixed(s string) string {
	if ix.opt.reserved {
		return reserved.Derived + s
	}
	return s
}

// prefixedRange returns the range in which a range of the layout is stored.
func (ix *Index[T, K]) prefixedRange(r keys.RowRange) keys.RowRange {
	if !ix.opt.reserved || r.Err() != nil {
		return r
	}
	from, to, closed := r.Bounds()
	if closed {
		to += " " // the first key behind the closed range
	}
	return keyrange.Stored(reserved.Derived+from, reserved.Derived+to)
}

// indexMaintainer writes the rows of an index.
type indexMaintainer[T, K any] struct {
	*Index[T, K]
	table  *table.Table[T]
	schema engine.Schema // of the table
	copied []string      // the properties that the rows contain, if not all
	mode   derived.RepairMode
}

// MaxRows counts two rows for each value: the row that is deleted and the row that is inserted.
func (m *indexMaintainer[T, K]) MaxRows() int { return 2 * m.maxValues }

func (m *indexMaintainer[T, K]) Definition() any    { return m.definition }
func (m *indexMaintainer[T, K]) Form() string       { return m.form("index") }
func (m *indexMaintainer[T, K]) FormerForm() string { return m.formerForm("index") }

func (m *indexMaintainer[T, K]) Ranges() []keys.RowRange    { return []keys.RowRange{m.all()} }
func (m *indexMaintainer[T, K]) targetProperties() []string { return nil }

func (m *indexMaintainer[T, K]) Owns(row *table.Row) bool {
	_, owns := m.ownerOf((*stored.Row)(row))
	return owns
}

// ownerOf returns the key of the entity of a row, if the definition has written the row.
func (m *indexMaintainer[T, K]) ownerOf(row *stored.Row) (k keys.Key, owns bool) {
	k, isCopy := row.Primary()
	return k, isCopy && m.schema.Mine(row)
}

func (m *indexMaintainer[T, K]) RowsPerWrite() int {
	if m.full() {
		return m.maxValues
	}
	return 0
}

func (m *indexMaintainer[T, K]) InRepairMode(mode derived.RepairMode) derived.Maintainer {
	c := *m
	c.mode = mode
	return &c
}

// Maintain compares the RowKeys in the entity's maintainer state with the RowKeys that the entity should have.
func (m *indexMaintainer[T, K]) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[T]) error {
	want, err := m.rowKeys(c.New, c.Key)
	if err != nil {
		return err
	}
	had, contentWas := derived.SplitState(c.State())
	for i, rk := range slices.Concat(had, unrecordedRows(c, had, m.rowKeys)) {
		if !slices.Contains(want, rk) {
			if err := m.removeRow(ctx, p, c.Key, rk, len(had) > m.maxValues || i >= len(had)); err != nil {
				return err
			}
		}
	}
	if m.mode.ReleaseOnly {
		want = slices.DeleteFunc(want, func(rk string) bool { return !slices.Contains(had, rk) })
	}
	if len(want) == 0 {
		return nil
	}
	row, same, err := m.contents(c)
	if err != nil {
		return err
	}
	content := m.contentState(row)
	c.SetState(append(slices.Clip(want), content...)...)
	same = same && slices.Equal(contentWas, content)
	var taken error
	if m.opt.unique {
		taken = derived.ErrTaken
	}
	for _, rk := range want {
		copied := row.Copy(keys.Raw(c.Key.PartitionKey(), rk), projectionID(m.copied))
		if err := m.checkProjection(copied); err != nil {
			return err
		}
		switch {
		case !slices.Contains(had, rk):
			err = door.Insert(p, copied, taken)
		case same && !m.mode.Rewrite:
		case m.mode.Foreign[rk]:
			err = derived.ForeignRow(m.name, copied.Key)
		case taken != nil && (m.mode.Rewrite || m.mode.CheckUnique), m.mode.Active && !m.mode.RowsRead:
			err = m.putIfOwn(ctx, p, c, copied)
		case m.mode.Rewrite && m.mode.Absent[rk]:
			err = door.Insert(p, copied, nil)
		default:
			err = door.Put(p, copied)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeRow removes a row of an entity. It reads the row first, and keeps the row of another entity, in these cases:
//
//   - unproven is set: nothing proves that the entity has the row.
//   - The RowKey is not in the range of the index, or lacks the entity's key although the index is not unique: another program has
//     written it into the maintainer state.
//   - In a repair, the row is unique: another program may have deleted it, and another entity taken its value.
//   - In a repair, the row is foreign or was not read.
func (m *indexMaintainer[T, K]) removeRow(ctx context.Context, p *extend.Plan, entity keys.Key, rk string, unproven bool) error {
	k := keys.Raw(entity.PartitionKey(), rk)
	unread := m.mode.Active && (!m.mode.RowsRead || m.mode.Foreign[rk])
	ambiguous := m.mode.Active
	if !m.opt.unique {
		_, of, err := m.byValueAndKey.Decode(strings.TrimPrefix(rk, m.prefixed("")))
		ambiguous = err != nil || of != entity.RowKey()
	}
	if ambiguous || unread || unproven || !m.all().Contains(rk) {
		row, err := p.Entity(ctx, k.Row()) // also finds an entity that the same transaction writes
		if err != nil {
			return err
		}
		if owner, isCopy := copiedKey(row); !isCopy || owner != entity {
			return nil
		}
	}
	return p.Remove(k.Row())
}

// copiedKey returns the key of the entity that a row is a copy of, if the row exists and is one.
func copiedKey(row *table.Row) (k keys.Key, isCopy bool) {
	if row == nil {
		return keys.Key{}, false
	}
	return (*stored.Row)(row).Primary()
}

// putIfOwn puts a row, unless the stored row belongs to another entity or is foreign: another program may have deleted the row that
// the entity's maintainer state records.
func (m *indexMaintainer[T, K]) putIfOwn(ctx context.Context, p *extend.Plan, c *extend.Change[T], copied *stored.Row) error {
	is, err := p.Load(ctx, copied.Key.Row())
	if err != nil {
		return err
	}
	want, _ := copied.Primary()
	owner, isCopy := copiedKey(is)
	stored, err := c.OldRow()
	switch {
	case err != nil:
		return err
	case is != nil && !m.Owns(is) && derived.SameWrite(is, stored):
	case is != nil && !m.Owns(is):
		return derived.ForeignRow(m.name, copied.Key)
	case isCopy && owner != want:
		return fmt.Errorf("%w: %v belongs to %v", derived.ErrTaken, copied.Key, owner)
	}
	return door.Put(p, copied)
}

// projectionID identifies the properties that projected copies contain. It is "" for full copies, whose operation ID shows what
// they are, and for pointers.
func projectionID(copied []string) string {
	if len(copied) == 0 {
		return ""
	}
	h := fnv.New32a()
	h.Write([]byte(strings.Join(slices.Sorted(slices.Values(copied)), "/")))
	return fmt.Sprintf("%08x", h.Sum32())
}

// contentState returns what the maintainer state contains behind the RowKeys: a text for the content of the rows, which begins with
// /, as no RowKey does. Full copies are always written and need none; pointers need only the sign.
func (m *indexMaintainer[T, K]) contentState(row *stored.Row) []string {
	switch {
	case m.full():
		return nil
	case m.content == keyOnly:
		return []string{"/"}
	}
	return []string{"/" + digestOf(projectionID(m.copied), (*table.Row)(row))}
}

// contents returns what the rows of an entity should contain, and reports whether the entity's change leaves that as it was.
func (m *indexMaintainer[T, K]) contents(c *extend.Change[T]) (row *stored.Row, same bool, err error) {
	if row, err = door.ChangeOf(c).Row(); err != nil || m.full() {
		return row, false, err // full copies contain the operation ID, which changes with every write
	}
	row = m.project(row)
	old, err := c.OldRow()
	return row, err == nil && old != nil && m.project((*stored.Row)(old)).Same(row), err
}

// project returns the copied properties of an entity. A row of an older version is upgraded first, since a look-up can upgrade only
// whole rows. Full copies are of the version of their entity: a write of the copy compares both.
func (m *indexMaintainer[T, K]) project(row *stored.Row) *stored.Row {
	if len(m.copied) == 0 {
		return row.Project()
	}
	return m.schema.Upgraded(row).Project(m.copied...)
}

// checkProjection fails if a projected copy lacks a field that its own key is made of: look-ups could not confirm the copy.
func (m *indexMaintainer[T, K]) checkProjection(copied *stored.Row) error {
	if len(m.only) == 0 {
		return nil
	}
	e, err := m.table.Entity((*table.Row)(copied))
	if err != nil {
		return err
	}
	rows, err := m.rows(&e.Value, e.Key)
	if err == nil && !slices.Contains(rows, copied.Key) {
		err = &table.DefinitionError{Definition: m.name, Field: "Only", Reason: fmt.Sprintf("lacks a field that the key function uses: the whole entity has the row %q, and the copied fields give %q", copied.Key.RowKey(), rowKeysOf(rows))}
	}
	return err
}

// The methods of derived.PerEntity.

func (m *indexMaintainer[T, K]) WantedRows(entity any) ([]string, error) {
	e := entity.(*table.Entity[T])
	return m.rowKeys(&e.Value, e.Key)
}

func (m *indexMaintainer[T, K]) EntitiesIn(row *table.Row) []string {
	if k, owns := m.ownerOf((*stored.Row)(row)); owns {
		return []string{k.RowKey()}
	}
	return nil
}

func (m *indexMaintainer[T, K]) Content(row *table.Row) *table.Row { return row }

func (m *indexMaintainer[T, K]) WantedContent(entity *table.Row) *table.Row {
	if !m.full() {
		entity = (*table.Row)(m.project((*stored.Row)(entity)))
	}
	entity = derived.WithoutSystemProperties(entity)
	return derived.Copy(entity, entity.Key, projectionID(m.copied))
}

// Copied is the method of derived.Copying.
func (m *indexMaintainer[T, K]) Copied() (whole bool, properties []string, id string) {
	return m.full(), m.copied, projectionID(m.copied)
}

func (m *indexMaintainer[T, K]) Without(*table.Row, ...string) (*table.Row, error) { return nil, nil }

func (m *indexMaintainer[T, K]) Shared() bool { return false }
func (m *indexMaintainer[T, K]) Unique() bool { return m.opt.unique }

func (ix *Index[T, K]) maintainer(t *table.Table[T]) (maintainer[T], error) {
	m := &indexMaintainer[T, K]{Index: ix, table: t, schema: door.Table(t).Mode.Schema}
	if ix.invalid != nil {
		return m, ix.invalid
	}
	if door.Table(t).Options.OmitOperationID && ix.full() {
		return m, &table.DefinitionError{Definition: ix.name, Field: "Only", Reason: "is not called, but with Common.OmitOperationID nothing shows whether a full copy is up to date: call it with the fields to copy, or with none"}
	}
	var err error
	if m.copied, err = m.schema.Properties(untyped(ix.only)...); err != nil {
		return m, &table.DefinitionError{Definition: ix.name, Field: "Only", Reason: err.Error(), Err: err}
	}
	if err := ix.probe(t, m.copied...); err != nil || !ix.elsewhere {
		return m, err
	}
	e, err := newElsewhere(t, ix, m, copyForm[T, K]{m})
	if err == nil && ix.isUniqueElsewhere() {
		return &uniqueElsewhere[T]{e, 2 * ix.maxValues}, nil
	}
	return e, err
}
