package materialized

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/property"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// View is a table of entities of type V, each derived from one entity of type T.
type View[T, V any] struct{ c *core }

// core is a View without its type parameters.
type core struct {
	name  string
	parts bool // derived entities would have parts

	// to is the table of the view with the definitions that the program has given it, nil for none,
	// and base without them.
	to, base tabledoor.Untyped

	// derive gets a pointer to an entity.
	derive func(e any, k keys.Key) (value tabledoor.Entity, has bool)

	definition any // the View
}

// New defines a view. derive returns what the entity under a key contributes to the view, and false
// if it contributes nothing. The key of the derived entity follows from its fields, by the schema
// of to. derive must be pure, since workers and [verify.Check] call it again; for a release with
// another one, see docs/views.md; and two entities must not have one derived entity, for which see
// [table.ErrTaken].
//
// The table to may be a handle with maintainers of its own, such as an index or a summary of
// package index: they are written in the transaction of the derived entity. It may be of another
// store, whose Ensure creates it, also in another storage account. Only the view should write its
// entities. The store returns the error of a wrong definition, *table.DefinitionError.
//
// A write that changes a view takes 3 requests instead of 1, and a worker 5, and 2 for each derived
// entity: one more if the derived entity gets another key, and the requests of the maintainers of
// the view's table. A write that changes no view takes no more than without it.
func New[T, V any](name string, to *table.Table[V], derive func(e *T, k keys.Key) (V, bool)) *View[T, V] {
	c := newCore(name, to)
	if derive != nil {
		c.derive = func(e any, k keys.Key) (tabledoor.Entity, bool) {
			value, has := derive(e.(*T), k)
			return &table.Entity[V]{Value: value}, has
		}
	}
	v := &View[T, V]{c}
	c.definition = v
	return v
}

func newCore(name string, to table.Handle) *core {
	v := &core{name: name}
	if door.Table(to) != nil {
		v.parts = door.Table(to).Mode.Parts > 0
		schema := door.Table(to).Mode.Schema
		v.to = tabledoor.Of(to)
		v.base = door.InMode(v.to, func(m *engine.Mode) { *m = engine.Mode{Schema: schema, Writing: engine.Writing{BlindWrites: true}} })
		if len(door.Table(to).Mode.Maintainers) == 0 {
			v.to = v.base // the note names the maintainers of the stored entity, which need not be read
		}
	}
	return v
}

// Name returns the name of the view.
func (v *View[T, V]) Name() string {
	if v == nil || v.c == nil {
		return ""
	}
	return v.c.name
}

// Define adds the view to the declaration of a table; aztablekit.Table calls it.
func (v *View[T, V]) Define(d *extend.Declaration[T]) error {
	if v == nil {
		return define(d, nil)
	}
	return define(d, v.c)
}

// define adds a view to a declaration, d.
func define(d any, v *core) error {
	err := host.Attach(d, func(t table.Handle) (table.Handle, error) { return withView(t, v) })
	if err != nil {
		return err
	}
	return host.Needs(d, func(t table.Handle) (host.Parts, error) {
		for _, v := range viewsOf(t) {
			v.all = tabledoor.Of(t)
		}
		return host.Parts{Handlers: []host.Handler{handler(t)}}, nil
	})
}

// derivation is what an entity contributes to a view: the zero value for nothing.
type derivation struct {
	value  tabledoor.Entity
	key    keys.Key
	row    *stored.Row // as it is stored, without system properties
	digest string
}

// deriveTwice returns what an entity contributes. It calls the function twice, because a function
// that is not pure would leave rows behind.
func (v *core) deriveTwice(e any, k keys.Key) (derivation, error) {
	d, err := v.once(e, k)
	if err != nil {
		return d, err
	}
	if again, err := v.once(e, k); err != nil || again.key != d.key || again.digest != d.digest {
		return derivation{}, &table.DefinitionError{Definition: v.name, Field: "derive", Reason: "is not pure: it returned different values for one entity"}
	}
	return d, nil
}

func (v *core) once(e any, k keys.Key) (d derivation, err error) {
	if e == nil {
		return d, nil
	}
	value, ok, err := v.call(e, k)
	if err != nil || !ok {
		return d, err
	}
	op := v.base.UpsertOp(value, table.ReplaceExisting)
	if err := op.Err(); err != nil {
		return d, fmt.Errorf("view %s: derive returned an entity that cannot be stored: %w", v.name, err)
	}
	sent := door.Op(op)
	if err := noteKey(sent.Key).Err(); err != nil {
		return d, fmt.Errorf("view %s: derive returned an entity whose RowKey is too long: %w", v.name, err)
	}
	d = derivation{value: value, key: sent.Key}
	d.row = stored.New(sent.Key, contentOf(sent.Body.Columns()))
	d.digest = digestOf(d.row.Columns())
	return d, nil
}

