package integration

import "testing"

// TestBehaviour is the suite: what the library promises, on every service.
func TestBehaviour(t *testing.T) {
	for _, b := range backends {
		t.Run(b.Name(), func(t *testing.T) {
			t.Parallel()
			for _, part := range []map[string]func(*env){suite, queueSuite} {
				for name, mp := range part {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						mp(newEnv(t, b))
					})
				}
			}
		})
	}
}

// suite is the behaviour suite, by name.
var suite = map[string]func(*env){
	"life of an entity":       entityLifecycle,
	"conditions":              conditions,
	"explicit keys":           explicitKeys,
	"merge":                   merge,
	"upsert":                  upsert,
	"forced writes":           unconditionalWrites,
	"unknown columns":         unknownColumns,
	"system properties":       systemProperties,
	"update loses nothing":    updateLosesNothing,
	"update ends":             updateEnds,
	"keys of all sorts":       keysRoundTrip,
	"values of all sorts":     valuesRoundTrip,
	"largest entity":          largestEntity,
	"ensure":                  ensure,
	"ranges":                  ranges,
	"family":                  keyFamily,
	"filters":                 filters,
	"filter text":             filterText,
	"pages":                   pages,
	"scans":                   tableScans,
	"types side by side":      typesInOnePartition,
	"projection":              projection,
	"cancelled":               canceledContext,
	"one partition for all":   onlyPartition,
	"keys that are one-way":   oneWayKeys,
	"rows as they are stored": storedRows,
	"transactions":            transactions,
	"largest transaction":     largestTransaction,
	"quoted keys":             quotedKeys,
	"in a partition":          inPartition,
	"rekey":                   rekey,
	"cursors":                 cursors,
	"another process":         resumeInOtherProcess,
	"many keys":               manyKeys,
	"counts":                  counts,
	"get or insert":           getOrInsert,
	"partitions":              partitions,
	"keys beyond ~":           keysAfterTilde,
	"budgets":                 budgets,
	"dispatch":                dispatch,
	"versions":                versions,
	"grants":                  grants,
	"indexes":                 indexes,
	"details":                 details,
	"maintained":              maintainedRows,
	"exact":                   exactWrites,
	"bulk":                    bulkWrites,
	"effects":                 effects,
	"moves":                   archiveMoves,
}
