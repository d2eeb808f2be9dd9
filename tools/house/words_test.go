package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tourLimit is the largest number of words in a package's tour, without its code and its terms: what a new user reads in three
// minutes.
const tourLimit = 400

// TestTours: each public package has a short tour, the pages that tours, the README and the root's documentation name exist, and the
// contents of docs name each page.
func TestTours(t *testing.T) {
	t.Parallel()
	code, page := regexp.MustCompile(`(?m)^//\t.*$`), regexp.MustCompile(`docs/[a-z]+\.md`)
	texts := map[string]string{"README.md": read(t, "README.md"), "doc.go": read(t, "doc.go")}
	for name := range arrows {
		if name == "" || !isPublic(name) {
			continue
		}
		file := name + "/doc.go"
		texts[file], _, _ = strings.Cut(read(t, file), "\npackage ")
		tour, _, _ := strings.Cut(texts[file], "\n// # Terms\n")
		words := strings.Fields(strings.ReplaceAll("\n"+code.ReplaceAllString(tour, ""), "\n//", "\n"))
		if len(words) > tourLimit {
			t.Errorf("%s: got %d words, want at most %d", file, len(words), tourLimit)
		}
	}
	for file, text := range texts {
		for _, p := range page.FindAllString(text, -1) {
			if _, err := os.Stat(p); err != nil {
				t.Errorf("%s names %s: %v", file, p, err)
			}
		}
	}
	contents := read(t, "docs/README.md")
	for _, p := range glob(t, "docs/*.md") {
		if name := filepath.Base(p); name != "README.md" && !strings.Contains(contents, "("+name+")") {
			t.Errorf("docs/README.md does not name %s", p)
		}
	}
}

// beforeTheStore are words of the time when a program attached definitions to a handle. Attach is a
// method of a declaration, in capitals.
var beforeTheStore = regexp.MustCompile(`\b(attach(es|ed|ing)?|[Hh]andles? without a store|front door)\b`)

// TestWordsOfTheStore: pages, and the comments and texts of public packages, say that a table is
// declared in a store.
func TestWordsOfTheStore(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	check := func(where, text string) {
		if found := beforeTheStore.FindString(text); found != "" {
			t.Errorf("%s says %q; a table is declared with its definitions, and its handle has them", where, found)
		}
	}
	for _, page := range append(glob(t, "docs/*.md"), "README.md", "CONTRIBUTING.md", "SECURITY.md") {
		check(page, read(t, page))
	}
	for name := range arrows {
		if !isPublic(name) {
			continue
		}
		for _, file := range glob(t, filepath.Join(name, "*.go")) {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(fset, file, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, group := range parsed.Comments {
				check(fset.Position(group.Pos()).String(), group.Text())
			}
			for _, literal := range literals(parsed) {
				check(fset.Position(literal.pos).String(), literal.text)
			}
		}
	}
}

// TestCoveragePage: each function on docs/coverage.md exists, and each public package is measured
// there or named as one that is not.
func TestCoveragePage(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/coverage.md")
	head, _, _ := strings.Cut(page, "\n## ")
	for name := range arrows {
		if name != "" && isPublic(name) && !strings.Contains(head, "`"+name+"`") {
			t.Errorf("docs/coverage.md does not name package %s", name)
		}
	}
	_, sections, _ := strings.Cut(page, "\n## keys\n")
	var pkg, code string
	for line := range strings.Lines("## keys\n" + sections) {
		if title, is := strings.CutPrefix(line, "## "); is {
			pkg = strings.TrimSpace(title)
		}
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
			if strings.HasSuffix(quoted[1], ".go") {
				code = read(t, filepath.Join(pkg, quoted[1]))
				continue
			}
			receiver, method, isMethod := strings.Cut(quoted[1], ".")
			declared := `func ` + receiver + `[\[(]`
			if isMethod {
				declared = `func \((\w+ )?\*?` + receiver + `(\[[^\]]*\])?\) ` + method + `\(`
			}
			if !regexp.MustCompile(declared).MatchString(code) {
				t.Errorf("docs/coverage.md, %s: got no function %s", pkg, quoted[1])
			}
		}
	}
}

