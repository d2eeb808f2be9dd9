package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

var update = flag.Bool("update", false, "write the output of the catalogue to testdata/catalogue.txt")

// TestMain also runs the child processes of recipes: they are processes of the test program.
func TestMain(m *testing.M) {
	if child, err := catalogue.RunAsChild(context.Background(), connect); child {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

var duration = regexp.MustCompile(`in [0-9.]+ s\n`)

// run runs the program and returns its output.
func run(t testing.TB, args ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := command(context.Background(), args, &out); err != nil {
		t.Fatalf("patterns %s: got error %v", strings.Join(args, " "), err)
	}
	return out.Bytes()
}

// golden contains the output of the catalogue.
const golden = "testdata/catalogue.txt"

// TestCatalogue compares the output of all recipes, with their requests, with testdata/catalogue.txt.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	began := time.Now()
	got := duration.ReplaceAll(run(t), []byte("in … s\n"))
	if time.Now().UTC().Day() != began.UTC().Day() { // a program notes a partition with commit records once a day
		got = duration.ReplaceAll(run(t), []byte("in … s\n"))
	}
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	gotLines, wantLines := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		g, w := "(end)", "(end)"
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if g != w {
			t.Fatalf("line %d: got\n%s\nwant\n%s\nRun the test with -update and read the difference of %s.", i+1, g, w, golden)
		}
	}
}

// TestAlone runs the program without other programs and without a network except for the loopback interface.
func TestAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compiles and links the program")
	}
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "patterns")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: got error %v\n%s", err, out)
	}
	const closed = "http://127.0.0.1:1"
	cmd := exec.Command(program)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=", "HTTP_PROXY=" + closed, "HTTPS_PROXY=" + closed, "http_proxy=" + closed, "https_proxy=" + closed, "TMPDIR=" + dir}
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("recipes run on memory: %d,", len(catalogue)); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("got error %v, and output without %q:\n%s", err, want, out)
	}
	t.Logf("%d recipes in %v", len(catalogue), time.Since(start).Round(10*time.Millisecond))
}

// onMemory is what the program prints with -json of a run on the service in memory, for several tests.
var onMemory = sync.OnceValues(func() ([]byte, error) {
	var out bytes.Buffer
	err := command(context.Background(), []string{"-json"}, &out)
	return out.Bytes(), err
})

// reportsOn returns the reports of all recipes on a service.
func reportsOn(t *testing.T, on string) (reports []recipe.Report) {
	t.Helper()
	out, err := onMemory()
	if on != "memory" {
		out = run(t, "-json", "-on", on)
	}
	if err = errors.Join(err, json.Unmarshal(out, &reports)); err != nil {
		t.Fatal(err)
	}
	return reports
}

// TestOnAzurite: each step of each recipe makes the same requests on the emulator Azurite as in memory.
func TestOnAzurite(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts Azurite, which needs Node.js")
	}
	t.Parallel()
	requests := func(on string) (all []string) {
		for _, r := range reportsOn(t, on) {
			for _, s := range r.Steps {
				all = append(all, fmt.Sprintf("%s, %s: %v", r.Name, s.What, s.Requests))
			}
		}
		return all
	}
	memory, azurite := requests("memory"), requests("azurite")
	if len(memory) < 2*len(catalogue) || !slices.Equal(memory, azurite) {
		t.Errorf("got on Azurite:\n%s\nwant as in memory:\n%s", strings.Join(azurite, "\n"), strings.Join(memory, "\n"))
	}
}

// TestOnAdverse: each recipe ends, and its answers and rows are the same, on a service that throttles, shortens pages and is late.
func TestOnAdverse(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs all recipes where requests are late")
	}
	steps := func(on string) (all []string) {
		for _, r := range reportsOn(t, on) {
			for _, s := range r.Steps {
				answers := slices.DeleteFunc(s.Answers, func(a string) bool { return strings.Contains(a, "requests") })
				all = append(all, fmt.Sprintf("%s, %s: %q, %d rows", r.Name, s.What, answers, len(s.Rows)))
			}
		}
		return all
	}
	memory, adverse := steps("memory"), steps("adverse")
	for i, want := range memory {
		if i >= len(adverse) || adverse[i] != want {
			t.Fatalf("got on the adverse service:\n%s\nwant as in memory:\n%s", strings.Join(adverse[min(i, len(adverse)):], "\n"), want)
		}
	}
}

// TestJSON: with -json, the output contains the same steps, classes, rows and requests as the text.
func TestJSON(t *testing.T) {
	t.Parallel()
	out := run(t, "run", "point-query", "-json", "optimistic")
	var got []recipe.Report
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Name != "point-query" || got[1].Name != "optimistic" {
		t.Fatalf("got %s, want the reports of point-query and optimistic", out)
	}
	steps := got[0].Steps
	if n := steps[0].Requests[requests.Insert]; n != 4 {
		t.Errorf("step %q: got %d inserts, want 4", steps[0].What, n)
	}
	if n := len(steps[1].Rows); n != 4 {
		t.Errorf("step %q: got %d rows, want 4", steps[1].What, n)
	}
	if class := steps[2].Class; class != "point query" {
		t.Errorf("step %q: got class %q, want %q", steps[2].What, class, "point query")
	}
}

