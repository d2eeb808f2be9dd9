package materialized

import (
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
)

// FaultKind is the kind of a fault.
type FaultKind int

// The kinds of faults.
const (
	Missing       FaultKind = iota + 1 // an entity is not in the view
	Dangling                           // a derived entity has no entity any more
	Stale                              // a derived entity has other content than derive returns
	StateMismatch                      // the entity was written by a release whose derive returned another key
	Taken                              // two entities have one derived entity; not repaired
	Unreadable                         // the entity cannot be read, or derive fails
)

// String returns the kind in words.
func (k FaultKind) String() string {
	if names := [...]string{"no fault", "missing", "dangling", "stale", "state mismatch", "taken", "unreadable"}; k >= 0 && int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("FaultKind(%d)", int(k))
}

// Fault is a fault of a view.
type Fault struct {
	View     string
	Kind     FaultKind
	Entity   keys.Key
	Derived  keys.Key // zero if the entity cannot be read
	Repaired bool
	Err      error // why the fault could not be repaired
}

// Report counts what [Verify] has done.
type Report struct {
	Entities int // entities that were read
	Derived  int // derived entities that were read
	Faults   map[FaultKind]int
	Repaired int

	// Pending counts the suspected faults of entities whose latest write is not yet executed by a worker.
	Pending int

	// Unconfirmed counts the suspected faults that could not be confirmed, because concurrent writers changed the rows each time.
	Unconfirmed int

	// Unowned counts the rows in the range of a view's table that the view has not written. Verify leaves them as they are.
	Unowned int

	// Tombstones counts the notes of deleted derived entities that were old enough and that Verify has deleted.
	Tombstones int
}

// Sound reports whether all faults are repaired, and none is unconfirmed.
func (r *Report) Sound() bool {
	n := r.Unconfirmed
	for _, of := range r.Faults {
		n += of
	}
	return n == r.Repaired
}