// call calls the program's function. A panic fails the write of this entity only.
func (v *core) call(e any, k keys.Key) (value tabledoor.Entity, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &table.DefinitionError{Definition: v.name, Field: "derive", Reason: fmt.Sprintf("panics: %v", p)}
		}
	}()
	value, ok = v.derive(e, k)
	return value, ok, nil
}

// maintainersOf returns the names of the maintainers of the derived entities.
func (v *core) maintainersOf() (names []string) {
	for _, m := range door.Table(v.to).Mode.Maintainers {
		names = append(names, m.Name())
	}
	slices.Sort(names)
	return names
}

// prefix begins the names of the maintainers of views, so that an index may have the name of a
// view.
const prefix = "view."

// check returns what is wrong with the definition.
func (v *core) check(from table.Handle) error {
	fail := func(field, reason string) error {
		return &table.DefinitionError{Definition: v.name, Field: field, Reason: reason}
	}
	switch {
	case !validName(v.name):
		return fail("name", "must be 1 to 63 letters, digits, - and _")
	case v.to == nil:
		return fail("to", "is nil; give the handle that aztablekit.Table has returned")
	case door.Table(v.to).Fault != nil:
		return &table.DefinitionError{Definition: v.name, Field: "to", Reason: "was declared wrong: " + door.Table(v.to).Fault.Error()}
	case v.derive == nil:
		return fail("derive", "is nil")
	case v.parts:
		return fail("to", "stores entities with parts; a derived entity is one row")
	case door.Table(v.to).Same(door.Table(from)) && keyrange.RowsOverlap(door.Table(v.to).Mode.Schema.Rows(), door.Table(from).Mode.Schema.Rows()):
		return fail("to", "has its rows in the range of the entities' own, and would overwrite them: give the layout another name, or another table")
	case door.Table(from).Mode.Outbox == nil:
		return fail("table", "has no outbox; declare it by aztablekit.Table")
	}
	return nil
}

