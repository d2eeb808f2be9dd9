package derived

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// NoEntity is in place of an entity's RowKey where a row names none.
const NoEntity = ""

// unknownGroup marks an entity that is in no group and had lost its maintainer state, so that a
// group may still count it. The mark is needed because other definitions write _ix again. When the
// entity joins a group, that group is counted again.
var unknownGroup = []string{"/?"}

// UnknownGroup returns the maintainer state of an entity that is in no group, and that some group
// may still count.
func UnknownGroup() []string { return slices.Clone(unknownGroup) }

// IsUnknownGroup reports whether the maintainer state of an entity is UnknownGroup.
func IsUnknownGroup(texts []string) bool { return slices.Equal(texts, unknownGroup) }

// IsForeign reports whether an error says that a row is no entity of the table's type.
func IsForeign(err error) bool {
	if err == nil {
		return false
	}
	return errors.As(err, new(*keys.KeyError)) || errors.Is(err, errs.ErrOtherType)
}

// AsEntity returns a row from the range of the entities without the property that would make it a
// copy: another program may have added that, and no copies are there.
func AsEntity(row *table.Row) *table.Row {
	if _, isCopy := (*stored.Row)(row).Primary(); isCopy {
		r := *row
		Tag(&r, "", true)
		return &r
	}
	return row
}

// Own gives a row an owner, as stored.Row.Own.
func Own(row *table.Row, owner string) { *row = *(*table.Row)((*stored.Row)(row).Own(owner)) }

// Tag gives a row a tag, or takes it away, as stored.Row.Tag.
func Tag(row *table.Row, tag string, off bool) {
	*row = *(*table.Row)((*stored.Row)(row).Tag(tag, off))
}

// Copy returns a copy of a row, as stored.Row.Copy.
func Copy(row *table.Row, k keys.Key, projectionID string) *table.Row {
	return (*table.Row)((*stored.Row)(row).Copy(k, projectionID))
}

// Project returns a row with some of its properties, as stored.Row.Project.
func Project(row *table.Row, properties ...string) *table.Row {
	return (*table.Row)((*stored.Row)(row).Project(properties...))
}

// WithoutSystemProperties returns a row as a full copy has it, as
// stored.Row.WithoutSystemProperties.
func WithoutSystemProperties(row *table.Row) *table.Row {
	return (*table.Row)((*stored.Row)(row).WithoutSystemProperties())
}

// KeepType keeps the type in the owner of a row that a handle without a type writes again.
func KeepType(before, after *table.Row) {
	if before != nil && (*stored.Row)(after).Owner() != "" && strings.HasPrefix((*stored.Row)(before).Owner(), (*stored.Row)(after).Owner()+"?") {
		Own(after, (*stored.Row)(before).Owner())
	}
}

// SameWrite reports whether one write has stored a row and the entity whose maintainer state
// records it. The row is then a full copy of the entity, even if another program has changed the
// row's owner.
func SameWrite(row, entity *table.Row) bool {
	if row == nil || entity == nil {
		return false
	}
	a, has := (*stored.Row)(row).OperationID()
	b, _ := (*stored.Row)(entity).OperationID()
	return has && a == b
}

// ErrTaken is table.ErrTaken.
var ErrTaken = errs.ErrTaken

var errForeignRow = fmt.Errorf("%w; if nothing else uses the row, delete it and run verify.Repair; otherwise give the definition another name", table.ErrForeignRow)

// ForeignRow returns the error for a foreign row that has the key of an index row, list or summary.
func ForeignRow(definition string, k keys.Key) error {
	return &table.DerivedError{Maintainer: definition, Key: k, Err: errForeignRow}
}

// WriteRow replaces a row that was read, by its ETag, or deletes it if want is nil. A row that
// contains an operation ID and is no copy is an entity, and then gets a new operation ID. 1
// request.
func WriteRow(ctx context.Context, t table.Handle, is, want *table.Row) error {
	_, hasID := is.Get(reserved.OperationID)
	_, isCopy := (*stored.Row)(is).Primary()
	rows := door.Rows[table.Table[table.Row]](door.Table(t), hasID && !isCopy)
	e, err := rows.Entity(is)
	if err != nil {
		return err
	}
	if want == nil {
		return rows.Delete(ctx, e)
	}
	KeepType(is, want)
	e.Value = *want
	return rows.Replace(ctx, e)
}

// CallUser calls a function of a definition that the program has given. If the function panics,
// only the write or look-up that needs it fails.
func CallUser[R any](definition, field string, f func() R) (r R, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &table.DefinitionError{Definition: definition, Field: field, Reason: fmt.Sprintf("panics: %v", p)}
		}
	}()
	return f(), nil
}
