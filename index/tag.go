package index

import (
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/table"
)

// tag says which definition has written a row that several entities share: its name and the type of its entities, so that another
// type's definition of the same name has another tag.
type tag struct {
	text    string
	untyped string // the tag of rows from before the schema had a type
}

// summaryTag begins the tag of a summary, because summaries have the RowKeys of lists of the same name. No name of a definition
// contains +.
const summaryTag = "+"

func tagOf[T any](definition string, t *table.Table[T]) tag {
	g := tag{text: definition + ":" + t.Engine().Mode.Schema.Scope()}
	g.untyped, _, _ = strings.Cut(g.text, "?") // no RowKey contains ?, which separates the type
	return g
}

// matches reports whether a text in a row is this tag. A schema without a type accepts the tags of all types, as it accepts the
// entities of its range whatever their type: they are of writers of the release before the type was added. A row without a tag is
// foreign.
func (g tag) matches(text string) bool {
	return text == g.text || text == g.untyped || g.text == g.untyped && strings.HasPrefix(text, g.text+"?")
}

// in reports whether an entity that holds details has this tag.
func (g tag) in(row *table.Row) bool { return slices.ContainsFunc(row.Engine().Tags(), g.matches) }

// set adds the tag to an entity that holds details, or removes it. A type in the row's tag stays.
func (g tag) set(row *table.Row, off bool) {
	text := g.text
	for _, t := range row.Engine().Tags() {
		if g.matches(t) {
			derived.Tag(row, t, true)
			text = max(text, t)
		}
	}
	derived.Tag(row, text, off)
}
