package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestWide: what the reads and writes of entities with parts rest on, taken away piece by piece.
func TestWide(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./internal/edm", []mutants.Mutant{
		{Name: "a value may end with a full chunk", File: "internal/edm/decode.go",
			Old: "case full && isLast:", New: "case full && isLast && false:", Test: "TestChunksMissing"},
		{Name: "a chunk in the middle may be missing", File: "internal/edm/decode.go",
			Old: "case !full && !isLast:", New: "case !full && !isLast && false:", Test: "TestChunksMissing"},
		{Name: "a text that fills its chunk has no empty one behind", File: "internal/edm/decode.go",
			Old: "return len(s), units >= chunkUnits-1", New: "return len(s), units > chunkUnits", Test: "TestChunksMissing"},
	})
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "tags are not compared", File: "internal/engine/wide.go",
			Old: "case tag.S != want:", New: "case tag.S != want && false:", Test: "TestWideTornReads"},
		{Name: "all parts have one tag", File: "internal/engine/wide.go",
			Old: "tag = tag[len(tag)-tagLength:]", New: "tag = \"00000000\"", Test: "TestWideTornReads"},
		{Name: "a part may be missing", File: "internal/engine/wide.go",
			Old: "a.err == nil && missing > 0", New: "a.err == nil && missing < 0", Test: "TestWideDamage"},
		{Name: "a part may contain properties of other rows", File: "internal/engine/wide.go",
			Old: "edm.IsSystem(c.Name) || taken {", New: "edm.IsSystem(c.Name) || taken && false {", Test: "TestWideDamage"},
		{Name: "parts that an entity no longer has stay", File: "internal/engine/wide.go",
			Old: "	if c.step.merges() {\n		return nil", New: "	if true {\n		return nil", Test: "TestWide$"},
		{Name: "a delete leaves the parts", File: "internal/engine/wide.go",
			Old: "	if s.deletes() {\n", New: "	if s.deletes() {\n		dir = nil\n", Test: "TestWide$"},
		{Name: "a changed part counts as unchanged", File: "internal/engine/wide.go",
			Old: "stored.Same(columns, old)", New: "len(columns) == len(old)", Test: "TestWideRandom"},
		{Name: "a row of another program in the place of a part is replaced", File: "internal/engine/wide.go",
			Old: "!d.read.row.Has(reserved.Part)", New: "d.read.row.Has(\"x\")", Test: "TestWideForeignPart"},
		{Name: "a merge stores a field in its new part, too", File: "internal/engine/wide.go",
			Old: "if known && s.merges() {", New: "if known && s.deletes() {", Test: "TestWideMovedField"},
		{Name: "a handle without parts writes the head alone", File: "internal/engine/wide.go",
			Old: "		if hasParts(s.Before) {\n", New: "		if hasParts(s.Before) && false {\n", Test: "TestWideOtherHandles"},
		{Name: "a handle without parts reads the head alone", File: "internal/edm/decode.go",
			Old: "if m.column == nil && string(m.name) == reserved.Parts && m.tok.kind != 'n' {", New: "if m.column != nil && string(m.name) == reserved.Parts && false {", Test: "TestWideOtherHandles"},
		{Name: "values share memory with what is known of the row", File: "internal/edm/read.go",
			Old: "	if m.column != nil {\n		*v = v.owned()", New: "	if m.column == nil {\n		*v = v.owned()", Test: "TestWideChangedInPlace"},
		{Name: "a value in one chunk shares memory with what is known of the row", File: "internal/edm/decode.go",
			Old: "		if last == 0 {\n", New: "		if last < 0 {\n", Test: "TestWideChangedInPlace"},
		{Name: "an entity may be larger than a transaction", File: "internal/edm/write.go",
			Old: "len(w.parts) > 0 && length > maxWide", New: "len(w.parts) > 0 && length > 2*maxWide", Test: "TestWideSizes"},
		{Name: "a list gives out heads", File: "internal/engine/delivery.go",
			Old: "d.pager.q.HeadsOnly || a.whole() == nil", New: "d.pager.q.HeadsOnly || a.whole() != errRows", Test: "TestWideLists"},
		{Name: "a partial merge trusts a directory from before its last write", File: "table/entity.go",
			Old: "without.head = nil", New: "_ = without", Test: "TestGetFields"},
		{Name: "a merge loses which parts were read", File: "table/entity.go",
			Old: "now.partial = e.partial.withoutHead()", New: "now.partial = &partialRow{columns: e.partial.withoutHead().columns}", Test: "TestWideHasAfterMerge"},
		{Name: "the start of a value in chunks counts as damaged", File: "table/methods.go",
			Old: "if !whole { // else", New: "if whole { // else", Test: "TestWideChunksInHead"},
		{Name: "a property of a Row is looked for in the head alone", File: "table/methods.go",
			Old: "h.schema.isRow && len(parts) > 0", New: "h.schema.isRow && len(parts) > 99", Test: "TestGetFieldsOfRow"},
		{Name: "a merge leaves surplus chunks", File: "table/op.go",
			Old: "field != \"\" {\n\t\t\top.op.Err", New: "field == \"?\" {\n\t\t\top.op.Err", Test: "TestWideMergeExisting"},
		{Name: "a budget is spent on parts that were delivered", File: "internal/engine/delivery.go",
			Old: "if d.pager.passed { // else", New: "if true { // else", Test: "TestWideBudget"},
		{Name: "a page that was not read to its end counts as read", File: "internal/engine/delivery.go",
			Old: "i == len(all) && readToEnd", New: "i == len(all) && (readToEnd || true)", Test: "TestWideBudget"},
		{Name: "bulk deletions do not see parts", File: "table/methods.go",
			Old: "if h.engine.Mode.Parts == 0 {", New: "if h.engine.Mode.Parts < 0 {", Test: "TestWideBulkDelete"},
		{Name: "a maintainer may delete the head alone", File: "internal/engine/plan.go",
			Old: "case d.has(reserved.Parts):", New: "case d.has(reserved.Parts) && false:", Test: "TestWideLoadedRows"},
		{Name: "a maintainer scans by the handle of another operation", File: "internal/engine/plan_reads.go",
			Old: "		table = own //", New: "		table = p.table //", Test: "TestWideScan"},
		{Name: "maintainers see the head alone", File: "internal/engine/planner.go",
			Old: "s.Table.Mode.Parts > 0 && !s.adds() && s.Copied == nil", New: "s.Table.Mode.Parts > 0 && s.Copied == nil", Test: "TestWideMaintainers"},
	})
	mutants.Run(t, "./archive", []mutants.Mutant{
		{Name: "the archive keeps parts of a tombstone", File: "table/row.go",
			Old: "edited: h.engine.Mode.Parts > 0", New: "edited: h.engine.Mode.Parts < 0", Test: "TestWideEntity"},
		{Name: "the JSON of a row loses the parts", File: "table/row.go",
			Old: "columns[i].Part = parts[columns[i].Name]", New: "columns[i].Part = parts[\"\"]", Test: "TestWideEntity"},
	})
}
