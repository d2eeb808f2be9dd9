package verify

import (
	"slices"
	"sync/atomic"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/table"
)

// partition is a partition that is being verified.
type partition[T any] struct {
	*run[T] // with its recorder (count, noteFault, …) and its pacer

	pk           string
	entitiesRead int
	requestErr   error // the cause of an errRequest
	snapshots    []*snapshot[T]
	summaries    []derived.PerGroup[T]

	candidates map[string][]candidate // by the RowKey of the entity
	excluded   map[string]bool        // RowKeys of entities that cannot be read, or are of another type
	miscounted []Fault                // entities whose recorded contribution to a summary is not what it should be
	additions  []addition[T]
	firstOwner map[candidate]string // unique rows that do not exist, with the first entity that should have each
	ownerless  []candidate          // rows that name no entity, and should name one
	foreign    map[string]bool      // RowKeys of foreign rows in the ranges of the definitions

	entitiesWritten atomic.Bool // summaries may have changed
}

// snapshot is the rows of a definition as they were read.
type snapshot[T any] struct {
	maintainer derived.PerEntity[T]
	digests    map[rowEntity]uint64 // of the content of rows, for each entity that a row names
	owners     map[string]string    // of unique rows
	texts      texts                // of the keys
	copies     copies
}

// copies says what the rows of a definition contain.
type copies struct {
	is           bool // the rows are copies
	whole        bool // of all properties
	properties   []string
	projectionID string
}

// rowEntity is a row and an entity that it names, by their RowKeys.
type rowEntity struct{ row, entity string }

// candidate is a row that may have a fault.
type candidate struct {
	snapshot int
	row      string // its RowKey, or stateOnly
}

// stateOnly is the row of a candidate that is the maintainer state of an entity, and no row.
const stateOnly = ""

// addition is an entity that lacks rows, with the faults that a write of it repairs.
type addition[T any] struct {
	entity *table.Entity[T]
	faults []Fault
}

func newPartition[T any](r *run[T], pk string) *partition[T] {
	return &partition[T]{
		run:        r,
		pk:         pk,
		foreign:    map[string]bool{},
		candidates: map[string][]candidate{},
		excluded:   map[string]bool{},
		firstOwner: map[candidate]string{},
	}
}

func (p *partition[T]) addCandidates(entity string, all ...candidate) {
	for _, c := range all {
		// Rows without an entity are distinct, and may be too many to search.
		if entity == derived.NoEntity || !slices.Contains(p.candidates[entity], c) {
			p.candidates[entity] = append(p.candidates[entity], c)
		}
	}
}
