package index

import (
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// unrecordedRows returns the rows that an entity may have although its maintainer state records none: those that follow from the
// stored entity. Either another program has replaced the entity and its _ix, or the entity is older than the definition and has no
// rows.
func unrecordedRows[T any](c *maintain.Change[T], had []string, rows func(*T, keys.Key) ([]string, error)) []string {
	return unrecorded(c, len(had) > 0, rows)
}

func unrecorded[T, R any](c *maintain.Change[T], recorded bool, rows func(*T, keys.Key) ([]R, error)) []R {
	if recorded || c.Old == nil {
		return nil
	}
	all, err := rows(c.Old, c.Key)
	if err != nil {
		return nil // no write can have made a row
	}
	return all
}

// digestOf returns a short text that differs if contents differ. The maintainer state contains the digest of the entity's rows, so
// that a later write can tell whether they are up to date, also if another program has changed the entity since.
func digestOf(form string, content *table.Row) string {
	var all []string
	for name, v := range content.All() {
		all = append(all, fmt.Sprintf("%s %s %v", name, content.Type(name), v))
	}
	slices.Sort(all)
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %q", form, all)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