// goneWords are words that readers stumbled over, with the words to use in their place.
var goneWords = []struct{ word, use string }{
	{`rivals?`, "concurrent writer: writes are no contest"},
	{`(was|were) faster`, "a concurrent writer, a conflict"},
	{`whoever|nobody|somebody( else)?('s)?`, "a noun: the process, the caller, a concurrent writer, foreign"},
	{`by chance`, "random"},
	{`put right`, "repaired"},
	{`(given|gives?|goes|go) back`, "returned to the queue"},
	{`past the ETag`, "unconditional"},
	{`(lacks|lists|finds|counts) nobody`, "say what the result is"},
	{`carried out|carr(y|ies) (it )?out`, "executed, or applied"},
	{`repl(y|ies|ied)`, "response"},
	{`what is (promised|not)`, "guarantees, not guaranteed: no clause as a subject"},
	{`intents?`, "commit record"},
	{`hints?|announcements?|announced?`, "notification, notify"},
	{`settl(e|es|ed|ing)`, "complete an effect, finish"},
	{`(remember|forget)(s|ed|ting)?|forgotten`, "maintainer state, to store: rows have no memory"},
	{`(old|new|former|first|second|same) li(fe|ves)`, "incarnation"},
	{`rounds|(each|every|one|this|first|next|last) round`, "attempt"},
	{`tries`, "attempts, repeats"},
	{`witness(es)?`, "read-back"},
	{`guarded`, "read before blind write"},
	{`suspects?|judged?|judges|trials?|verdicts?|newcomers?|leavers?|crowds?|evict(s|ed)?`, "candidate, confirm, finding, outcome, addition, removal: no court, no crowd"},
	{`dies|died|dead`, "crashed, or gone: say of what"},
	{`tells (whether|that)`, "reports whether"},
	{`anew`, "again"},
	{`dearer|dearest`, "more expensive, most expensive"},
}

// Packages whose text TestGoneWords checks. Add a package when its text has been rewritten, and never remove one.
var (
	// cleanDocs are the packages whose comments on exported names and whose error texts are checked.
	cleanDocs = []string{}
	// cleanComments are the packages all of whose comments are checked, and their error texts.
	cleanComments = []string{"", "account", "archive", "archive/blobarchive", "eventual", "extend", "index", "internal/derived", "verify", "integration", "tools/others", "tools/peers", "tools/processes", "internal/azurite", "internal/azurite/install", "tools/bench", "internal/bare", "internal/bareworker", "internal/blobs", "internal/commit", "internal/edm", "internal/engine", "internal/options", "internal/query", "tools/model", "tools/mutants", "internal/reconcile", "internal/reserved", "tools/suites", "internal/testkit", "internal/testkit/baretest", "internal/testkit/workertest", "internal/testkit/valuestest", "internal/wire", "keys", "largeentity", "largeentity/series", "lease", "logtail", "logtail/bloblog", "materialized", "patterns", "patterns/hr", "requests", "storagetest", "storagetest/crashtest", "storagetest/internal/odata", "storagetest/internal/protocol", "storagetest/internal/blobs", "storagetest/internal/queues", "storagetest/internal/tables", "storagetest/internal/xmlform", "table", "txn"}
)

