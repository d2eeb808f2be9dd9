package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestShortWays: the conditions on which the shorter ways of the codec and of writes depend.
func TestShortWays(t *testing.T) {
	t.Parallel()
	const decode, direct = "internal/edm/decode.go", "internal/edm/encode.go"
	mutants.Run(t, "./internal/edm", []mutants.Mutant{
		{Name: "a number of another type is the plan's own", File: decode, Old: "own = own && x.Kind == f.storedKind()", New: "_ = own", Test: "TestOwn"},
		{Name: "an unknown column is the plan's own", File: decode, Old: "own = own && string(m.name) == reserved.OperationID", New: "_ = own", Test: "TestOwn"},
		{Name: "what is copied from the stored entity is the plan's own", File: "internal/edm/write.go", Old: "if w.count > w.owned {", New: "if w.count < w.owned {", Test: "TestOwn"},
		{Name: "a number that keeps its type is the plan's own", File: "internal/edm/encode.go", Old: "before == 0 && w.numberTypes == nil && !p.composed {", New: "before == 0 {", Test: "TestOwn"},
		{Name: "what is put before a large entity is lost", File: "internal/edm/encode.go", Old: "w.hint > 4*largeValue && (w.body.kept || w.count == 0) {", New: "w.hint > 4*largeValue {", Test: "TestEncodeRefuses"},
		{Name: "a text is written without escapes", File: direct, Old: "|| !isSimple(s) {", New: "{", Test: "TestEncode"},
		{Name: "a time before 1601 is written", File: direct, Old: "s <= minTime.Unix() || ", New: "", Test: "TestEncodeRefuses"},
		{Name: "nil bytes are written", File: direct, Old: "x == nil || ", New: "", Test: "TestAbsent"},
		{Name: "the size of a Guid is that of other values", File: direct, Old: `'"'), 16`, New: `'"'), 8`, Test: "TestRoundTrip"},
		{Name: "a time of before 1970 has the wrong hour", File: "internal/edm/value.go", Old: "	if second < 0 {\n		second += daySeconds\n	}\n", New: "", Test: "TestRoundTrip"},
		{Name: "a reader that is used again is not zero", File: "internal/edm/shape.go", Old: "		*r = Reader{}\n", New: "", Test: "TestRelease"},
		{Name: "memory of a reader is used again", File: "internal/edm/shape.go", Old: "		*r = Reader{}\n", New: "		r.memory.bytes = r.memory.bytes[:0]\n		*r = Reader{memory: r.memory}\n", Test: "TestRelease"},
	})
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "what prepares a row changes what finishes it", File: "internal/engine/prepare.go", Old: "			s.own()\n			s.Body, s.head = body, nil\n", New: "			s.Body, s.head = body, nil\n", Test: "TestMove"},
		{Name: "a row twice is found only side by side", File: "internal/engine/send.go", Old: "rows == nil && op.Key.RowKey() < last {", New: "rows != nil && op.Key.RowKey() < last {", Test: "TestTransactRefusedBeforeSending"},
		{Name: "a row twice is found only apart", File: "internal/engine/send.go", Old: "i > 0 && op.Key.RowKey() == last:", New: "i < 0:", Test: "TestTransactRefusedBeforeSending"},
	})
	mutants.Run(t, "./index", []mutants.Mutant{
		{Name: "planning changes the caller's operation", File: "internal/engine/planner.go", Old: "	s.own()\n", New: "", Test: "TestEveryKindEveryFaultPlain"},
	})
	mutants.Run(t, "./internal/stored", []mutants.Mutant{
		{Name: "copies of all projections have one owner", File: "internal/stored/row.go", Old: "r.copied == nil || r.copied.owner != owner {", New: "r.copied == nil {", Test: "TestOwners"},
	})
}
