package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestCatalogue: a bug in the catalogue of a table, its leases, Fill and Retire is found.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	mutants.Run(t, ".", []mutants.Mutant{
		// The writers.
		{Name: "a writer that lacks a definition writes", File: "internal/catalogue/guard.go",
			Old: "		case other || !d.State", New: "		case !own || other || !d.State", Test: "TestRelease$"},
		{Name: "a writer with another form of a definition writes", File: "internal/catalogue/guard.go",
			Old: "		case form != d.Form:\n", New: "		case false:\n", Test: "TestOtherForm"},
		{Name: "a writer without a catalogue writes", File: "internal/catalogue/catalogue.go",
			Old: "	case r.row == nil && !r.hidden:\n", New: "	case false:\n", Test: "TestMissingCatalogue"},
		{Name: "a writer whose definition is not named writes", File: "internal/catalogue/guard.go",
			Old: "		if row.find(g.typ.Scope, d.Name) == nil {\n", New: "		if false {\n", Test: "TestNotNamed"},
		{Name: "a definition that is unfilled is kept", File: "internal/catalogue/guard.go",
			Old: "is != nil && !is.State.kept() && (d.Form != Stamps || !stamps) {", New: "is != nil && is.State == Retired && (d.Form != Stamps || !stamps) {", Test: "TestRelease$"},
		{Name: "a definition that is retired is kept", File: "internal/catalogue/guard.go",
			Old: "is != nil && !is.State.kept() && (d.Form != Stamps || !stamps) {", New: "is != nil && is.State == Unfilled && (d.Form != Stamps || !stamps) {", Test: "TestRelease$|TestCatalogueSchedules"},
		{Name: "a definition that is retiring is not kept", File: "internal/catalogue/row.go",
			Old: "s == Building || s == Readable || s == Retiring", New: "s == Building || s == Readable", Test: "TestCatalogueSchedules/roll-back", Args: []string{"-catalogueruns=3000"}},
		{Name: "a definition that is being filled is not kept", File: "internal/catalogue/row.go",
			Old: "s == Building || s == Readable || s == Retiring", New: "s == Readable || s == Retiring", Test: "TestCatalogueSchedules"},
		{Name: "rows that an entity records stay", File: "internal/engine/planner.go",
			Old: "			if len(c.state.before[c.by]) == 0 {\n", New: "			if true {\n", Test: "TestTableBeforeCatalogue"},

		// The leases.
		{Name: "a lease never ends", File: "internal/catalogue/catalogue.go",
			Old: "return r.lasts - now.Since(r.at)", New: "return r.lasts", Test: "TestMissingCatalogue"},
		{Name: "time counts by the wall clock alone", File: "internal/pace/pace.go",
			Old: "max(m.Wall.Sub(before.Wall), m.Monotonic.Sub(before.Monotonic))", New: "m.Wall.Sub(before.Wall)", Test: "TestClocks"},
		{Name: "time counts by the monotonic clock alone", File: "internal/pace/pace.go",
			Old: "max(m.Wall.Sub(before.Wall), m.Monotonic.Sub(before.Monotonic))", New: "m.Monotonic.Sub(before.Monotonic)", Test: "TestClocks"},
		{Name: "a request is sent when the lease is over", File: "internal/engine/send.go",
			Old: "		if w.stale() || w.lateLease() != nil {\n", New: "		if w.stale() {\n", Test: "TestSuspendedWriter"},
		{Name: "a signed request is sent when the lease is over", File: "internal/wire/probe.go",
			Old: "	if p.ends != nil && p.ends.Left() <= 0 {\n", New: "	if false {\n", Test: "TestSuspendedWriter"},
		{Name: "a write is planned again under the old lease", File: "internal/engine/guard.go",
			Old: "	w.leases = w.leases[:0]\n", New: "	if len(w.leases) > 0 {\n		return nil\n	}\n", Test: "TestSuspendedWriter"},
		{Name: "an answer that is late counts", File: "internal/engine/guard.go",
			Old: "		if err := send(); err != nil || lease.Left() > 0 {\n", New: "		if err := send(); err != nil || lease.Left() > -1<<62 {\n", Test: "TestLateAnswer"},
		{Name: "each write reads the catalogue", File: "internal/catalogue/catalogue.go",
			Old: "	case left < part:\n", New: "	case true:\n", Test: "TestCatalogueOnceAMinute"},
		{Name: "nothing is read ahead", File: "internal/catalogue/catalogue.go",
			Old: "		c.begin(ctx) // ahead: nothing waits for it\n", New: "", Test: "TestCatalogueOnceAMinute"},
		{Name: "an older reading takes the place of a newer one", File: "internal/catalogue/catalogue.go",
			Old: "old != nil && old.at.Monotonic.After(r.at.Monotonic) || ", New: "", Test: "TestOlderReading"},

		// Look-ups.
		{Name: "an index that is not filled is looked up", File: "internal/catalogue/guard.go",
			Old: "	switch d.State {\n	case Readable:\n", New: "	if d.State == Unfilled {\n		return nil\n	}\n	switch d.State {\n	case Readable:\n", Test: "TestRelease$"},
		{Name: "an index that is being filled is looked up", File: "internal/catalogue/guard.go",
			Old: "	switch d.State {\n	case Readable:\n", New: "	if d.State == Building {\n		return nil\n	}\n	switch d.State {\n	case Readable:\n", Test: "TestInterruptedFill"},
		{Name: "an index that is being retired is looked up", File: "internal/catalogue/guard.go",
			Old: "	switch d.State {\n	case Readable:\n", New: "	switch d.State {\n	case Readable, Retiring:\n", Test: "TestLateAnswer"},

		// Fill and Retire.
		{Name: "Fill does not wait", File: "fill.go",
			Old: "	return catalogue.Wait(ctx, pause)\n", New: "	return nil\n", Test: "TestCatalogueSchedules/release"},
		{Name: "Fill waits for less than a lease", File: "internal/catalogue/change.go",
			Old: "* 3 / 2\n", New: "/ 2\n", Test: "TestCatalogueSchedules/release"},
		{Name: "a definition is readable whatever became of it", File: "internal/catalogue/change.go",
			Old: "			case d == nil || d.ID != was.ID:\n", New: "			case d == nil:\n", Test: "TestOvertaken"},
		{Name: "Ensure makes definitions of a table with rows readable", File: "internal/catalogue/change.go",
			Old: "		if empty {\n", New: "		if empty || true {\n", Test: "TestMissingCatalogue"},
		{Name: "Ensure makes new definitions readable", File: "internal/catalogue/change.go",
			Old: "			return c.withDeclared(row, Unfilled)\n", New: "			return c.withDeclared(row, Readable)\n", Test: "TestRelease$"},
		{Name: "Retire does not wait before it lets others write", File: "fill.go",
			Old: "	case catalogue.Retiring:\n		if err := r.wait(ctx); err != nil {\n			return err\n		}\n", New: "	case catalogue.Retiring:\n", Test: "TestCatalogueSchedules/roll-back"},
		{Name: "Retire does not wait before it sweeps", File: "fill.go",
			Old: "	if err := r.wait(ctx); err != nil {\n		return err\n	}\n	w := ", New: "	w := ", Test: "TestCatalogueSchedules/roll-back"},
		{Name: "Retire leaves rows of entities", File: "sweep.go",
			Old: "		skipped, err := sweepOnce(ctx, t, w)\n", New: "		skipped, err := 0, error(nil)\n", Test: "TestRelease$|TestCatalogueSchedules/roll-back"},
		{Name: "Retire leaves rows that no entity records", File: "sweep.go",
			Old: "		return sweepRows(ctx, t, m, w)\n", New: "		return nil\n", Test: "TestRetireKinds"},
		{Name: "Fill ends although a value is taken", File: "fill.go",
			Old: "r.Failed > 0 || r.Faults[verify.DuplicateValue] > 0", New: "r.Failed > 0", Test: "TestFillDuplicates"},
		{Name: "a dry run fills", File: "fill.go",
			Old: "	if f.opt.DryRun {\n		t.building = all\n		return nil\n	}\n", New: "", Test: "TestFillDuplicates"},
		{Name: "Retire deletes rows whatever became of the definition", File: "internal/catalogue/change.go",
			Old: "r.row.find(was.Scope, was.Name).ID != was.ID {", New: "false {", Test: "TestLateRetire"},
		{Name: "a token passes over faults", File: "fill.go",
			Old: "		if !unrepaired(r) && r.Unconfirmed == 0 && r.Token != \"\" {\n", New: "		if r.Token != \"\" {\n", Test: "TestTokenOfFaults"},
		{Name: "each refusal hides the catalogue", File: "internal/catalogue/catalogue.go",
			Old: "re.ErrorCode == \"AuthorizationPermissionMismatch\" && c.lasts.Load() == 0", New: "re.StatusCode == 403", Test: "TestRefusedRead"},
		{Name: "another name of a type escapes the catalogue", File: "internal/catalogue/row.go",
			Old: "	return t.reaches(other.From) && other.reaches(t.From)\n", New: "	return false\n", Test: "TestTypeNames"},
		{Name: "types with names of their own mind each other", File: "internal/catalogue/row.go",
			Old: "	if t.Name != \"\" && other.Name != \"\" && t.Name != other.Name {\n", New: "	if false {\n", Test: "TestTypeNames"},
		{Name: "a write in doubt is not read back when its lease ends", File: "internal/engine/send.go",
			Old: "			if w.sent.doubt == nil {\n				return w.unsent()\n			}\n			break\n", New: "			if w.sent.doubt == nil {\n				return w.unsent()\n			}\n			return outcome{kind: wire.Unknown, failed: -1, err: w.sent.doubt}\n", Test: "TestDoubtNearTheEnd"},
		{Name: "a definition that is attached is looked for in the catalogue", File: "internal/catalogue/guard.go",
			Old: "	if _, own := g.form(definition); !own {\n", New: "	if _, own := g.form(definition); !own && false {\n", Test: "TestAttachToStore"},
		{Name: "the work of a day fails without a catalogue to read", File: "fill.go",
			Old: "	if catalogue.IsHidden(err) || errors.Is(err, table.ErrNotRecorded) {\n", New: "	if errors.Is(err, table.ErrNotRecorded) {\n", Test: "TestRangedDaily"},
		{Name: "a program of a later version is trusted", File: "internal/catalogue/row.go",
			Old: "	if r.Version > version {\n", New: "	if false {\n", Test: "TestDamagedCatalogue"},
	})
}
