package table

import (
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Copy returns a copy of the row under another key of its partition, for Insert and Put of a [Plan]. The copy contains the key of its
// entity, so that [Table.Entity] returns the copied entity. projectionID is any text, by which a maintainer tells kinds of copies apart.
func (r *Row) Copy(k keys.Key, projectionID string) *Row {
	c := r.At(k)
	c.columns = engine.CopyOf(c.columns, r.Key.RowKey(), projectionID)
	return c
}

// Tag adds a tag to a row that contains something of a maintainer, or removes the tag if off is set. The tag stays when the row's own
// writers change it, unless they write the row without having read it.
func (r *Row) Tag(maintainer string, off bool) {
	r.columns = engine.Tag(r.columns, maintainer, off)
}

// Tagged reports whether a row has a tag: the tag itself or, for a name alone, the name with : and a scope behind.
func (r *Row) Tagged(maintainer string) bool {
	return slices.ContainsFunc(r.Tags(), func(tag string) bool {
		name, _, _ := strings.Cut(tag, ":")
		return tag == maintainer || name == maintainer
	})
}

// Tags returns the tags of a row; see Tag.
func (r *Row) Tags() []string {
	return engine.Tags(r.columns)
}

// ProjectionID returns the projection ID that Copy gave a copy, "" for none.
func (r *Row) ProjectionID() string {
	_, id := engine.Copied(r.columns)
	return id
}

// Primary returns the key of the entity that the row is a copy of.
func (r *Row) Primary() (k keys.Key, isCopy bool) {
	return r.Engine().Primary()
}

// Project returns the row with some of its properties, and with its type and version. It has no operation ID, because it is not all that
// the write has written.
func (r *Row) Project(properties ...string) *Row {
	properties = append(slices.Clone(properties), reserved.Type, reserved.Version, reserved.Owner)
	c := r.At(r.Key)
	c.columns = engine.Only(r.columns, properties...)
	return c
}

// WithoutSystemProperties returns the row without the system properties of an entity (_life, _ix, tags), as a full copy of it has them.
func (r *Row) WithoutSystemProperties() *Row {
	c := *r
	c.columns = engine.Without(r.columns, reserved.Incarnation, reserved.MaintainerState, reserved.Owner)
	return &c
}

// Same reports whether two rows have the same properties, apart from their operation IDs (_op).
func (r *Row) Same(other *Row) bool {
	return engine.SameColumns(r.columns, other.columns)
}

// Own stores the owner of a derived row, any text that is not empty, in place of all tags of [Row.Tag].
func (r *Row) Own(owner string) {
	r.columns = engine.Own(r.columns, owner)
}

// Owner returns the owner that Own has stored, "" for none.
func (r *Row) Owner() string {
	return engine.Owner(r.columns)
}