func validName(name string) bool {
	for _, c := range name {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return name != "" && len(name) <= 63
}

// viewsOf returns the views of a handle.
func viewsOf(t table.Handle) (all []*maintainer) {
	for _, m := range door.Table(t).Mode.Maintainers {
		if v, is := m.Typed().(*maintainer); is {
			all = append(all, v)
		}
	}
	return all
}

// kindOf returns the kind of the effects of all views of a table's entities.
func kindOf(t table.Handle) string { return "view " + door.Table(t).Mode.Schema.Scope() }

// withView returns a handle of the same table with a view, besides those that t has.
func withView(t table.Handle, v *core) (table.Handle, error) {
	if v == nil {
		return nil, &table.ValueError{Field: "views", Reason: "contain nil or a zero View; use one of materialized.New"}
	}
	if err := v.check(t); err != nil {
		return nil, err
	}
	if door.Table(t).Mode.Maintainer(prefix+v.name) != nil {
		return nil, &table.DefinitionError{Definition: v.name, Field: "name", Reason: "is the name of another view of the table"}
	}
	of := tabledoor.Of(t)
	return bare.WithAny(t, &maintainer{v, of, of})
}

// handler returns the handler for all views of t. Workers of a release without one of the views
// leave its effects to other workers. Requests of an effect: 1, and 2 for each derived entity that
// it names.
func handler(t table.Handle) host.Handler {
	var all []reconcile.Definition
	for _, v := range viewsOf(t) {
		all = append(all, v)
	}
	return reconcile.Handler(kindOf(t), t, all...)
}

// maintainer adds the effects of a view to the writes of entities.
type maintainer struct {
	*core
	from tabledoor.Untyped // without definitions that were added later
	all  tabledoor.Untyped // the handle with all definitions, which can delete entities
}

var _ derived.Comparer = (*maintainer)(nil)

func (m *maintainer) Name() string { return prefix + m.name }

// HandlerOf is for package bare.
func (m *maintainer) HandlerOf(t table.Handle) host.Handler {
	return handler(t)
}

// MaxRows is 0: no derived entity is in the entity's transaction.
func (m *maintainer) MaxRows() int { return 0 }

// Maintain compares what the entity contributes with what its maintainer state records. A change
// names the derived entity that the entity had, and the one that it will have.
func (m *maintainer) Maintain(_ context.Context, p *extend.Plan, c *engine.Change) error {
	want, err := m.deriveTwice(c.New, c.Key)
	if err != nil {
		return err
	}
	had, digest := recorded(c.State())
	if had == (keys.Key{}) && c.Old != nil {
		// The entity is older than the view, which verify.Repair may have filled since.
		if was, err := m.deriveTwice(c.Old, c.Key); err == nil {
			had = was.key
		}
	}
	c.SetState(stateOf(want.key, want.digest)...)
	if had == want.key && digest == want.digest {
		return nil
	}
	var changed []keys.Key
	if had != (keys.Key{}) {
		changed = append(changed, had)
	}
	if want.value != nil && want.key != had {
		changed = append(changed, want.key)
	}
	reconcile.AddEffect(p, kindOf(m.from), m.Name(), changed...)
	return nil
}

// owner returns the owner of the notes of the view.
func (m *maintainer) owner() string {
	return "view/" + strings.ToLower(m.from.Name()) + "/" + door.Table(m.from).Mode.Schema.Scope() + "/" + m.name
}

// The properties of a note.
const (
	notePartition   = "EntityPartition"
	noteRow         = "EntityRow"
	noteGone        = "Gone"
	noteMaintainers = "Maintainers"
)

// note is the library's row beside a derived entity. It contains whose the derived entity is, and
// each change of the derived entity changes the note by its ETag, in one transaction. It stays as a
// tombstone when the derived entity is deleted. So no property of the derived entity and no reader
// of its table has to do with tombstones.
type note struct {
	entity      keys.Key
	gone        bool     // the note is a tombstone
	maintainers []string // of the derived entity, when it was written
}

// noteKey returns the key of the note of a derived entity.
func noteKey(derived keys.Key) keys.Key {
	return keys.Raw(derived.PartitionKey(), reserved.View+derived.RowKey())
}

// notes returns a handle for notes.
func notes(t *engine.Table) *table.Table[table.Row] {
	return door.Rows[table.Table[table.Row]](t, true)
}

// row returns a note as a row with an owner.
func (n note) row(derived keys.Key, owner string) (*table.Row, error) {
	r := &table.Row{Key: noteKey(derived)}
	set := map[string]any{notePartition: n.entity.PartitionKey(), noteRow: n.entity.RowKey()}
	if n.gone {
		set[noteGone] = true
	} else if len(n.maintainers) > 0 {
		set[noteMaintainers] = strings.Join(n.maintainers, "/")
	}
	for _, name := range []string{notePartition, noteRow, noteGone, noteMaintainers} {
		if v, ok := set[name]; ok {
			if err := r.Set(name, v); err != nil {
				return nil, err
			}
		}
	}
	return (*table.Row)((*stored.Row)(r).Own(owner)), nil
}

// noteIn returns the note in a stored row, and reports whether it has this owner. Errors:
// *table.DecodeError.
func noteIn(row *table.Row, owner string) (n note, mine bool, err error) {
	partition, err1 := property.Text(row, notePartition)
	rowKey, err2 := property.Text(row, noteRow)
	gone, err3 := property.Bool(row, noteGone)
	maintainers, err4 := property.Text(row, noteMaintainers)
	n.entity, n.gone = keys.Raw(partition, rowKey), gone
	if maintainers != "" {
		n.maintainers = strings.Split(maintainers, "/")
	}
	if err = errors.Join(err1, err2, err3, err4); err != nil {
		err = fmt.Errorf("%w; delete the row, and verify.Repair writes it again", err)
	}
	return n, (*stored.Row)(row).Owner() == owner, err
}

// lacks returns a maintainer of the stored derived entity that the handle does not have, "" if
// there is none.
func (n note) lacks(has []string) string {
	for _, name := range n.maintainers {
		if !slices.Contains(has, name) {
			return name
		}
	}
	return ""
}

// stateOf returns the maintainer state of an entity: the key of the derived entity and a digest of
// its content. No key contains a /.
func stateOf(k keys.Key, digest string) []string {
	if k == (keys.Key{}) {
		return nil
	}
	return []string{k.PartitionKey() + "/" + k.RowKey(), "/" + digest}
}

// recorded returns what maintainer state records, the zero key for nothing. Another program may
// have written the state.
func recorded(state []string) (k keys.Key, digest string) {
	if len(state) != 2 {
		return keys.Key{}, ""
	}
	pk, rk, is := strings.Cut(state[0], "/")
	k = keys.Raw(pk, rk)
	if !is || k.Err() != nil || noteKey(k).Err() != nil {
		return keys.Key{}, ""
	}
	return k, strings.TrimPrefix(state[1], "/")
}

// errTaken: two entities have one derived entity. The first keeps it. The message of the second
// becomes poison after eventual.WorkerOptions.Attempts attempts, and [verify.Check] reports it,
// until one of the two changes.
var errTaken = errs.Of(table.ErrTaken, "another entity has this derived entity")
