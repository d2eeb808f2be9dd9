package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestTransfer plants bugs in exports and imports.
func TestTransfer(t *testing.T) {
	mutants.Run(t, "./transfer", []mutants.Mutant{
		{Name: "the rest of a partition is left out", File: "transfer/span.go",
			Old: "		add(&f)\n		from += \" \"\n", New: "		from += \" \"\n", Test: "TestParallel|TestExportCrashes"},
		{Name: "the beginning of the last partition is left out", File: "transfer/span.go",
			Old: "if s.To != nil && s.To.rk != \"\" && keys", New: "if s.To != nil && s.To.rk != \"\" && false && keys", Test: "TestFilters"},
		{Name: "a gap in front of a chunk is no gap", File: "transfer/span.go",
			Old: "left = append(left, span{at, &end})", New: "_ = end", Test: "TestAltered|TestExportCrashes"},
		{Name: "the line of a chunk is written before the chunk", File: "transfer/export.go",
			Old: "	if err := x.to.put(ctx, w.Name, content); err != nil {\n		return fmt.Errorf(\"chunk %s: %w\", w.Name, err)\n	}\n	if err := x.to.add(ctx, ManifestName, line); err != nil {",
			New: "	if err := x.to.add(ctx, ManifestName, line); err != nil {\n		return fmt.Errorf(\"chunk %s: %w\", w.Name, err)\n	}\n	if err := x.to.put(ctx, w.Name, content); err != nil {", Test: "TestExportCrashes"},
		{Name: "a line that was cut swallows the next", File: "transfer/manifest.go",
			Old: "fmt.Appendf(nil, \"\\n%s,", New: "fmt.Appendf(nil, \"%s,", Test: "TestExportCrashes"},
		{Name: "a chunk is not compared with its sum", File: "transfer/rows.go",
			Old: "!= p.SHA256 || int64(len(b)) != p.Bytes", New: "== \"\"", Test: "TestAltered"},
		{Name: "what two chunks have is read twice", File: "transfer/manifest.go",
			Old: "all = append(all, piece{c, span{at, c.To}})", New: "all = append(all, piece{c, c.span})", Test: "TestOverlap"},
		{Name: "the half that is given away is left out", File: "transfer/export.go",
			Old: "	x.open = append(x.open, span{at, s.To})\n", New: "", Test: "TestParallel"},
		{Name: "no work is shared", File: "transfer/export.go",
			Old: "return divides && pages >= fewPages && x.wanted()", New: "return divides && pages >= fewPages && x.wanted() && false", Test: "TestParallel"},
		{Name: "an empty span has a first key", File: "transfer/export.go",
			Old: "	if s.isEmpty() {\n		return \"\", false, nil", New: "	if false {\n		return \"\", false, nil", Test: "TestNeighbours"},
		{Name: "two lines of one chunk are one", File: "transfer/manifest.go",
			Old: "			if !lines[string(content)] { // else the line was added twice, because a response was lost\n				lines[string(content)] = true\n", New: "			if !lines[c.Name] {\n				lines[c.Name] = true\n", Test: "TestEmptyRanges"},
		{Name: "a unique value that is taken is an entity that exists", File: "transfer/entities.go",
			Old: "&& !errors.As(err, new(*table.DerivedError)) {", New: "{", Test: "TestImportTaken"},
		{Name: "a chunk may be any file", File: "transfer/rows.go",
			Old: "if !isChunkName.MatchString(p.Name) {", New: "if !isChunkName.MatchString(p.Name) && false {", Test: "TestOtherNames"},
		{Name: "rows that are stored already are kept as others", File: "transfer/import.go",
			Old: "case sameColumns(was.columns, r.columns):", New: "case len(was.columns) < 0:", Test: "TestImportCrashes"},
		{Name: "an older row replaces a newer one", File: "transfer/import.go",
			Old: "r.timestamp.After(was.timestamp)", New: "true", Test: "TestModes"},
		{Name: "the definitions of the table are not looked at", File: "transfer/import.go",
			Old: "if err == nil && !same {", New: "if err == nil && !same && false {", Test: "TestOtherDefinitions"},
		{Name: "a row of an unfinished write is imported", File: "transfer/entities.go",
			Old: "case r.Has(reserved.Mark):", New: "case r.Has(\"\"):", Test: "TestImportPrepared"},
		{Name: "derived rows are entities", File: "transfer/compare.go",
			Old: "&& stored.Find(r.columns, reserved.Owner).Kind == edm.Absent", New: "", Test: "TestImportEntities|TestCompare"},
		{Name: "parts of another version are joined", File: "internal/engine/wide.go",
			Old: "			return yield(a.row(), a.whole())\n", New: "			return yield(a.row(), nil)\n", Test: "TestImportWide"},
	})
}
