package main

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/patterns/pointquery"
)

// TestPage: the page contains each recipe with its code, its links lead to places in the page, and it needs no other file.
func TestPage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "patterns.html")
	run(t, "-html", file)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	ids := matches(`id="([^"]+)"`, page)
	blocks := 0
	for _, r := range catalogue {
		files := shownCode(r)
		blocks += len(files)
		if !slices.Contains(ids, r.Name) || len(files) == 0 {
			t.Errorf("recipe %s: got no section, or no code", r.Name)
		}
		for _, file := range files {
			if !strings.Contains(html.UnescapeString(page), file.Code) {
				t.Errorf("recipe %s: got no section with %s", r.Name, file.Path)
			}
		}
	}
	if n := expectLinks(t, page); n < 3*len(catalogue) {
		t.Errorf("got %d links, want some for each recipe", n)
	}
	if n := strings.Count(page, "<pre><code>"); n != blocks {
		t.Errorf("got %d blocks of code; want the %d files of the recipes", n, blocks)
	}
	if n := strings.Count(page, `class="arrow"`); n < 100 {
		t.Errorf("got %d arrows of requests; want some for each recipe", n)
	}
}

// TestPageOfSome: a page of one recipe has no links to the others.
func TestPageOfSome(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "patterns.html")
	run(t, "-html", file, "run", pointquery.Recipe.Name)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := expectLinks(t, string(b)); n == 0 {
		t.Error("got no links, want those to the recipe")
	}
}

// expectLinks fails unless all links of a page lead to places in the page, and returns their number.
func expectLinks(t *testing.T, page string) int {
	t.Helper()
	ids, links := matches(`id="([^"]+)"`, page), matches(`(?:href|src)="([^"]*)"`, page)
	for _, link := range links {
		if id, ok := strings.CutPrefix(link, "#"); !ok || !slices.Contains(ids, id) {
			t.Errorf("got link %q, want one to a place in the page", link)
		}
	}
	return len(links)
}

// matches returns the first group of each match.
func matches(pattern, s string) (all []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(s, -1) {
		all = append(all, m[1])
	}
	return all
}
