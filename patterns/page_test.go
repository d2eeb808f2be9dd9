package main

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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
	for _, r := range catalogue {
		files := shownCode(r)
		if !slices.Contains(ids, r.name) || len(files) == 0 {
			t.Errorf("recipe %s: got no section, or no code", r.name)
		}
		for _, file := range files {
			if !strings.Contains(html.UnescapeString(page), file.Code) {
				t.Errorf("recipe %s: got no section with %s", r.name, file.Path)
			}
		}
	}
	if n := expectLinks(t, page); n < 3*len(catalogue) {
		t.Errorf("got %d links, want some for each recipe", n)
	}
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Log("Chromium is not installed, so the page was not shown")
		return
	}
	for _, width := range []int{360, 1200} {
		showPage(t, page, width)
	}
}

// TestPageOfSome: a page of one recipe has no links to the others.
func TestPageOfSome(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "patterns.html")
	run(t, "-html", file, "run", pointQuery.name)
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

// frame shows the page with a width, and stores in its own title what a reader sees.
const frame = `<!DOCTYPE html><iframe id="page" src="/page" style="width: %dpx; height: 700px; border: 0"></iframe><script>
document.getElementById("page").onload = event => {
	const page = event.target.contentDocument;
	const arrows = [...page.querySelectorAll(".arrow")].map(a => a.getBoundingClientRect());
	page.querySelectorAll("details").forEach(d => d.open = true);
	document.title = JSON.stringify({
		Width: page.documentElement.scrollWidth,
		Arrows: arrows.length,
		Outside: arrows.filter(a => a.width < 10 || a.right > page.documentElement.clientWidth).length,
		Code: [...page.querySelectorAll("pre")].filter(p => p.getBoundingClientRect().height > 100).length,
	});
};
</script>`

// showPage shows the page in Chromium: it is not wider than its window, and its arrows and its code are visible.
func showPage(t *testing.T, page string, width int) {
	t.Helper()
	mux := http.NewServeMux()
	write := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, text)
		}
	}
	mux.HandleFunc("/", write(fmt.Sprintf(frame, width)))
	mux.HandleFunc("/page", write(page))
	server := httptest.NewServer(mux)
	defer server.Close()
	cmd := exec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(), "--window-size=1300,900", "--dump-dom", server.URL)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: got error %v", err)
	}
	var got struct{ Width, Arrows, Outside, Code int }
	title := matches(`<title>(.*)</title>`, string(out))
	if len(title) != 1 {
		t.Fatalf("got a document without a title:\n%.1000s", out)
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(title[0])), &got); err != nil {
		t.Fatal(err)
	}
	if got.Width > width || got.Arrows < 100 || got.Outside > 0 || got.Code != len(catalogue) {
		t.Errorf("width %d: got %+v, want a page that is not wider, some arrows, none of them outside, and the code of %d recipes", width, got, len(catalogue))
	}
}
