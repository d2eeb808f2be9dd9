package table_test

import (
	"github.com/aztablekit/aztablekit/table"
)

// once are options for tests of what is sent and of what a single response means: writes are sent once, and rows carry no names of
// writes.
func singleAttempt() *table.Options {
	o := blindOptions()
	o.OmitOperationID, o.Retry.Attempts = true, -1
	return o
}

// blind are options of tables whose rows have no derived rows.
func blindOptions() *table.Options { return &table.Options{BlindWrites: true} }

// quick are options without pauses.
func noWaitOptions() *table.Options {
	o := blindOptions()
	o.Retry.Wait, o.Retry.ConflictWait = -1, -1
	return o
}
