package verify

import (
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/keys"
)

// elsewhere is a run over the definitions whose rows are in other partitions or tables.
type elsewhere[T any] struct {
	*run[T]
	digests  map[pairElsewhere]uint64 // of the content of all rows, for each entity that a row names
	confirms *errgroup.Group          // confirmations and repairs of entities, several at a time

	mu       sync.Mutex
	notified map[string]bool           // pending commit records, by PartitionKey and operation ID
	wanted   map[rowElsewhere]keys.Key // rows of unique values that are missing, and the first entity that lacks each
}

// pairElsewhere is a row of a definition, by its position, and an entity that it names.
type pairElsewhere struct {
	definition int
	row        string // both keys, as entity
	entity     string
}

// rowElsewhere is a row of a definition that may have a fault.
type rowElsewhere struct {
	definition int
	key        keys.Key
}

func newElsewhere[T any](r *run[T]) *elsewhere[T] {
	return &elsewhere[T]{run: r, digests: map[pairElsewhere]uint64{}, notified: map[string]bool{}, wanted: map[rowElsewhere]keys.Key{}}
}

// bothKeys returns the two keys as one text; no key contains a /.
func bothKeys(k keys.Key) string { return k.PartitionKey() + "/" + k.RowKey() }

func keyOf(text string) keys.Key {
	pk, rk, _ := strings.Cut(text, "/")
	return keys.Stored(pk, rk)
}
