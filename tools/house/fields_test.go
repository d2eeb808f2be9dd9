package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"testing"
)

// mostFields are the budgets of the structs that run through all of the engine. A feature has a
// group of its own there, whose fields do not count.
var mostFields = map[string]int{"Mode": 8, "Op": 16, "write": 20}

// TestFields: these structs have exactly as many fields as their budgets say.
func TestFields(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	for _, file := range glob(t, "internal/engine/*.go") {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, is := n.(*ast.TypeSpec)
			if !is {
				return true
			}
			if of, is := spec.Type.(*ast.StructType); is && mostFields[spec.Name.Name] > 0 {
				counts[spec.Name.Name] = of.Fields.NumFields()
			}
			return true
		})
	}
	if !maps.Equal(counts, mostFields) {
		t.Errorf("got so many fields: %v; want %v", counts, mostFields)
	}
}
