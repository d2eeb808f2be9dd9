package engine

import (
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// Change is the change of one entity. Its rows are decoded once, for all maintainers.
type Change struct {
	Key      keys.Key
	Old, New any // the values that the Schema made, nil if there is no row

	before, after rowOnce
	state         *entityState
	by            string // the maintainer that is called
	newID         func() string
	move          Move
	counterpart   *keys.Key
}

// rowOnce is a row that is decoded when it is first asked for.
type rowOnce struct {
	key     keys.Key
	stored  edm.Stored
	decoded *Row
}

func (r *rowOnce) row() (*Row, error) {
	if r.decoded != nil || !r.stored.Known() {
		return r.decoded, nil
	}
	columns, err := r.stored.Decoded()
	if err != nil {
		return nil, err
	}
	r.decoded = &Row{Key: r.key, Columns: ownProperties(columns)}
	return r.decoded, nil
}

// Row returns the row as it will be stored, without incarnation and maintainer state, nil if it is deleted.
func (c *Change) Row() (*Row, error) { return c.after.row() }

// OldRow returns the row as it is stored, without incarnation and maintainer state, nil if there is none, or if the caller's is
// upgraded.
func (c *Change) OldRow() (*Row, error) { return c.before.row() }

// StateMissing reports whether the entity exists and has no readable maintainer state.
func (c *Change) StateMissing() bool { return !c.state.isNew && (!c.state.stored || c.state.corrupt) }

// Incarnation returns the incarnation of the entity. The first call creates it, unless the entity is being deleted.
func (c *Change) Incarnation() string {
	if c.state.incarnation == "" && c.New != nil {
		c.state.incarnation, c.state.newIncarnation = c.newID(), true
	}
	return c.state.incarnation
}

// Archived reports whether the entity is deleted because it is stored in another place now.
func (c *Change) Archived() bool { return c.move.Away && c.New == nil }

// Counterpart returns the key that the entity has had before a move, or has after it; nil if the entity does not move.
func (c *Change) Counterpart() *keys.Key { return c.counterpart }

// Restored returns the incarnation that the inserted entity had in another place, "" if it does not come from there.
func (c *Change) Restored() string {
	if c.Old != nil {
		return ""
	}
	return c.move.Restored
}

// State returns the state that the maintainer stored with the last write.
func (c *Change) State() []string { return c.state.before[c.by] }

// SetState stores the maintainer's state with the entity.
func (c *Change) SetState(texts ...string) { c.state.after[c.by] = texts }
