package index

import (
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// forgotten are the rows that an entity may have although it remembers none: those that follow from it as it is stored. Either another
// program replaced the entity and its _ix, or the entity is older than the definition and has no rows.
func unrecordedRows[T any](c *table.Change[T], had []string, rows func(*T, keys.Key) ([]string, error)) []string {
	if len(had) > 0 || c.Old == nil {
		return nil
	}
	all, err := rows(c.Old, c.Key)
	if err != nil {
		return nil // none can have been made
	}
	return all
}

// digestOf is a short text that differs for contents that differ, so that an entity remembers what its rows hold, also where another
// program has changed the entity since.
func digestOf(form string, contents *table.Row) string {
	var all []string
	for name, v := range contents.All() {
		all = append(all, fmt.Sprintf("%s %s %v", name, contents.Type(name), v))
	}
	slices.Sort(all)
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %q", form, all)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
