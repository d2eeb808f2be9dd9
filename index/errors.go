package index

import (
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/table"
)

// The errors to compare with errors.Is.
var (
	// ErrTaken: another entity has the value of a unique index, or its details are in the target of this entity's details. The
	// *table.DerivedError around it contains the owner of the value, unless both entities are in one transaction. Check for it before
	// table.ErrExists, which the error also is if the service has found the row.
	ErrTaken = errors.New("the value is taken")
	// ErrSeveral: several entities have the value that a look-up for one entity was given. Use List.
	ErrSeveral = errors.New("several entities have the value; use List")
	// ErrWriteOnly: the index is being filled, and look-ups are not allowed yet. See Options.WriteOnly.
	ErrWriteOnly = errors.New("the index is being filled (Options.WriteOnly); look-ups are not allowed yet")
	// ErrRanged: the client's signature is for a range of keys. A write fails with ErrRanged if it has to read the other entities of a
	// partition, or to know that a row does not exist, and the signature is for a range of rows.
	ErrRanged = table.ErrRanged
	// ErrForeignRow: a row of another type, definition or program has the key of an index row, list or summary. The row is neither
	// replaced nor deleted. A write that would need the key fails with this error (of a unique index with ErrTaken), and so does a
	// read of the one list or summary with the key. The *table.DerivedError around it contains the key.
	ErrForeignRow = table.ErrForeignRow
	// ErrUnknownIndex: the entity is in an index that this handle lacks, so that a write would leave its index rows behind. Exception:
	// a handle without any definitions and with table.Options.BlindWrites does not check in writes by key.
	ErrUnknownIndex = table.ErrUnknownMaintainer
	// ErrNoTarget: the entity that is to hold details does not exist. Insert it first; see [Details].
	ErrNoTarget = errors.New("the entity that is to hold the details does not exist; insert it first")
	// ErrOverflow: a sum of a [Summary] has more than 64 bits.
	ErrOverflow = errors.New("a sum has more than 64 bits")
)

// repairable adds the way out to the error of a row that cannot be read.
func repairable(err error) error {
	return fmt.Errorf("%w; verify.Run with Repair writes the row again", err)
}
