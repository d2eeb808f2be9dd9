package table_test

import (
	"github.com/aztablekit/aztablekit/table"
)

// singleAttempt returns options for tests of a single request and its response: one attempt, and no operation IDs.
func singleAttempt() *table.Options {
	o := blindOptions()
	o.OmitOperationID, o.Retry.Attempts = true, -1
	return o
}

// blindOptions are options for tables whose rows have no derived rows.
func blindOptions() *table.Options { return &table.Options{BlindWrites: true} }

// noWaitOptions are blindOptions without pauses between attempts.
func noWaitOptions() *table.Options {
	o := blindOptions()
	o.Retry.Wait, o.Retry.ConflictWait = -1, -1
	return o
}