// TestGuide: recipes have different names, titles of one line, and a problem, and show all requirements of the guide that have a
// package.
func TestGuide(t *testing.T) {
	t.Parallel()
	var names, shown []string
	for _, r := range catalogue {
		if slices.Contains(names, r.Name) || len(r.Guide) == 0 || r.Problem == "" {
			t.Errorf("got recipe %+v, want a name of its own, requirements and a problem", r.Head())
		}
		if len(r.Title) > 63 {
			t.Errorf("recipe %s: the title has %d characters; the list has room for 63", r.Name, len(r.Title))
		}
		names, shown = append(names, r.Name), append(shown, r.Guide...)
		if !slices.ContainsFunc(consistencies, func(c struct{ word, meaning string }) bool { return c.word == r.Consistency }) {
			t.Errorf("recipe %s: got consistency %q, want one that the table explains", r.Name, r.Consistency)
		}
		for _, other := range r.Related {
			if _, err := catalogue.Find(other); err != nil || other == r.Name {
				t.Errorf("recipe %s: got related recipe %q, want another recipe", r.Name, other)
			}
		}
		if len(r.Related) == 0 || len(r.Measured) == 0 {
			t.Errorf("recipe %s: got related recipes %q and measured steps %q, want some", r.Name, r.Related, r.Measured)
		}
	}
	known := []string{"G01", "G02", "G03", "G04", "G05", "G06", "G07", "G08", "G09", "G10", "G11", "G12", "G13", "G14", "G20", "G21", "G22", "G23", "G24", "G25", "G26", "G27", "G28", "G29", "G30", "G31", "G32", "G33", "G40", "G41", "G42", "G43", "G44", "G45", "G46", "G47", "G48", "G49"}
	for _, r := range catalogue {
		for _, g := range r.Guide {
			if !slices.Contains(known, g) && !slices.Equal(r.Guide, []string{recipe.Beyond}) {
				t.Errorf("recipe %s: got requirement %q; want some of the guide's, or %q alone", r.Name, g, recipe.Beyond)
			}
		}
	}
	for _, g := range known {
		if !slices.Contains(shown, g) {
			t.Errorf("no recipe shows requirement %s", g)
		}
	}
	if out := run(t, "list"); bytes.Count(out, []byte("\n")) != len(catalogue) {
		t.Errorf("list: got %d lines, want %d:\n%s", bytes.Count(out, []byte("\n")), len(catalogue), out)
	}
}

// TestWrongArguments: wrong arguments fail before anything is printed or run.
func TestWrongArguments(t *testing.T) {
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "")
	for _, c := range []struct{ args, want string }{
		{"nonsense", "unknown command"}, {"run", "unknown command"}, {"list more", "unknown command"}, {"run nonsense", `"nonsense"`},
		{"-on mars", "-on mars"}, {"-on env", "AZURE_STORAGE_CONNECTION_STRING"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out bytes.Buffer
			err := command(context.Background(), strings.Fields(c.args), &out)
			if err == nil || !strings.Contains(err.Error(), c.want) || out.Len() > 0 {
				t.Errorf("got error %v and output %q, want an error that contains %q and no output", err, out.Bytes(), c.want)
			}
		})
	}
}

// TestHelp: the command help prints the commands and flags, and a wrong name gets the close ones.
func TestHelp(t *testing.T) {
	t.Parallel()
	if out := string(run(t, "help")); !strings.Contains(out, "copy NAME DIR") || !strings.Contains(out, "-html") {
		t.Errorf("got help without commands or flags:\n%s", out)
	}
	for name, want := range map[string]string{
		"pointquery":   "; similar to it: point-query;",
		"point-qeury":  "; similar to it: point-query;",
		"photos":       "; similar to it: large-entity;",
		"Lead":         "; similar to it: leader;",
		"archive-by-q": "; similar to it: archive-by-query;",
		"log-":         "; similar to it: log-tail, log-data-in-blobs;",
		"nonsense":     `"nonsense"; the command list`,
		"x":            `"x"; the command list`,
	} {
		err := command(t.Context(), []string{"run", name}, &strings.Builder{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v; want one that contains %q", name, err, want)
		}
	}
}

// TestOnEnv runs a recipe on the account of the environment. No table is left.
func TestOnEnv(t *testing.T) {
	server, _ := onEnv(t)
	out := run(t, "-on", "env", "run", "range-query")
	if want := "recipes run on env: 1,"; !bytes.Contains(out, []byte(want)) {
		t.Fatalf("got output without %q:\n%s", want, out)
	}
	if left := server.TableNames(); len(left) != 0 {
		t.Errorf("got tables %q, want none", left)
	}
	if server.Count().Total() == 0 {
		t.Error("got no requests, want those of the recipe")
	}
}

// onEnv starts a service in memory at a port, and makes it the account of the environment.
func onEnv(t *testing.T) (*storagetest.Service, *account.Account) {
	t.Helper()
	server := storagetest.New(nil)
	cs, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", cs)
	acc, err := account.FromConnectionString(cs, nil)
	if err != nil {
		t.Fatal(err)
	}
	return server, acc
}
