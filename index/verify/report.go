package verify

import (
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
)

// FaultKind is the kind of a fault.
type FaultKind int

// The kinds of faults.
const (
	Missing        FaultKind = iota + 1 // a row that should exist does not
	Dangling                            // a row exists that should not
	Stale                               // a row has other content than it should
	StateMismatch                       // the entity's maintainer state (_ix) is lost, or lists other rows than the entity has
	DuplicateValue                      // two entities have one unique value, or one place for details; not repaired
	Unreadable                          // the entity cannot be read, or no key can be made of it; its rows are not compared
	Orphaned                            // a write over several partitions has prepared rows, and its commit record cannot be read; see Options.Orphans
)

// String returns the kind in words.
func (k FaultKind) String() string {
	if names := [...]string{"no fault", "missing", "dangling", "stale", "state mismatch", "duplicate value", "unreadable", "orphaned"}; k >= 0 && int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("FaultKind(%d)", int(k))
}

// Fault is a fault of a derived row, or of an entity.
type Fault struct {
	Definition string
	Kind       FaultKind
	Row        keys.Key // the derived row; zero if the entity, or its maintainer state, cannot be read
	Entity     keys.Key // the entity of the row; zero if the row of a summary has a wrong total
	Owner      keys.Key // of a duplicate value, the other entity, which has the row
	Repaired   bool
	Err        error // why the fault could not be repaired
}

// Report counts the work of Run so far.
type Report struct {
	Partitions int // partitions that are finished
	Entities   int // entities that were read
	Rows       int // derived rows that were read
	Faults     map[FaultKind]int
	Repaired   int
	Failed     int // faults that could not be repaired, without duplicate values

	// Unconfirmed counts the entities, and the groups of summaries, of which a suspected fault could not be confirmed, or a fault of a
	// contribution not repaired, because concurrent writers changed the rows at every attempt.
	Unconfirmed int

	// Pending counts the entities whose rows elsewhere (index.Elsewhere) are not compared, because a worker is still to change them: a
	// commit record with their effect is pending. Notified counts the notifications that Run has sent again with Options.Repair, for
	// such commit records that are older than 10 minutes: the queue may have lost the first one.
	Pending, Notified int

	// Finished counts the writes over several partitions, such as table.Table.Move, that Run has ended with Options.Repair: their
	// programs have crashed, and their messages were lost. They began more than 10 minutes ago.
	Finished int

	// Token is the position behind the last finished partition, for Options.Token.
	Token string
}

// Sound reports whether all faults are repaired, and no entity or group is unconfirmed.
func (r *Report) Sound() bool {
	n := r.Unconfirmed
	for _, of := range r.Faults {
		n += of
	}
	return n == r.Repaired
}
