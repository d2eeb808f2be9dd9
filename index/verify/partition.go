package verify

import (
	"slices"
	"sync/atomic"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/table"
)

// partition is a partition that is being verified.
type partition[T any] struct {
	*run[T]
	pk           string
	entitiesRead int
	requestErr   error // the cause of an errRequest
	snapshots    []*snapshot[T]
	summaries    []derived.PerGroup[T]

	candidates map[string][]candidate // by the RowKey of the entity
	excluded   map[string]bool        // RowKeys of entities that cannot be read, or are of another type
	uncounted  []Fault                // entities whose recorded contribution to a summary is not what it should be
	additions  []addition[T]
	firstOwner map[candidate]string // unique rows that do not exist, with the first entity that should have each
	ownerless  []candidate          // rows that name no entity, and should name one
	foreign    map[string]bool      // RowKeys of foreign rows in the ranges of the definitions

	entitiesWritten atomic.Bool // summaries may have changed
}

// snapshot is what the rows of a definition said when they were read.
type snapshot[T any] struct {
	maintainer derived.PerEntity[T]
	links      map[link]uint64   // with the digest of the content
	owners     map[string]string // of unique rows
}

// link is a row that names an entity.
type link struct{ row, entity string }

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

func newPartition[T any](v *run[T], pk string) *partition[T] {
	return &partition[T]{
		run:        v,
		pk:         pk,
		foreign:    map[string]bool{},
		candidates: map[string][]candidate{},
		excluded:   map[string]bool{},
		firstOwner: map[candidate]string{},
	}
}

func (in *partition[T]) addCandidates(entity string, all ...candidate) {
	for _, c := range all {
		// Links without an entity are distinct, and may be too many to search.
		if entity == derived.NoEntity || !slices.Contains(in.candidates[entity], c) {
			in.candidates[entity] = append(in.candidates[entity], c)
		}
	}
}
