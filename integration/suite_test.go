package integration

import "testing"

// TestBehaviour runs the behaviour suite on every service, and on both paths to the Table service. The path makes no difference to
// queues and blobs.
func TestBehaviour(t *testing.T) {
	for _, b := range ways {
		parts := []map[string]func(*env){suite, queueSuite, blobSuite, blockBlobSuite}
		if _, is := b.(plain); is {
			parts = parts[:1]
		}
		t.Run(b.Name(), func(t *testing.T) {
			t.Parallel()
			for _, part := range parts {
				for name, test := range part {
					if _, is := b.(adverse); is && notAdverse[name] != "" {
						continue
					}
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						test(newEnv(t, b))
					})
				}
			}
		})
	}
}

// notAdverse are the stories that an adverse service changes, with what it changes.
var notAdverse = map[string]string{
	"pages":               "the number of pages",
	"budgets":             "the number of requests",
	"blob pages":          "the number of blobs in a page",
	"blob container list": "the number of pages",
	"block blob list":     "the first page alone",
}

// suite is the behaviour suite, by story.
var suite = map[string]func(*env){
	"commands":                  commands,
	"entity lifecycle":          entityLifecycle,
	"exports":                   exports,
	"logs":                      logs,
	"ends":                      ends,
	"leases":                    leases,
	"logs by period":            logsByPeriod,
	"wide entities":             wideEntities,
	"data series":               dataSeries,
	"data series writers":       dataSeriesWriters,
	"large values":              largeValues,
	"archived large values":     archivedLargeValues,
	"conditions":                conditions,
	"explicit keys":             explicitKeys,
	"merge":                     merge,
	"upsert":                    upsert,
	"unconditional writes":      unconditionalWrites,
	"unknown columns":           unknownColumns,
	"system properties":         systemProperties,
	"update loses nothing":      updateLosesNothing,
	"update ends":               updateEnds,
	"keys round trip":           keysRoundTrip,
	"values round trip":         valuesRoundTrip,
	"largest entity":            largestEntity,
	"ensure":                    ensure,
	"ranges":                    ranges,
	"key family":                keyFamily,
	"filters":                   filters,
	"stored forms":              storedForms,
	"wrong forms":               wrongForms,
	"empty row keys":            emptyRowKeys,
	"filter text":               filterText,
	"pages":                     pages,
	"table scans":               tableScans,
	"types in one partition":    typesInOnePartition,
	"projection":                projection,
	"canceled context":          canceledContext,
	"only partition":            onlyPartition,
	"one-way keys":              oneWayKeys,
	"stored rows":               storedRows,
	"transactions":              transactions,
	"largest transaction":       largestTransaction,
	"quoted keys":               quotedKeys,
	"rekey":                     moveInside,
	"cursors":                   cursors,
	"resume in another process": resumeInOtherProcess,
	"many keys":                 manyKeys,
	"counts":                    counts,
	"partitions":                partitions,
	"ranges of partitions":      partitionRanges,
	"keys after ~":              keysAfterTilde,
	"budgets":                   budgets,
	"dispatch":                  dispatch,
	"versions":                  versions,
	"grants":                    grants,
	"rights":                    rights,
	"indexes":                   indexes,
	"details":                   details,
	"maintained rows":           maintainedRows,
	"exact writes":              exactWrites,
	"bulk writes":               bulkWrites,
	"effects":                   effects,
	"archive moves":             archiveMoves,
	"elsewhere":                 elsewhere,
	"views":                     views,
	"archive moves to blobs":    movesToBlobs,
	"archive in blobs":          blobDestinations,
}

// queueSuite is the part of the behaviour suite that tests queues.
var queueSuite = map[string]func(*env){
	"queue lifecycle":      queueLifecycle,
	"queue list":           queueList,
	"message lifecycle":    messageLifecycle,
	"hidden messages":      hiddenMessages,
	"receipts":             receipts,
	"several messages":     severalMessages,
	"message times":        messageTimes,
	"message texts":        messageTexts,
	"message limits":       messageLimits,
	"missing queues":       missingQueues,
	"queue names":          queueNames,
	"concurrent receivers": concurrentReceivers,
}

// blobSuite is the part of the behaviour suite that tests blobs.
var blobSuite = map[string]func(*env){
	"blob container lifecycle": containerLifecycle,
	"blob container list":      containerList,
	"blob container names":     containerNames,
	"blob container leases":    containerLeases,
	"blob lifecycle":           blobLifecycle,
	"blob ranges":              blobRanges,
	"blob names":               blobNames,
	"blob pages":               blobPages,
	"blob hierarchy":           blobHierarchy,
	"blob conditions":          blobConditions,
	"blob append conditions":   appendConditions,
	"blob leases":              blobLeases,
	"blob limits":              blobLimits,
	"blob missing":             missingBlobs,
	"blob concurrent appends":  concurrentAppends,
	"logs in blobs":            logBlobs,
	"changed log blobs":        logBlobChanges,
}
