package index

import (
	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// readsEntity reports whether a look-up reads the entity that an index row names.
func (ix *Index[T, K]) readsEntity() bool { return ix.opt.Pointer || ix.opt.ReadEntities }

// readable returns the handle of the table where the rows of a definition are: of ix itself, or of the Lists or Summary that ix is a
// part of. It fails if the definition cannot be read through t.
func (ix *Index[T, K]) readable(t *table.Table[T], definition any) (rows *table.Table[T], err error) {
	switch {
	case t.Engine() == nil:
		return nil, table.ErrorOf(engine.CheckHandle("t", nil))
	case ix.invalid != nil:
		return nil, ix.invalid
	case ix.opt.WriteOnly:
		return nil, ErrWriteOnly
	}
	// An index without rows and an index that is not attached would look the same, and so would an index of the same name.
	if m := t.Engine().Mode.Maintainer(ix.name); m != nil {
		if e, is := m.Typed().(ofElsewhere[T]); is && e.Definition() == definition {
			return e.rowsTable(), nil
		}
		if m, is := m.Typed().(derived.Maintainer[T]); is && m.Definition() == definition {
			return t, nil
		}
	}
	return nil, errNotAttached(ix.name)
}

func errNotAttached(definition string) error {
	return &DefinitionError{Definition: definition, Field: "table", Reason: "does not have the definition attached: use the handle that Attach has returned, and the same definition"}
}
