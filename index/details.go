package index

import (
	"slices"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Details are copies of some fields of one entity in another entity of the partition: the manager's name and address in the
// department, so that one read returns both.
//
// The other entity, the target, is of another type, which may have fields for the copied properties: they are named after the
// prefix, as is one more, the prefix and RowKey, which contains the RowKey of the source. The target must exist when details are
// written to it, is changed in the same transaction by its ETag, and must have no derived rows of its own. A transaction that
// changes details cannot also contain an operation on the target: insert the target first.
//
// The target holds the details of one entity. Details of a second entity fail with ErrTaken until the first gives them up. Details
// of another type or definition under the same prefix fail with ErrForeignRow. In one transaction, put the operation that gives the
// details up first; two entities that swap targets need two transactions. If the target is deleted, or written whole by a value
// that lacks the details, they are gone until a copied field changes or verify.Run repairs them.
//
// A write that does not change the details costs nothing; other writes read the target, 1 request, and 1 more if the target
// contains the details of another entity. No two details of a table may share a prefix. A new prefix, and a field that is no longer
// copied, need a new name.
type Details[T any] struct {
	name    string
	prefix  string
	target  func(*T) (keys.Enc, bool)
	fields  []table.AnyField[T]
	invalid error
}

// NewDetails defines details. target returns the RowKey of the target, and false for an entity whose details are not stored.
//
//	manager := index.NewDetails("manager", "Manager", func(e *Employee) (keys.Enc, bool) {
//		return keys.Raw("department"), e.IsManager
//	}, lastName, email) // in ManagerLastName, ManagerEmail, and ManagerRowKey
func NewDetails[T any](name, prefix string, target func(*T) (keys.Enc, bool), fields ...table.AnyField[T]) *Details[T] {
	d := &Details[T]{name: name, prefix: prefix, target: target, fields: slices.Clone(fields)}
	switch err := checkName(name); {
	case err != nil:
		d.invalid = err
	case target == nil:
		d.fail("target", "is nil")
	case len(fields) == 0:
		d.fail("fields", "are empty; give at least one")
	case prefix == "":
		d.fail("prefix", "is empty")
	}
	return d
}

func (d *Details[T]) fail(field, reason string) {
	if d.invalid == nil {
		d.invalid = &DefinitionError{Definition: d.name, Field: field, Reason: reason}
	}
}

// Name returns the name of the definition.
func (d *Details[T]) Name() string { return d.name }
