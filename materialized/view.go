package materialized

import (
	"fmt"
	"slices"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// View is a table of entities of type V, each derived from one entity of type T.
type View[T, V any] struct {
	name   string
	to     *table.Table[V] // with the maintainers that the program has attached
	plain  *table.Table[V] // without them
	derive func(*T, keys.Key) (V, bool)
	opt    Options
	parts  bool // derived entities would have parts
}

// Options are the options of [New].
type Options struct {
	// Inline lets the writer of an entity write the view itself, after its commit and before the write returns. If that fails, a
	// worker does it. One view with Inline lets the writer execute all views of the table. It takes the worker's requests for the
	// rows, and 2 more, to read the commit record and to mark it as done.
	Inline bool
}

// New defines a view. derive returns what the entity under a key contributes to the view, and false if it contributes nothing. The
// key of the derived entity follows from its fields, by the schema of to. derive must be pure, since workers and [Verify] call it
// again; and two entities must not have one derived entity, for which see [ErrTaken].
//
// The table to may be a handle with maintainers of its own, such as an index or a summary of package index: they are written in the
// transaction of the derived entity. It may be in another storage account. Only the view should write its entities. [Attach]
// returns the error of a wrong definition.
func New[T, V any](name string, to *table.Table[V], derive func(e *T, k keys.Key) (V, bool), o *Options) *View[T, V] {
	v := &View[T, V]{name: name, to: to, derive: derive}
	if o != nil {
		v.opt = *o
	}
	if to.Engine() != nil {
		v.parts = to.Engine().Mode.Parts > 0
		schema := to.Engine().Mode.Schema
		v.plain = to.InMode(func(m *engine.Mode) { *m = engine.Mode{BlindWrites: true, Schema: schema} })
		if len(to.Engine().Mode.Maintainers) == 0 {
			v.to = v.plain // the note names the maintainers of the stored entity, which need not be read
		}
	}
	return v
}

// Name returns the name of the view.
func (v *View[T, V]) Name() string { return v.name }

// derived is what an entity contributes to a view: the zero value for nothing.
type derived[V any] struct {
	value  *V
	key    keys.Key
	row    *engine.Row // as it is stored, without system properties
	digest string
}

// of returns what an entity contributes. It calls the function twice, because a function that is not pure would leave rows behind.
func (v *View[T, V]) of(e *T, k keys.Key) (derived[V], error) {
	d, err := v.once(e, k)
	if err != nil {
		return d, err
	}
	if again, err := v.once(e, k); err != nil || again.key != d.key || again.digest != d.digest {
		return derived[V]{}, &DefinitionError{View: v.name, Field: "derive", Reason: "is not pure: it returned different values for one entity"}
	}
	return d, nil
}

func (v *View[T, V]) once(e *T, k keys.Key) (d derived[V], err error) {
	if e == nil {
		return d, nil
	}
	value, ok, err := v.call(e, k)
	if err != nil || !ok {
		return d, err
	}
	op := v.plain.UpsertOp(&value, table.ReplaceExisting)
	if err := op.Err(); err != nil {
		return d, fmt.Errorf("view %s: derive returned an entity that cannot be stored: %w", v.name, err)
	}
	plain := op.Engine()
	if err := noteKey(plain.Key).Err(); err != nil {
		return d, fmt.Errorf("view %s: derive returned an entity whose RowKey is too long: %w", v.name, err)
	}
	d = derived[V]{value: &value, key: plain.Key}
	d.row = &engine.Row{Key: plain.Key, Columns: contentOf(plain.Body.Columns())}
	d.digest = digestOf(d.row.Columns)
	return d, nil
}

// call calls the program's function. A panic fails the write of this entity only.
func (v *View[T, V]) call(e *T, k keys.Key) (value V, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &DefinitionError{View: v.name, Field: "derive", Reason: fmt.Sprintf("panics: %v", p)}
		}
	}()
	value, ok = v.derive(e, k)
	return value, ok, nil
}

// maintainersOf returns the names of the maintainers of the derived entities.
func (v *View[T, V]) maintainersOf() (names []string) {
	for _, m := range v.to.Engine().Mode.Maintainers {
		names = append(names, m.Name())
	}
	slices.Sort(names)
	return names
}
