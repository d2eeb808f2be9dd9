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
			Old: "all = append(all, piece{c, read})", New: "all = append(all, piece{c, c.span})", Test: "TestOverlap"},
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
			Old: "case stored.HasMark(r.Columns()):", New: "case r.Has(\"\"):", Test: "TestImportPrepared"},
		{Name: "derived rows are entities", File: "transfer/compare.go",
			Old: "&& stored.Find(r.columns, reserved.Owner).Kind == edm.Absent", New: "", Test: "TestImportEntities|TestCompare"},
		{Name: "parts of another version are joined", File: "internal/engine/wide.go",
			Old: "			return yield(a.row(), a.whole())\n", New: "			return yield(a.row(), nil)\n", Test: "TestImportWide"},
		{Name: "lines of any order are compared with a range", File: "transfer/import.go",
			Old: " || b.rows[n-1].place().compare(r.place()) >= 0", New: "", Test: "TestCSV"},
		{Name: "a type holds for its line only", File: "transfer/csv.go",
			Old: "		text, own := fields[h.at[i]], \"\"\n", New: "		text, own := fields[h.at[i]], \"\"\n		if c.types >= 0 {\n			c.kind = edm.String\n		}\n", Test: "TestCSV"},
		{Name: "carriage returns are left out of texts", File: "transfer/csvreader.go",
			Old: "		case c == '\\n':\n			r.next++\n", New: "		case c == '\\r':\n			continue\n		case c == '\\n':\n			r.next++\n", Test: "TestFilesRoundTrip"},
		{Name: "columns are those of the first row", File: "transfer/csv.go",
			Old: "			if _, is := at[c.Name]; !is {\n				at", New: "			if _, is := at[c.Name]; !is && len(names) < 1 {\n				at", Test: "TestFilesRoundTrip"},
		{Name: "an export of entities has the definitions", File: "transfer/rows.go",
			Old: "if w.entities && !isEntity(r) {", New: "if w.entities && !isEntity(r) && false {", Test: "TestExportEntities"},
		{Name: "a part is the whole table", File: "transfer/export.go",
			Old: "	part = part.intersect(whole)\n", New: "	part = whole\n", Test: "TestExportPart"},
		{Name: "an import of a range reads all", File: "transfer/source.go",
			Old: "p.read = p.read.intersect(in)\n", New: "_ = in\n", Test: "TestExportPart"},
	})
}

// TestAzt plants bugs in the command azt and in what it needs of jobs.
func TestAzt(t *testing.T) {
	mutants.Run(t, "./azt", []mutants.Mutant{
		{Name: "everything may be written", File: "azt/azt.go",
			Old: "	if c.flags.write {\n		return nil\n	}\n", New: "	if true {\n		return nil\n	}\n", Test: "TestReadsOnly"},
		{Name: "control characters are shown", File: "azt/args.go",
			Old: "		return strconv.Quote(s)\n", New: "		return s\n", Test: "TestForged|TestTyped"},
		{Name: "JSON has control characters", File: "azt/print.go",
			Old: "		if strconv.IsPrint(r) {\n			out", New: "		if r > 0 {\n			out", Test: "TestForged"},
		{Name: "a scan needs no flag", File: "azt/where.go",
			Old: "if r.class == query.TableScan && !f.scan", New: "if r.class == query.TableScan && f.scan", Test: "TestUsage|TestRanges"},
		{Name: "an empty bound is a bound", File: "azt/args.go",
			Old: "	case f.from.text != \"\" || f.to.text != \"\":\n", New: "	case f.from.set || f.to.set:\n", Test: "TestUsage"},
		{Name: "faults are no finding", File: "azt/store.go",
			Old: "	if !report.Sound() {\n		return errFound\n", New: "	if !report.Sound() {\n		return nil\n", Test: "TestDefinitions"},
		{Name: "parts are not joined", File: "azt/look.go",
			Old: "		rows = engine.Joined(rows)\n", New: "", Test: "TestWide"},
		{Name: "numbers are texts", File: "azt/where.go",
			Old: "if isNumber.MatchString(s) {", New: "if isNumber.MatchString(s) && false {", Test: "TestConditions"},
	})
	mutants.Run(t, "./jobs", []mutants.Mutant{
		{Name: "an export is not completed at its end", File: "jobs/ledger.go",
			Old: "	if l.last != nil {\n", New: "	if false {\n", Test: "TestExport"},
		{Name: "a chunk that ends inside a partition counts no rows", File: "jobs/export.go",
			Old: "		s.addCounts() // the chunk is stored, also if no partition ends with it\n", New: "", Test: "TestExport"},
		{Name: "a canceled job is listed as it was", File: "jobs/job.go",
			Old: "		h.State, h.Ended = Canceled, time.Now().UTC()\n", New: "		h.Ended = time.Now().UTC()\n", Test: "TestCancel"},
	})
}

