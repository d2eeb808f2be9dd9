package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestComments: each exported name of the public packages has a comment, except methods that only implement an interface of Go, and so
// has each option. The comment of a function or method of any package begins with its name.
func TestComments(t *testing.T) {
	t.Parallel()
	seen := 0
	for name := range arrows {
		public := isPublic(name)
		for _, path := range glob(t, filepath.Join(name, "*.go")) {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			check := func(n ast.Node, name string, comments ...*ast.CommentGroup) {
				seen++
				if !slices.ContainsFunc(comments, func(g *ast.CommentGroup) bool { return g.Text() != "" }) {
					t.Errorf("%s: %s has no comment", fset.Position(n.Pos()), name)
				}
			}
			for _, d := range file.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if text := d.Doc.Text(); text != "" && d.Name.Name != "init" && !strings.HasPrefix(text, d.Name.Name+" ") {
						t.Errorf("%s: the comment of %s begins %.30q, want its name", fset.Position(d.Pos()), d.Name.Name, text)
					}
					if !public || !d.Name.IsExported() || !hasExportedReceiver(d) || namesInternal(file, d.Type) || d.Name.Name == "Error" || d.Name.Name == "Unwrap" {
						continue
					}
					check(d, d.Name.Name, d.Doc)
				case *ast.GenDecl:
					if !public {
						continue
					}
					for _, spec := range d.Specs {
						switch spec := spec.(type) {
						case *ast.ValueSpec:
							for _, id := range spec.Names {
								if id.IsExported() {
									check(id, id.Name, d.Doc, spec.Doc, spec.Comment)
								}
							}
						case *ast.TypeSpec:
							if spec.Name.IsExported() {
								check(spec, spec.Name.Name, d.Doc, spec.Doc)
								checkOptions(spec, check)
							}
						}
					}
				}
			}
		}
	}
	if seen < 500 {
		t.Errorf("got %d exported names, want those of all packages", seen)
	}
}

// checkOptions checks the comments of the fields of a type that contains options.
func checkOptions(spec *ast.TypeSpec, check func(ast.Node, string, ...*ast.CommentGroup)) {
	fields, is := spec.Type.(*ast.StructType)
	if !is || !strings.HasSuffix(spec.Name.Name, "Options") && spec.Name.Name != "Common" && spec.Name.Name != "Schema" {
		return
	}
	var above *ast.CommentGroup // a comment may describe several options
	for _, f := range fields.Fields.List {
		if f.Doc != nil {
			above = f.Doc
		}
		for _, id := range f.Names {
			if id.IsExported() && !strings.Contains(above.Text(), id.Name) {
				check(id, spec.Name.Name+"."+id.Name, f.Doc, f.Comment)
			}
		}
	}
}

// TestErrorsAndRequests: a sentence that lists errors or requests has at most 40 words. A longer one is a list, with an item a line.
func TestErrorsAndRequests(t *testing.T) {
	t.Parallel()
	seen := 0
	for name := range arrows {
		for _, path := range glob(t, filepath.Join(name, "*.go")) {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range file.Comments {
				for _, sentence := range sentencesOf(c.Text()) {
					if !strings.HasPrefix(sentence, "Errors") && !strings.HasPrefix(sentence, "Requests") {
						continue
					}
					seen++
					if n := len(strings.Fields(sentence)); n > 40 {
						t.Errorf("%s: a sentence of %d words, want at most 40, or a list: %s", fset.Position(c.Pos()), n, sentence)
					}
				}
			}
		}
	}
	if seen < 300 {
		t.Errorf("got %d sentences of errors and requests, want those of all packages", seen)
	}
}

// sentencesOf returns the sentences of a comment outside lists and code.
func sentencesOf(comment string) (all []string) {
	for paragraph := range strings.SplitSeq(comment, "\n\n") {
		var text []string
		for line := range strings.Lines(paragraph) {
			if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
				break // a list, or code
			}
			text = append(text, line)
		}
		begin := 0
		words := strings.Fields(strings.Join(text, " "))
		for i, word := range words {
			if strings.HasSuffix(word, ".") || i == len(words)-1 {
				all = append(all, strings.Join(words[begin:i+1], " "))
				begin = i + 1
			}
		}
	}
	return all
}
