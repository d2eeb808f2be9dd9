package index

import (
	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/table"
)

// readsEntity reports whether a look-up reads the entity that an index row names.
func (ix *Index[T, K]) readsEntity() bool { return ix.opt.Pointer || ix.opt.ReadEntities }

// checkReadable fails if a definition cannot be read through a handle: ix itself, or the Lists or Summary that ix is a part of.
func (ix *Index[T, K]) checkReadable(t *table.Table[T], definition any) error {
	switch {
	case t == nil:
		return &table.ValueError{Field: "table", Reason: "is nil"}
	case ix.invalid != nil:
		return ix.invalid
	case ix.opt.WriteOnly:
		return ErrWriteOnly
	}
	// An index without rows and an index that is not attached would look the same, and so would an index of the same name.
	if m := t.Engine().Mode.Maintainer(ix.name); m != nil {
		if m, is := m.Typed().(derived.Maintainer[T]); is && m.Definition() == definition {
			return nil
		}
	}
	return errNotAttached(ix.name)
}

func errNotAttached(definition string) error {
	return &DefinitionError{Definition: definition, Field: "table", Reason: "does not have the definition attached: use the handle that Attach has returned, and the same definition"}
}
