package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// TestLinks: the relative links of the README, the changelog and the pages in docs lead to files that exist, and to headings that
// exist.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages := append(glob(t, "*.md"), glob(t, "docs/*.md")...)
	found := 0
	for _, page := range pages {
		for _, link := range relativeLinks(read(t, page)) {
			found++
			path, fragment, hasFragment := strings.Cut(link, "#")
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: link %q: got %v, want a file", page, link, err)
				continue
			}
			if !hasFragment {
				continue
			}
			if filepath.Ext(target) != ".md" {
				t.Errorf("%s: link %q: got a fragment of %s, want one of a page", page, link, target)
			} else if all := headings(read(t, target)); !slices.Contains(all, fragment) {
				t.Errorf("%s: link %q: got fragment %q, want one of %q", page, link, fragment, all)
			}
		}
	}
	if found == 0 {
		t.Errorf("got no relative link in %q, want some", pages)
	}
}

// TestLinksAreFound: a Markdown page has these links and headings.
func TestLinksAreFound(t *testing.T) {
	t.Parallel()
	const page = "# One: the `first`\n[a](a.md) and [b](../b.md#c-d \"title\"), [web](https://example.com/x.md), `[no](no.md)`\n" +
		"```text\n# no\n[no](no.md)\n```\n## Two – three\n## Two – three\n[ref]: c.md\n![picture](p.png)\n[below](#two--three)\n"
	if got, want := relativeLinks(page), []string{"a.md", "../b.md#c-d", "p.png", "#two--three", "c.md"}; !slices.Equal(got, want) {
		t.Errorf("links: got %q, want %q", got, want)
	}
	if got, want := headings(page), []string{"one-the-first", "two--three", "two--three-1"}; !slices.Equal(got, want) {
		t.Errorf("headings: got %q, want %q", got, want)
	}
}

// TestGlossary: docs/glossary.md contains each name of package reserved, and its terms are in alphabetical order.
func TestGlossary(t *testing.T) {
	t.Parallel()
	const page = "docs/glossary.md"
	text := strings.ReplaceAll(read(t, page), `\|`, "|") // a | in a table
	for name, value := range stringConstants(t, "internal/reserved/reserved.go") {
		want := "`" + value + "`"
		if r := []rune(value); len(r) == 1 && !unicode.IsGraphic(r[0]) || value == "\u00a0" {
			want = fmt.Sprintf("U+%04X", r[0])
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: got no %s, want it for reserved.%s", page, want, name)
		}
	}
	var terms []string
	for _, m := range regexp.MustCompile(`(?m)^\| \*\*(.+?)\*\*`).FindAllStringSubmatch(text, -1) {
		terms = append(terms, strings.ToLower(m[1]))
	}
	if !slices.IsSorted(terms) || len(terms) == 0 {
		sorted := slices.Sorted(slices.Values(terms))
		for i := range terms {
			if terms[i] != sorted[i] {
				t.Fatalf("%s: got term %q, want %q in alphabetical order", page, terms[i], sorted[i])
			}
		}
		t.Errorf("%s: got no terms, want some", page)
	}
	if unique := slices.Compact(slices.Clone(terms)); len(unique) != len(terms) {
		t.Errorf("%s: got a term twice, want each once: %q", page, terms)
	}
}

// TestNamedTests: a test that a page names exists, with its package, such as index.TestMoveEveryFault, or in any package. So does a
// variant that docs/protocols.md quotes from package model.
func TestNamedTests(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{} // of each directory, and of all under "": their names
	for dir := range arrows {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(read(t, file), -1) {
				tests[dir] = append(tests[dir], m[1])
				tests[""] = append(tests[""], m[1])
			}
		}
	}
	found := 0
	for _, page := range glob(t, "docs/*.md") {
		for _, m := range regexp.MustCompile("`(?:([a-z]+(?:/[a-z]+)*)\\.)?(Test[A-Z]\\w*)`").FindAllStringSubmatch(read(t, page), -1) {
			if found++; !slices.Contains(tests[m[1]], m[2]) {
				t.Errorf("%s names %s: got no such test in directory %q", page, m[0], m[1])
			}
		}
	}
	if found == 0 {
		t.Error("got no named test, want some in docs/protocols.md")
	}
	var models strings.Builder
	for _, file := range glob(t, "tools/model/*_test.go") {
		models.WriteString(read(t, file))
	}
	quoted := 0
	for _, m := range regexp.MustCompile(`(?m)^\| \*(.+?)\* \|`).FindAllStringSubmatch(read(t, "docs/protocols.md"), -1) {
		if quoted++; !strings.Contains(models.String(), strconv.Quote(m[1])) {
			t.Errorf("docs/protocols.md quotes %q: got no such variant in tools/model", m[1])
		}
	}
	if quoted == 0 {
		t.Error("got no quoted variant, want some in docs/protocols.md")
	}
}

