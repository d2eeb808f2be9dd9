package materialized

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// The properties of a note.
const (
	notePartition   = "EntityPartition"
	noteRow         = "EntityRow"
	noteGone        = "Gone"
	noteMaintainers = "Maintainers"
)

// note is the library's row beside a derived entity. It contains whose the derived entity is, and each change of the derived entity
// changes the note by its ETag, in one transaction. It stays as a tombstone when the derived entity is deleted. So no property of
// the derived entity and no reader of its table has to do with tombstones.
type note struct {
	entity      keys.Key
	gone        bool     // the note is a tombstone
	maintainers []string // of the derived entity, when it was written
}

// noteKey returns the key of the note of a derived entity.
func noteKey(derived keys.Key) keys.Key {
	return keys.Stored(derived.PartitionKey(), reserved.View+derived.RowKey())
}

// notes returns a handle for notes.
func notes(t *engine.Table) *table.Table[table.Row] { return table.RowsOf(t, true) }

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
	return table.RowOf(r.Engine().Own(owner)), nil
}

// noteIn returns the note in a stored row, and reports whether it has this owner. Errors: *table.DecodeError.
func noteIn(row *table.Row, owner string) (n note, mine bool, err error) {
	partition, err1 := stored.Text(row, notePartition)
	rowKey, err2 := stored.Text(row, noteRow)
	gone, err3 := stored.Bool(row, noteGone)
	maintainers, err4 := stored.Text(row, noteMaintainers)
	n.entity, n.gone = keys.Stored(partition, rowKey), gone
	if maintainers != "" {
		n.maintainers = strings.Split(maintainers, "/")
	}
	if err = errors.Join(err1, err2, err3, err4); err != nil {
		err = fmt.Errorf("%w; delete the row, and Verify with Repair writes it again", err)
	}
	return n, row.Engine().Owner() == owner, err
}

// lacks returns a maintainer of the stored derived entity that the handle does not have, "" if there is none.
func (n note) lacks(has []string) string {
	for _, name := range n.maintainers {
		if !slices.Contains(has, name) {
			return name
		}
	}
	return ""
}
