package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestStore: a bug in how a store declares, creates, runs and verifies is found.
func TestStore(t *testing.T) {
	t.Parallel()
	mutants.Run(t, ".", []mutants.Mutant{
		{Name: "a type may be declared twice", File: "table.go",
			Old: "bool { return other.of == d.of })", New: "bool { return false })", Test: "TestFaults"},
		{Name: "a definition may belong to two tables", File: "table.go",
			Old: "	if owner, owned := s.owners[definition]; owned {\n", New: "	if owner, owned := s.owners[definition]; owned && false {\n", Test: "TestFaults"},
		{Name: "effects of two types share a handler", File: "table.go",
			Old: "			if other.hasKind(h.Kind) {\n", New: "			if false {\n", Test: "TestFaults"},
		{Name: "definitions of two types share a name", File: "table.go",
			Old: "		if slices.Contains(other.names, name) {\n", New: "		if false {\n", Test: "TestFaults"},
		{Name: "two definitions share a name", File: "table.go",
			Old: "	if slices.Contains(d.names, name) {\n", New: "	if false {\n", Test: "TestFaults"},
		{Name: "two types share a range of keys", File: "table.go",
			Old: "&& keyrange.RowsOverlap(own, taken) {\n", New: "&& keyrange.RowsOverlap(own, taken) && false {\n", Test: "TestFaults"},
		{Name: "types with names of their own cannot share a range of keys", File: "table.go",
			Old: "name == otherName) &&", New: "true) &&", Test: "TestTypesWithNames"},
		{Name: "an index is in the rows of another type", File: "table.go",
			Old: "d.checkApart(rows, also, other)", New: "d.checkApart(rows[:0], also, other)", Test: "TestFaults"},
		{Name: "rows are in those of an index of another type", File: "table.go",
			Old: "d.checkApart([]keys.RowRange{own}, other", New: "d.checkApart(nil, other", Test: "TestFaults"},
		{Name: "two tables share an index table", File: "registry.go",
			Old: "!strings.EqualFold(other, owner) && collide(name, taken) {", New: "collide(name, taken) && false {", Test: "TestFaults"},
		{Name: "a mistake in what a definition needs names none", File: "extend/definition.go",
			Old: "			return nil, nil, named(n.definition, err)\n", New: "			return nil, nil, err\n", Test: "TestFaults"},
		{Name: "a fault of a table is not that of the store", File: "table.go",
			Old: "		s.declared.refuse(fmt.Errorf(\"table %s: %w\", name, err))\n", New: "", Test: "TestFaults"},
		{Name: "a table may be declared after Ensure", File: "registry.go",
			Old: "	if r.complete {\n", New: "	if false {\n", Test: "TestLateDeclaration"},
		{Name: "a store that cannot be opened has usable tables", File: "table.go",
			Old: "	if err := s.invalid(); err != nil {\n", New: "	if err := s.invalid(); err != nil && false {\n", Test: "TestUnusableStores"},
		{Name: "what else is declared in a store that cannot be opened is usable", File: "internal/host/host.go",
			Old: "		return h.Invalid\n", New: "		return nil\n", Test: "TestUnusableStores"},
		{Name: "the names of other tables have no prefix", File: "table.go",
			Old: "s.tables.Add(d.name)", New: "s.tables.Add(name)", Test: "TestSettings"},
		{Name: "a worker runs without a handler of an effect", File: "store.go",
			Old: "!slices.Contains(s.opt.NotHandled, h.Kind) {", New: "false {", Test: "TestEffectsElsewhere"},
		{Name: "a table of several types is created for each", File: "store.go",
			Old: "!seen[name] {", New: "true {", Test: "TestSeveralTypes"},
		{Name: "an account without queues cannot have tables", File: "store.go",
			Old: "errors.Is(err, errs.ErrNoEndpoint) && !hasEffects:", New: "false && !hasEffects:", Test: "TestAccountWithoutQueues"},
		{Name: "an account without queues can have effects", File: "store.go",
			Old: "errors.Is(err, errs.ErrNoEndpoint) && !hasEffects:", New: "errors.Is(err, errs.ErrNoEndpoint):", Test: "TestAccountWithoutQueues"},
		{Name: "Ensure ends at the first failure", File: "store.go",
			Old: "			failed[i] = do(ctx, task)\n", New: "			if i == 0 {\n				failed[i] = do(ctx, task)\n			}\n", Test: "TestEnsureFails"},
		{Name: "a note is stored behind its record", File: "internal/engine/write.go",
			Old: "	if tx.record && !w.table.noted(w.partition(), w.id) {\n", New: "	if false {\n", Test: "TestNoteFirst"},
		{Name: "an abort record has no note", File: "internal/engine/record.go",
			Old: "	if err := t.noteRecord(ctx, partition, id); err != nil {\n", New: "	if err := error(nil); err != nil {\n", Test: "TestNoteFirst"},
		{Name: "a process stores a note once for each partition, and not for each day", File: "internal/work/notes.go",
			Old: "	return m.denied == day || m.days[day][p]\n", New: "	for _, of := range m.days {\n		if of[p] {\n			return true\n		}\n	}\n	return m.denied == day\n", Test: "TestNotes"},
		{Name: "each write stores a note", File: "internal/work/notes.go",
			Old: "	t.notes.learn(day, p)\n", New: "", Test: "TestNotes"},
		{Name: "notes stay", File: "daily.go",
			Old: "	if err != nil || left > 0 {\n		return err\n	}\n", New: "	if err != nil || left > 0 || true {\n		return err\n	}\n", Test: "TestRowsGo"},
		{Name: "a note goes although a record is left", File: "daily.go",
			Old: "	if err != nil || left > 0 {\n", New: "	if err != nil || left < 0 {\n", Test: "TestNoteOfPending"},
		{Name: "a note is swept on its day", File: "daily.go",
			Old: "	if age < agedAfter {\n		return nil\n", New: "	if age < agedAfter && false {\n		return nil\n", Test: "TestNoteOfPending"},
		{Name: "the work of a day is taken from the process that does it", File: "internal/work/day.go",
			Old: "r.owner != \"\" && r.date.Sub(r.stored) < ownTime+allowance", New: "false", Test: "TestDayTaken"},
		{Name: "the work of a day is taken without the ETag of its row", File: "internal/work/day.go",
			Old: "dayKey, d.etag, columns...)", New: "dayKey, azcore.ETagAny, columns...)", Test: "TestDayTaken"},
		{Name: "tasks that are done are not stored", File: "internal/work/day.go",
			Old: "strings.Join(all, \"\\n\"))", New: "strings.Join(nil, \"\\n\"))", Test: "TestDayHandedOver"},
		{Name: "the work of a day is done again at once", File: "internal/work/day.go",
			Old: "moment(propertyDue, due), text", New: "moment(propertyDue, d.row.due.Add(due.Sub(due))), text", Test: "TestDayOnce"},
		{Name: "a queue that is behind is repaired", File: "daily.go",
			Old: "	return err == nil && !behind, err\n", New: "	return err == nil && (!behind || true), err\n", Test: "TestWaitsOnPurpose/pause"},
		{Name: "a failure in the work of a day ends it", File: "daily.go",
			Old: "	return s.opt.Daily, errors.Join(err, day.End(ctx))\n", New: "	return 1000 * time.Hour, errors.Join(err, day.End(ctx))\n", Test: "TestRun"},
		{Name: "the options of one table verify all", File: "store.go",
			Old: "door.CheckPass(&o.Pass, \"Rate\", \"Concurrency\", \"DryRun\")", New: "door.CheckPass(&o.Pass, \"Partitions\", \"Token\", \"Rate\", \"Concurrency\", \"DryRun\")", Test: "TestVerify"},
		{Name: "exact writes of a series store no notes", File: "largeentity/series/series.go",
			Old: "	door.Note(rows, h.Registry)\n", New: "", Test: "TestRowsGo"},
		{Name: "the age of a message is by the program's clock", File: "eventual/notifypending.go",
			Old: "m.age() > grace(", New: "o.opt.Now().Sub(m.inserted) > grace(", Test: "TestPendingWarned"},
		{Name: "a search for records without notes that fails is not repeated", File: "daily.go",
			Old: "	if failed == nil {\n", New: "	if failed == nil || true {\n", Test: "TestRecordsWithoutNotes/processes"},
		{Name: "a program that does the work of a day itself does not search for records without notes", File: "daily.go",
			Old: "	if look != nil {\n", New: "	if look != nil && false {\n", Test: "TestRecordsWithoutNotes/by_hand"},
		{Name: "records without notes are searched for each day", File: "internal/work/look.go",
			Old: "	return ignoreLost(l.store(ctx, never))", New: "	return nil", Test: "TestRecordsWithoutNotes/by_hand"},
		{Name: "a task of a day that fails stops the others", File: "daily.go",
			Old: "		all = errors.Join(all, do(ctx, task))\n", New: "		if err := do(ctx, task); err != nil {\n			return err\n		}\n", Test: "TestDailyGoesOn"},
	})
}

