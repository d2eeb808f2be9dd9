package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestStoredForms plants bugs in what reads the columns of other programs.
func TestStoredForms(t *testing.T) {
	mutants.Run(t, "./internal/edm", []mutants.Mutant{
		{Name: "a number with leading zeros is read", File: "internal/edm/text.go",
			Old: "err == nil && strconv.FormatInt(n, 10) == text", New: "err == nil", Test: "TestTextForms"},
		{Name: "a time with a comma is read", File: "internal/edm/text.go",
			Old: " && text[19] != ','", New: "", Test: "TestTextForms"},
		{Name: "an hour of one digit is read", File: "internal/edm/text.go",
			Old: " && text[13] == ':'", New: "", Test: "TestTextForms"},
		{Name: "the empty text is a value", File: "internal/edm/decode.go",
			Old: "return s.plain != nil && x.Kind == String && x.S == \"\"", New: "return false && x.S == \"\"", Test: "TestTextForms"},
		{Name: "empty bytes are no value", File: "internal/edm/decode.go",
			Old: " && s.plain.kind != Binary", New: "", Test: "TestTextForms"},
		{Name: "a Double is cut to a whole number", File: "internal/edm/text.go",
			Old: "	n, ok := x.Whole()\n", New: "	n, ok := int64(x.F), true\n", Test: "TestTextForms"},
		{Name: "a number beyond 2^53 is rounded", File: "internal/edm/text.go",
			Old: "x.I < -maxWhole || x.I > maxWhole {", New: "x.I > maxWhole {", Test: "TestTextWrites"},
		{Name: "a stored number keeps its type where the option names one", File: "internal/edm/decode.go",
			Old: "p.fields[t.field].scalar.declared || ", New: "", Test: "TestTextWrites"},
		{Name: "Ne of a boolean is Eq", File: "internal/edm/text.go",
			Old: "x.I = 1 - x.I", New: "_ = x", Test: "TestTextCondition"},
		{Name: "a large number is compared as a Double", File: "internal/edm/text.go",
			Old: "x.I >= -maxWhole && x.I <= maxWhole:", New: "x.I >= -maxWhole:", Test: "TestTextCondition"},
		{Name: "numbers are ordered as texts", File: "internal/edm/text.go",
			Old: "case op != \"eq\" && op != \"ne\":", New: "case false:", Test: "TestTextOrder"},
		{Name: "a time is compared by one of its texts", File: "internal/edm/text.go",
			Old: "case x.Kind == DateTime:\n		return refuse", New: "case false:\n		return refuse", Test: "TestTextOrder"},
	})
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "a handle with maintainers writes a row with an empty RowKey", File: "table/op.go",
			Old: "if len(h.engine.Mode.Maintainers) > 0 || h.engine.Mode.Parts > 0 {", New: "if h.engine.Mode.Parts > 0 {", Test: "TestEmptyRowKeyMaintained"},
		{Name: "an empty RowKey hides a partition of the library", File: "table/codec.go",
			Old: "if h.writeErr(k) == nil && !h.engine.Mode.LibraryRows {", New: "if k.Err() == nil && !h.engine.Mode.LibraryRows {", Test: "TestEmptyRowKey"},
		{Name: "an upgrade leaves rows that have changed", File: "table/upgrade.go",
			Old: "			changed = append(changed, i)\n", New: "", Test: "TestUpgradeBesideOldProgram"},
		{Name: "an upgrade writes what has become new", File: "table/upgrade.go",
			Old: "if err == nil && e.fields().upgraded {", New: "if err == nil {", Test: "TestUpgradeBesideOldProgram"},
		{Name: "an upgrade ends at a row that is deleted", File: "table/upgrade.go",
			Old: " || errors.Is(err, ErrNotFound)\n", New: "\n", Test: "TestUpgradeBesideOldProgram"},
		{Name: "merged rows are upgraded from the newest version", File: "table/codec.go",
			Old: "v, e.merged = older, true", New: "v, e.merged = s.version, older == 0", Test: "TestUpgradeBesideOldProgram"},
		{Name: "the token is ahead of the writes", File: "table/upgrade.go",
			Old: "		if err := u.replace(ctx, older); err != nil {", New: "		u.done.Token = next\n		if err := u.replace(ctx, older); err != nil {", Test: "TestUpgradeResumes"},
		{Name: "a dry run upgrades", File: "table/upgrade.go",
			Old: "	if u.pass.DryRun {\n		return nil\n	}\n", New: "", Test: "TestUpgrade$"},
	})
	mutants.Run(t, ".", []mutants.Mutant{
		{Name: "a table of the service is written", File: "internal/engine/op.go",
			Old: "cmp.Or(op.Table.Fault, op.Table.readOnly())", New: "op.Table.Fault", Test: "TestSystemTable"},
		{Name: "a table of the service is created", File: "internal/engine/table.go",
			Old: "cmp.Or(t.Fault, t.readOnly(), ctx.Err())", New: "cmp.Or(t.Fault, ctx.Err())", Test: "TestSystemTable"},
		{Name: "a table of the service has an index", File: "table.go",
			Old: "return wire.IsNil(of) || of.Name() != settingsName", New: "return wire.IsNil(of)", Test: "TestSystemTable"},
	})
	mutants.Run(t, "./logtail", []mutants.Mutant{
		{Name: "digits behind the ticks are a suffix", File: "logtail/log.go",
			Old: "unicode.IsDigit(separator) || unicode.IsLetter(separator)", New: "unicode.IsLetter(separator)", Test: "TestTicksWithSuffix"},
		{Name: "a range ends before some suffixes", File: "logtail/log.go",
			Old: "return keys.RawRows(first, fmt.Sprintf(\"%0*d\", tickDigits, ticks.Max-older))", New: "_ = older\n	return keys.RawRows(first, k.String()+\"~\")", Test: "TestTicksWithSuffix"},
	})
}
