package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// prepositions are no names of unexported methods, which have verbs or nouns.
var prepositions = []string{"about", "after", "and", "as", "at", "before", "behind", "between", "beside", "by", "for", "from", "in", "into", "of", "on", "or", "over", "to", "under", "until", "with", "within", "without"}

// ownedWords are words with one meaning, and the packages that may declare names with them; see docs/glossary.md.
var ownedWords = []struct {
	word   *regexp.Regexp
	owners []string
}{
	{regexp.MustCompile(`(^p|P)lan(s|ned|ner|ning)?([A-Z]|$)`), []string{"extend", "internal/door", "internal/engine"}},
	{regexp.MustCompile(`(^c|C)odecs?([A-Z]|$)`), []string{"internal/edm", "internal/query", "table", "tools/bench"}},
	{regexp.MustCompile(`(^s|S)hapes?([A-Z]|$)`), []string{"internal/edm", "internal/engine", "tools/bench"}},
}

// TestNames: unexported methods are not named by a preposition alone, and words of the glossary stay with the packages that own them.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := 0
	for name := range arrows {
		for _, path := range glob(t, filepath.Join(name, "*.go")) {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			inTest := regexp.MustCompile(`_test\.go$`).MatchString(path)
			check := func(id *ast.Ident) {
				for _, owned := range ownedWords {
					if !inTest && owned.word.MatchString(id.Name) && !slices.Contains(owned.owners, name) {
						t.Errorf("%s: %s has a word that belongs to %v", fset.Position(id.Pos()), id.Name, owned.owners)
					}
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					seen++
					if n.Recv != nil && slices.Contains(prepositions, n.Name.Name) {
						t.Errorf("%s: the method %s is named by a preposition, want a verb or a noun", fset.Position(n.Pos()), n.Name.Name)
					}
					check(n.Name)
				case *ast.TypeSpec:
					check(n.Name)
				case *ast.StructType:
					for _, field := range n.Fields.List {
						for _, id := range field.Names {
							check(id)
						}
					}
				}
				return true
			})
		}
	}
	if seen < 1000 {
		t.Errorf("got %d functions, want at least 1000", seen)
	}
}