// TestDeclared: a bug in a handle that was declared wrong, or in what a package gives to a store, is found.
func TestDeclared(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "an operation of a faulty handle has no error", File: "internal/engine/op.go",
			Old: "cmp.Or(op.Table.Fault, op.Table.readOnly())", New: "cmp.Or(op.Table.readOnly(), op.Table.readOnly())", Test: "TestEveryMethodReturnsTheFault"},
		{Name: "an argument that is a faulty handle is none", File: "internal/engine/table.go",
			Old: "	return t.Fault\n", New: "	return nil\n", Test: "TestEveryMethodReturnsTheFault"},
		{Name: "a list of a faulty handle has another error", File: "internal/engine/list.go",
			Old: "	if t.Fault != nil {\n", New: "	if false {\n", Test: "TestEveryMethodReturnsTheFault"},
	})
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "a move of a faulty handle blames something else", File: "table/move.go",
			Old: "	if err := either(h.engine.Fault, other.engine.Fault); err != nil {\n", New: "	if err := either(h.engine.Fault, other.engine.Fault); err != nil && false {\n", Test: "TestEveryMethodReturnsTheFault"},
	})
	mutants.Run(t, "./logtail", []mutants.Mutant{
		{Name: "what is declared too late harms the store", File: "registry.go",
			Old: "	if !r.complete {\n", New: "	if true {\n", Test: "TestLogBesideATable"},
		{Name: "the tables of periods have no owner", File: "logtail/log.go",
			Old: "			parts.Periods = parts.Tables\n", New: "			_ = parts\n", Test: "TestLogBesideATable"},
		{Name: "logs of one prefix have other periods", File: "logtail/log.go",
			Old: "		of = fmt.Sprintf(", New: "		_ = fmt.Sprintf(", Test: "TestLogBesideATable"},
		{Name: "a log may be declared after Ensure", File: "logtail/log.go",
			Old: "	if err = h.Declare(name, parts, err); err == nil {\n", New: "	if h.Declare(name, parts, err); err == nil {\n", Test: "TestLogBesideATable"},
		{Name: "the tables of a day are not dropped", File: "logtail/periods.go",
			Old: "	_, err := p.Drop(ctx, nil)\n	return err\n", New: "	return nil\n", Test: "TestDeclaredLogs"},
		{Name: "a source of a faulty log is usable", File: "logtail/log.go",
			Old: "	if l.fault != nil {\n		return &in\n	}\n", New: "", Test: "TestFaultyLogs"},
	})
	mutants.Run(t, "./largeentity", []mutants.Mutant{
		{Name: "a table has large values twice", File: "largeentity/values.go",
			Old: "return \"large values\"", New: "return v.container", Test: "TestFaultyValues"},
		{Name: "the sweep of a day does not ask the archive", File: "largeentity/sweep.go",
			Old: "	if len(v.archives) == 0 {\n", New: "	if true {\n", Test: "TestArchivedValues"},
		{Name: "a handle loses the definitions before", File: "internal/bare/bare.go",
			Old: "		maps.Copy(all, m.Bindings)\n", New: "", Test: "TestArchivedValues"},
		{Name: "values take a handle without them", File: "internal/bare/bare.go",
			Old: "	if !is {\n		err = &table.DefinitionError", New: "	if !is && false {\n		err = &table.DefinitionError", Test: "TestValuesInTwoStores"},
		{Name: "a check repairs", File: "largeentity/values.go",
			Old: "DryRun: o.DryRun,", New: "", Test: "TestValues"},
	})
	mutants.Run(t, "./archive", []mutants.Mutant{
		{Name: "movers of two tables share a kind", File: "archive/mover.go",
			Old: "		parts.Names = []string{", New: "		_ = []string{", Test: "TestFaultyMovers"},
		{Name: "a store does not create the destination", File: "archive/mover.go",
			Old: "		if at, is := at.(interface{ Ensure(context.Context) error }); is {\n", New: "		if at, is := at.(interface{ Ensure(context.Context) error }); is && false {\n", Test: "TestMoverInTwoStores"},
	})
}
