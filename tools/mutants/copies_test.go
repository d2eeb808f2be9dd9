package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestCopies: what the decoding of full copies straight from a page rests on.
func TestCopies(t *testing.T) {
	t.Parallel()
	const copies, storable = "table/copies.go", "internal/edm/read.go"
	mutants.Run(t, "./index", []mutants.Mutant{
		{Name: "a row without an operation ID is a full copy", File: copies, Old: "err != nil || id.Kind == edm.Absent {", New: "err != nil && id.Kind == edm.Absent {", Test: "TestCopiesAsRows"},
		{Name: "a copy loses its Timestamp", File: copies, Old: "*e.key, *e.timestamp = k, in.Timestamp", New: "*e.key = k", Test: "TestCopiesAsRows"},
		{Name: "a projected copy is a full one", File: copies, Old: `if projectionID != "" || k.Err() != nil {`, New: `if projectionID == "?" || k.Err() != nil {`, Test: "TestCopiesAsRows"},
		{Name: "an outdated copy is not upgraded", File: copies, Old: "err != nil || s.outdated(v) {", New: "err != nil && s.outdated(v) {", Test: "TestCopiesAsRows"},
		{Name: "the owner stays in the row of a copy", File: "table/entity.go", Old: "if err == nil && e.rowIsCopy {", New: "if err != nil && e.rowIsCopy {", Test: "TestCopiesAsRows"},
		{Name: "a write takes a copy for its entity", File: "table/op.go", Old: "either(either(h.writeErr(*p.key), p.usable(whole)), p.decodeCopy())", New: "either(h.writeErr(*p.key), p.usable(whole))", Test: "TestCopiesAsRows"},
		{Name: "an unknown property that cannot be read is kept", File: storable, Old: "!known && r.read(m, &r.value) != nil", New: "!known && r.read(m, &r.value) != nil && m.kind == Absent", Test: "TestCopiesAsRows"},
		{Name: "an operation ID that was stored as text is another one", File: "internal/stored/row.go", Old: "	if v.Kind == edm.String {\n		v, _ = edm.GUIDValue(v.S)", New: "	if false {\n		v, _ = edm.GUIDValue(v.S)", Test: "TestReplaceFromCopy"},
		{Name: "a date that cannot be stored is kept", File: storable, Old: `text > "1601" && text < "9999"`, New: `text > "0" && text < "A"`, Test: "TestCopiesAsRows"},
	})
}
