package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestMaintain: a bug in what maintainers rest on is found.
func TestMaintain(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "a stale entity is accepted at any version", File: "internal/engine/planner.go",
			Old: "\tcase !s.replannable && s.Match != f.row.ETag:\n", New: "\tcase false && s.Match != f.row.ETag:\n", Test: "TestStaleVersions"},
		{Name: "empty maintainer state looks like lost maintainer state", File: "internal/engine/op.go",
			Old: "s.stored && (merge || maintained) || s.isNew && maintained {\n", New: "s.stored && (merge || maintained) {\n", Test: "TestEmptyState"},
		{Name: "lost maintainer state looks like empty maintainer state", File: "internal/engine/op.go",
			Old: "s.stored && (merge || maintained) || s.isNew && maintained {\n", New: "s.stored && merge || maintained {\n", Test: "TestEmptyState"},
	})
}

// TestState: a bug in the text of maintainer state is found.
func TestState(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./internal/stored", []mutants.Mutant{
		{Name: "the checksum of maintainer state is not checked", File: "internal/stored/state.go",
			Old: "[3]byte(b[1:]) != stateChecksum(text, rowKey)", New: "string(b) == rowKey", Test: "TestMaintainerStateText"},
		{Name: "an escaped character of packed state gets no 8 bits", File: "internal/stored/state.go",
			Old: "		if code == c.of[packEscape] {\n", New: "		if code == c.of[packEscape] && character != 0 {\n", Test: "TestPackForm"},
		{Name: "separators in maintainer state are not escaped", File: "internal/stored/state.go",
			Old: "		if strings.IndexByte(stateSigns, s[i]) >= 0 {\n", New: "		if false {\n", Test: "FuzzMaintainerState"},
	})
}
