package integration

import (
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// The guide's domain: employees in departments.
type employee struct {
	Department string
	ID         int
	First      string `table:"FirstName"`
	Last       string `table:"LastName"`
	Age        int32
	Email      string
}

var (
	dept  = keys.Tuple1(keys.Text())
	empid = keys.Tuple1(keys.Digits[int](6)).Named("empid")

	staffSchema = table.Schema[employee]{
		Partition: keys.Bind1(dept, func(e *employee) *string { return &e.Department }),
		Row:       keys.Bind1(empid, func(e *employee) *int { return &e.ID }),
	}
	first = table.FieldOf(func(e *employee) *string { return &e.First })
	last  = table.FieldOf(func(e *employee) *string { return &e.Last })
	age   = table.FieldOf(func(e *employee) *int32 { return &e.Age })
	mail  = table.FieldOf(func(e *employee) *string { return &e.Email })
)

func at(d string, id int) keys.Key { return keys.At(dept.Of(d), empid.Of(id)) }

var jones = employee{"Sales", 223, "Jessy", "Jones", 44, "jonesj@contoso.com"}

// suite is the behaviour suite, by name.
var suite = map[string]func(*env){
	"life of an entity":       lifeOfAnEntity,
	"conditions":              conditions,
	"explicit keys":           explicitKeys,
	"merge":                   merges,
	"upsert":                  upserts,
	"forced writes":           forcedWrites,
	"unknown columns":         unknownColumns,
	"system properties":       systemProperties,
	"update loses nothing":    updateLosesNothing,
	"update ends":             updateEnds,
	"keys of all sorts":       keysOfAllSorts,
	"values of all sorts":     valuesOfAllSorts,
	"largest entity":          largestEntity,
	"ensure":                  ensure,
	"ranges":                  ranges,
	"family":                  family,
	"filters":                 filters,
	"filter text":             filterText,
	"pages":                   pages,
	"scans":                   scans,
	"types side by side":      sideBySide,
	"projection":              projection,
	"cancelled":               cancelled,
	"one partition for all":   constPartition,
	"keys that are one-way":   oneWay,
	"rows as they are stored": rowsAsStored,
	"transactions":            transactions,
	"largest transaction":     largestTransaction,
	"quoted keys":             quotedKeys,
	"in a partition":          inPartition,
	"rekey":                   rekeys,
	"cursors":                 cursors,
	"another process":         otherProcess,
	"many keys":               manyKeys,
	"counts":                  counts,
	"get or insert":           getOrInsert,
	"partitions":              partitions,
	"keys beyond ~":           beyondTheLibrary,
	"budgets":                 budgets,
	"dispatch":                dispatch,
	"versions":                versions,
	"grants":                  grants,
	"indexes":                 indexes,
	"details":                 details,
	"maintained":              maintained,
	"exact":                   exact,
	"bulk":                    bulk,
	"effects":                 effects,
	"moves":                   moves,
}
