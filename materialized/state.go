package materialized

import (
	"strings"

	"github.com/aztablekit/aztablekit/keys"
)

// stateOf returns the maintainer state of an entity: the key of the derived entity and a digest of its content. No key contains a
// /.
func stateOf(k keys.Key, digest string) []string {
	if k == (keys.Key{}) {
		return nil
	}
	return []string{k.PartitionKey() + "/" + k.RowKey(), "/" + digest}
}

// recorded returns what maintainer state records, the zero key for nothing. Another program may have written the state.
func recorded(state []string) (k keys.Key, digest string) {
	if len(state) != 2 {
		return keys.Key{}, ""
	}
	pk, rk, is := strings.Cut(state[0], "/")
	if k = keys.Stored(pk, rk); !is || k.Err() != nil || noteKey(k).Err() != nil {
		return keys.Key{}, ""
	}
	return k, strings.TrimPrefix(state[1], "/")
}