// TestSnapshots plants bugs in the snapshots of partitions.
func TestSnapshots(t *testing.T) {
	mutants.Run(t, "./transfer", []mutants.Mutant{
		{Name: "the stamp is read after the first page", File: "transfer/snapshots.go",
			Old: "		r.watch = watch{true, last, stamp}\n	}\n", New: "		r.watch = watch{true, last, stamp}\n		return page, nil, nil\n	}\n", Test: "TestSnapshots"},
		{Name: "the stamp is not read again", File: "transfer/snapshots.go",
			Old: "if stamp == \"\" || stamp != was.stamp {", New: "if was.stamp == \"\" && stamp != \"x\" {", Test: "TestSnapshots"},
		{Name: "a partition that goes on behind a page is of one moment", File: "transfer/snapshots.go",
			Old: "if !more || len(page) == 0 {", New: "if len(page) >= 0 {", Test: "TestSnapshots"},
		{Name: "chunks of one partition are of one moment, whatever was written between", File: "transfer/manifest.go",
			Old: " || p.Before != before.After)", New: ")", Test: "TestSnapshotsCrash"},
		{Name: "a partition that ends with a page is not ended", File: "transfer/rows.go",
			Old: "	if len(page) > 0 { // before", New: "	if len(page) > 0 && false { // before", Test: "TestSnapshotsSteps"},
		{Name: "a single write stores no stamp", File: "internal/engine/send.go",
			Old: "	case w.stamps():\n", New: "	case w.stamps() && w.asTransaction:\n", Test: "TestStamps"},
		{Name: "other partitions of a write get no stamp", File: "internal/engine/remote.go",
			Old: "r.write.keepsStamps(t) || t.Same(r.write.table) && r.write.stamps()", New: "false", Test: "TestStamps"},
		{Name: "another program finishes without the stamp", File: "internal/engine/end_prepared.go",
			Old: "return t.sendSteps(ctx, id, steps, p.stamped)", New: "return t.sendSteps(ctx, id, steps, false)", Test: "TestStampsOfOthers"},
		{Name: "stamps are stored only once they count", File: "internal/catalogue/guard.go",
			Old: "!is.State.kept() && (d.Form != Stamps || !stamps) {", New: "!is.State.kept() && (d.Form != Stamps || stamps) {", Test: "TestSnapshotsOfTypes"},
		{Name: "another type stores no stamps", File: "internal/catalogue/guard.go",
			Old: "d.Form == Stamps && !g.stamps():", New: "d.Form == Stamps && !g.stamps() && false:", Test: "TestSnapshotsOfTypes"},
		{Name: "a chunk that ends with a page ends no partition", File: "transfer/rows.go",
			Old: "return again, w.endPartition(ctx, again)", New: "return again, nil", Test: "TestSnapshotsSteps"},
		{Name: "a chunk that ends within a partition has the stamp from before", File: "transfer/snapshots.go",
			Old: "	if stamp != r.watch.stamp {\n		stamp = \"\"\n	}\n	return stamp, err", New: "	_ = stamp\n	return r.watch.stamp, err", Test: "TestSnapshotsDamaged"},
		{Name: "stamps count before all programs store them", File: "internal/catalogue/catalogue.go",
			Old: "d.Form == Stamps && d.State == Readable {", New: "d.Form == Stamps {", Test: "TestSnapshotsRelease"},
		{Name: "stamps stay when they are retired", File: "sweep.go",
			Old: "		if err := w.delete(ctx, func(ctx context.Context) error { return rows.DeleteAny(ctx, row.Key) }); err != nil {", New: "		if err := row.Key.Err(); err != nil && false {", Test: "TestSnapshotsRelease"},
	})
}
