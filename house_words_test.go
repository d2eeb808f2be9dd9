package aztablekit_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tourLimit is the most words of a package's tour, without its code and its terms: what a newcomer reads in three minutes.
const tourLimit = 400

// TestTours: each public package has a tour that can be read at one sitting, and the pages that tours and the README name exist.
func TestTours(t *testing.T) {
	t.Parallel()
	code, page := regexp.MustCompile(`(?m)^//\t.*$`), regexp.MustCompile(`docs/[a-z]+\.md`)
	texts := map[string]string{"README.md": read(t, "README.md")}
	for name := range arrows {
		if name == "" || strings.Contains("/"+name, "/internal/") || name == "integration" || name == "patterns" {
			continue
		}
		file := name + "/doc.go"
		texts[file], _, _ = strings.Cut(read(t, file), "\npackage ")
		tour, _, _ := strings.Cut(texts[file], "\n// # Terms\n")
		words := strings.Fields(strings.ReplaceAll("\n"+code.ReplaceAllString(tour, ""), "\n//", "\n"))
		if len(words) > tourLimit {
			t.Errorf("%s has %d words, more than %d", file, len(words), tourLimit)
		}
	}
	named := map[string]bool{}
	for file, text := range texts {
		for _, p := range page.FindAllString(text, -1) {
			named[p] = true
			if _, err := os.Stat(p); err != nil {
				t.Errorf("%s names %s: %v", file, p, err)
			}
		}
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		if !named[p] {
			t.Errorf("neither the README nor a tour names %s", p)
		}
	}
}

// goneWords are words that readers stumbled over, with the words to use.
var goneWords = []struct{ word, use string }{
	{`rivals?`, "concurrent writer: it is no contest"},
	{`whoever`, "a noun: the process, the caller"},
	{`somebody else('s)?`, "foreign, or a concurrent writer"},
	{`by chance`, "random"},
	{`put right`, "repaired"},
	{`(given|gives?|goes|go) back`, "returned to the queue"},
	{`past the ETag`, "unconditional"},
	{`(lacks|lists|finds|counts) nobody`, "say what the result is"},
	{`carried out|carr(y|ies) (it )?out`, "executed, or applied"},
	{`repl(y|ies)`, "response"},
	{`what is (promised|not)`, "guarantees, not guaranteed: no clause as a subject"},
}

// TestGoneWords: the README, the pages of docs and the tours do not say these words.
func TestGoneWords(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, "README.md", "doc.go")
	for name := range arrows {
		if _, err := os.Stat(name + "/doc.go"); name != "" && err == nil {
			files = append(files, name+"/doc.go")
		}
	}
	slices.Sort(files)
	for _, file := range files {
		text := read(t, file)
		for _, gone := range goneWords {
			for _, found := range regexp.MustCompile(`(?i)\b(`+gone.word+`)\b`).FindAllString(text, -1) {
				t.Errorf("%s says %q; use: %s", file, found, gone.use)
			}
		}
	}
}