// TestGoneWords: the README, docs, the tours, the recipes and the text of packages do not contain the gone words.
func TestGoneWords(t *testing.T) {
	t.Parallel()
	words, all := make([]*regexp.Regexp, len(goneWords)), make([]string, len(goneWords))
	for i, gone := range goneWords {
		words[i], all[i] = regexp.MustCompile(`(?i)\b(`+gone.word+`)\b`), gone.word
	}
	anyWord := regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)\b`) // most texts have none
	commentSigns := regexp.MustCompile(`(?m)^\s*//|x-ms-[a-z0-9-]+`)            // and names of headers, which are not ours
	check := func(where, text string) {
		text = strings.Join(strings.Fields(commentSigns.ReplaceAllString(text, "")), " ") // a gone word may be on two lines
		if !anyWord.MatchString(text) {
			return
		}
		for i, word := range words {
			for _, at := range word.FindAllStringIndex(text, -1) {
				found := text[at[0]:at[1]]
				near := strings.ToValidUTF8(text[max(0, at[0]-40):min(len(text), at[1]+40)], "")
				t.Errorf("%s says %q in %q; use: %s", where, found, near, goneWords[i].use)
			}
		}
	}
	for _, file := range append(glob(t, "docs/*.md"), "README.md", "CHANGELOG.md") {
		check(file, read(t, file))
	}
	for name := range arrows {
		file := filepath.Join(name, "doc.go")
		if _, err := os.Stat(file); err == nil {
			check(file, read(t, file))
		}
	}
	folders := slices.Collect(maps.Keys(arrows))
	for _, main := range glob(t, "patterns/*/main/main.go") {
		folders = append(folders, strings.TrimSuffix(main, "/main/main.go"))
	}
	for _, name := range folders {
		all := slices.Contains(cleanComments, name) || recipeOf(name) != ""
		if !all && !slices.Contains(cleanDocs, name) {
			continue
		}
		for _, file := range glob(t, filepath.Join(name, "*.go")) {
			if strings.HasSuffix(file, "_test.go") && name != "tools/mutants" { // its tests contain the names of the planted bugs
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			texts := append(exportedComments(f), errorTexts(f)...)
			if all {
				texts = append(errorTexts(f), allComments(f)...)
			}
			if name == "patterns" {
				texts = append(texts, literals(f)...) // titles, problems and steps
			}
			for _, text := range texts {
				check(fset.Position(text.pos).String(), text.text)
			}
		}
	}
}

// text is a part of a file that people read.
type text struct {
	pos  token.Pos
	text string
}

// exportedComments returns the comments on the package, on its exported names, and on the exported methods and fields of its types.
func exportedComments(f *ast.File) (texts []text) {
	add := func(groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if g != nil {
				texts = append(texts, text{g.Pos(), g.Text()})
			}
		}
	}
	exported := func(names []*ast.Ident) bool {
		return len(names) == 0 || slices.ContainsFunc(names, (*ast.Ident).IsExported)
	}
	add(f.Doc)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				add(d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					if exported(spec.Names) {
						add(d.Doc, spec.Doc, spec.Comment)
					}
				case *ast.TypeSpec:
					if !spec.Name.IsExported() {
						continue
					}
					add(d.Doc, spec.Doc, spec.Comment)
					ast.Inspect(spec.Type, func(n ast.Node) bool {
						if field, is := n.(*ast.Field); is && exported(field.Names) {
							add(field.Doc, field.Comment)
						}
						return true
					})
				}
			}
		}
	}
	return texts
}

// allComments returns all comments of a file.
func allComments(f *ast.File) (texts []text) {
	for _, g := range f.Comments {
		texts = append(texts, text{g.Pos(), g.Text()})
	}
	return texts
}

// errorTexts returns the literals of a file that people read: arguments of errors.New and fmt.Errorf, and fields called Reason or
// Name.
func errorTexts(f *ast.File) (texts []text) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if s, is := n.Fun.(*ast.SelectorExpr); is && (s.Sel.Name == "Errorf" || s.Sel.Name == "New" && isIdent(s.X, "errors")) {
				texts = append(texts, literals(n)...)
			}
		case *ast.KeyValueExpr:
			if isIdent(n.Key, "Reason") || isIdent(n.Key, "Name") {
				texts = append(texts, literals(n.Value)...)
			}
		}
		return true
	})
	return texts
}

// literals returns the string literals in a part of a file.
func literals(in ast.Node) (texts []text) {
	ast.Inspect(in, func(n ast.Node) bool {
		if lit, is := n.(*ast.BasicLit); is && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				texts = append(texts, text{lit.Pos(), s})
			}
		}
		return true
	})
	return texts
}

func isIdent(e ast.Expr, name string) bool {
	id, is := e.(*ast.Ident)
	return is && id.Name == name
}

// glob returns the files that match a pattern. No file is an error.
func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("files %s: got %q, %v; want some", pattern, files, err)
	}
	return files
}
