package derived

import (
	"context"
	"maps"
	"slices"

	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// The kinds of faults, and what else package verify counts in table.Progress.Counts.
const (
	Missing        = "missing"
	Dangling       = "dangling"
	Stale          = "stale"
	StateMismatch  = "state mismatch"
	DuplicateValue = "duplicate value"
	Unreadable     = "unreadable"

	Rows        = "derived rows"
	Partitions  = "partitions"
	Failed      = "failed"
	Unconfirmed = "unconfirmed"
	Pending     = "pending"
	Notified    = "notified"
	Finished    = "finished"
	Unowned     = "unowned"
	Tombstones  = "tombstones"
)

var kinds = []string{Missing, Dangling, Stale, StateMismatch, DuplicateValue, Unreadable}

// Kinds returns how many faults of each kind a run has found.
func Kinds(p table.Progress) map[string]int {
	found := maps.Clone(p.Counts)
	maps.DeleteFunc(found, func(name string, n int) bool { return n == 0 || !slices.Contains(kinds, name) })
	return found
}

// Fault is a verify.Fault.
type Fault struct {
	Table      string
	Definition string
	Kind       string
	Row        keys.Key
	Entity     keys.Key
	Owner      keys.Key
	Blob       string
	Repaired   bool
	Err        error
}

// Comparer is a maintainer that compares its rows with the entities itself, such as that of a
// materialized view. verify.Check finds it among the maintainers of a handle.
type Comparer interface {
	// Definition returns the definition as the program gives it to verify.Check.
	Definition() any

	// Compare reads the rows of the definition. The Comparison is then called for all entities.
	Compare(ctx context.Context, s Session) (Comparison, error)
}

// Comparison compares entities with the rows of one definition, as they were read at its beginning.
// The methods report to the [Session]; an error ends the run.
type Comparison interface {
	// Entity compares an entity. It is called for several entities at a time.
	Entity(ctx context.Context, e tabledoor.Entity, row *table.Row) error

	// Unreadable leaves the rows of an entity that cannot be read as they are. The run reports the
	// fault.
	Unreadable(entity keys.Key)

	// Rest compares the rows that no entity has. It is called last.
	Rest(ctx context.Context) error
}

// Session is a run of package verify in progress, for a [Comparer].
type Session interface {
	// Table returns the handle that the run was given, for repairs.
	Table() tabledoor.Untyped

	// Repair reports whether faults are repaired.
	Repair() bool

	// Contains reports whether an entity is verified: those of Options.Partitions are.
	Contains(entity keys.Key) bool

	// Whole reports whether the entities of all partitions are verified, and their derived rows.
	// Otherwise a Comparison reads those rows that an entity records, if it reads any; see
	// RecordsOnly.
	Whole() bool

	// RecordsOnly is Options.RecordsOnly.
	RecordsOnly() bool

	// Spend waits until a number of rows may be read or written; see table.Pass.Rate.
	Spend(ctx context.Context, rows int) error

	// Fault reports a fault.
	Fault(f Fault)

	// Count adds to what is counted under a name.
	Count(name string, n int)

	// Confirm calls attempt, which confirms and repairs a suspected fault, until it reports that no
	// concurrent writer has changed what it has read, and returns its error. After so many
	// attempts, the fault counts as unconfirmed.
	Confirm(ctx context.Context, attempts int, attempt func() (changed bool, err error)) error
}
