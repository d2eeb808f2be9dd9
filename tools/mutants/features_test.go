package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestFeatures plants bugs in what all features of a table have in common.
func TestFeatures(t *testing.T) {
	mutants.Run(t, "./internal/engine", []mutants.Mutant{
		{Name: "a read shows what is absent", File: "internal/engine/ends.go",
			Old: "		case v == absent:\n			r.Release()\n			return nil, in, readResult{gone: errAbsent}, nil", New: "", Test: "TestFeature"},
		{Name: "a read of an entity with parts shows what is absent", File: "internal/engine/ends.go",
			Old: "		return errAbsent, false, nil", New: "		return nil, false, nil", Test: "TestFeature"},
		{Name: "a list shows what is absent", File: "internal/engine/delivery.go",
			Old: "		if d.passesOver(row.Entity, v) {", New: "		if d.passesOver(row.Entity, v) && false {", Test: "TestFeature"},
		{Name: "a list of entities with parts shows what is absent", File: "internal/engine/delivery.go",
			Old: "	case d.passesOver(in, v):\n", New: "	case d.passesOver(in, v) && false:\n", Test: "TestFeature"},
		{Name: "a merge does not change what a feature has in the row", File: "internal/engine/op.go",
			Old: "(!merge || k.changes())", New: "!merge", Test: "TestFeature"},
		{Name: "what a feature has in the row is not kept", File: "internal/engine/feature.go",
			Old: "	return r.Property(name)", New: "	_, err = r.Property(name)\n	return v, err", Test: "TestFeature"},
		{Name: "what a feature adds is not sent", File: "internal/engine/feature.go",
			Old: "slices.Concat(steps, added)", New: "steps", Test: "TestFeature"},
	})
}