// TestFloors: docs/design.md has a floor for each package that programs import, and a package imports only packages below its own
// floor.
func TestFloors(t *testing.T) {
	t.Parallel()
	floors := map[string]int{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \| (.+?) \|`).FindAllStringSubmatch(read(t, "docs/design.md"), -1) {
		floor, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			floors[name[1]] = floor
		}
	}
	for name, floor := range floors {
		imports, ok := arrows[name]
		if !ok {
			t.Errorf("docs/design.md: got floor %d for %q, want a package of arrows", floor, name)
		}
		for _, i := range imports {
			if below, ok := floors[i]; ok && below >= floor {
				t.Errorf("docs/design.md: got floor %d for %s, which imports %s of floor %d; want a lower one", floor, name, i, below)
			}
		}
	}
	for name := range arrows {
		outside := name == "" || isTool(name) || strings.Contains(name, "internal/") || strings.HasPrefix(name, "storagetest") || slices.Contains(programs, name)
		if _, ok := floors[name]; !ok && !outside {
			t.Errorf("docs/design.md: got no floor for package %s, want one", name)
		}
	}
}

// stringConstants returns the constants of a file whose values are string literals, by name.
func stringConstants(t testing.TB, file string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is {
			return true
		}
		for i, value := range spec.Values {
			if lit, is := value.(*ast.BasicLit); is && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				all[spec.Names[i].Name] = text
			}
		}
		return true
	})
	if len(all) == 0 {
		t.Fatalf("%s: got no constants, want some", file)
	}
	return all
}

var (
	fencedCode  = regexp.MustCompile("(?ms)^```.*?^```[ \t]*$")
	inlineCode  = regexp.MustCompile("`[^`\n]+`")
	inlineLink  = regexp.MustCompile(`\]\(([^)\s]+)[^)]*\)`)
	linkTarget  = regexp.MustCompile(`(?m)^\[[^\]]+\]:\s*(\S+)`)
	headingLine = regexp.MustCompile(`(?m)^#+ +(.+?) *#*$`)
)

// relativeLinks returns the targets of a Markdown page's links that are no web addresses.
func relativeLinks(page string) (links []string) {
	page = inlineCode.ReplaceAllString(fencedCode.ReplaceAllString(page, ""), "")
	for _, m := range append(inlineLink.FindAllStringSubmatch(page, -1), linkTarget.FindAllStringSubmatch(page, -1)...) {
		if link := m[1]; !strings.Contains(link, "://") && !strings.HasPrefix(link, "mailto:") {
			links = append(links, link)
		}
	}
	return links
}

// headings returns the fragments that lead to the headings of a Markdown page: lower case, spaces as hyphens, without punctuation,
// and with a number if an earlier heading has the same.
func headings(page string) (fragments []string) {
	seen := map[string]int{}
	for _, m := range headingLine.FindAllStringSubmatch(fencedCode.ReplaceAllString(page, ""), -1) {
		fragment := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		if n := seen[fragment]; n > 0 {
			fragments = append(fragments, fmt.Sprintf("%s-%d", fragment, n))
		} else {
			fragments = append(fragments, fragment)
		}
		seen[fragment]++
	}
	return fragments
}

// TestObservability: the code of docs/observability.md is that of programs and examples.
func TestObservability(t *testing.T) {
	t.Parallel()
	const page = "docs/observability.md"
	flat := func(text string) string { return regexp.MustCompile(`(?m)^\t+`).ReplaceAllString(text, "") }
	var code strings.Builder
	for _, file := range []string{"patterns/opentelemetry/setup.go", "example_test.go", "eventual/example_test.go", "requests/example_test.go"} {
		code.WriteString(flat(read(t, file)))
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, page), -1)
	for _, block := range blocks {
		if !strings.Contains(code.String(), flat(block[1])) {
			t.Errorf("%s: got code that is in no example:\n%s", page, block[1])
		}
	}
	if len(blocks) == 0 {
		t.Errorf("%s: got no code, want some", page)
	}
}
