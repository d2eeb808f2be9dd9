package index

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// owner is the mark of a definition on rows that several entities share: its name and the type of its entities, so that rows of another
// type's definition of the same name are told apart.
type tag struct{ text, untyped string }

// summaryKind begins the mark of a summary, whose rows have the keys of lists of the same name. No name of a definition contains a +.
const summaryTag = "+"

func tagOf[T any](definition string, t *table.Table[T]) tag {
	o := tag{text: definition + ":" + t.Scope()}
	o.untyped, _, _ = strings.Cut(o.text, "?") // of rows from before the schema had a type; no RowKey contains a ?
	return o
}

// is reports whether a mark is this one. A row without a mark is somebody else's. A schema without a type takes entities of its range for
// its own whatever their type, and so their marks: writers of the release before the type was added.
func (o tag) matches(mark string) bool {
	return mark == o.text || mark == o.untyped || o.text == o.untyped && strings.HasPrefix(mark, o.text+"?")
}

// marks reports whether the details of a row are this definition's.
func (o tag) tags(row *table.Row) bool { return slices.ContainsFunc(row.Tags(), o.matches) }

// put marks a row that holds details, or takes the mark off. A type in the mark stays.
func (o tag) set(row *table.Row, off bool) {
	mark := o.text
	for _, m := range row.Tags() {
		if o.matches(m) {
			row.Tag(m, true)
			mark = max(mark, m)
		}
	}
	row.Tag(mark, off)
}

// keepType keeps the type in the mark of a row that a schema without a type writes anew.
func keepType(before, after *table.Row) {
	if before != nil && after.Owner() != "" && strings.HasPrefix(before.Owner(), after.Owner()+"?") {
		after.Own(before.Owner())
	}
}

// sameWrite reports whether a row and an entity that remembers it are from one write. It made the row a full copy of the entity,
// whatever another program has made of the row's mark.
func sameWrite(row, entity *table.Row) bool {
	if row == nil || entity == nil {
		return false
	}
	a, named := row.Get(reserved.OperationID)
	b, _ := entity.Get(reserved.OperationID)
	return named && a == b
}

var errForeignRow = fmt.Errorf("%w; if nothing else uses the row, delete it and run index.Verify with Repair; otherwise give the definition another name", ErrForeignRow)

// foreignRow is the error of an index row, list or summary at whose key there is a foreign row.
func foreignRowError(definition string, k keys.Key) error {
	return &table.DerivedError{Maintainer: definition, Key: k, Err: errForeignRow}
}
