package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what the catalogue prints to testdata/catalogue.txt")

// TestMain: the recipes' second halves run in processes of this program too.
func TestMain(m *testing.M) {
	if was, err := other(context.Background()); was {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

var took = regexp.MustCompile(`in [0-9.]+ s\n`)

// run is the program with its output.
func run(t *testing.T, args ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := command(context.Background(), args, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestCatalogue compares what is printed, requests and all, with what is kept.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	got := took.ReplaceAll(run(t), []byte("in … s\n"))
	const golden = "testdata/catalogue.txt"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the catalogue prints something else; run the test with -update and look at the difference:\n%s", got)
	}
}

// TestAlone: the program needs nothing but itself, no other program and no network but the loopback interface.
func TestAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "patterns")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const closed = "http://127.0.0.1:1"
	cmd := exec.Command(program)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=", "HTTP_PROXY=" + closed, "HTTPS_PROXY=" + closed, "http_proxy=" + closed, "https_proxy=" + closed, "TMPDIR=" + dir}
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("recipes run on memory: %d,", len(catalogue))) {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%d recipes in %v", len(catalogue), time.Since(start).Round(10*time.Millisecond))
}

// TestOnAzurite: every recipe takes the same requests there.
func TestOnAzurite(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts Azurite, which needs Node.js")
	}
	t.Parallel()
	requests := func(on string) (all []string) {
		var reports []report
		if err := json.Unmarshal(run(t, "-json", "-on", on), &reports); err != nil {
			t.Fatal(err)
		}
		for _, r := range reports {
			for _, s := range r.Steps {
				all = append(all, fmt.Sprintf("%s, %s: %v", r.Name, s.What, s.Requests))
			}
		}
		return all
	}
	memory, azurite := requests("memory"), requests("azurite")
	if len(memory) < 2*len(catalogue) || !slices.Equal(memory, azurite) {
		t.Errorf("in memory:\n%s\non Azurite:\n%s", strings.Join(memory, "\n"), strings.Join(azurite, "\n"))
	}
}

// TestJSON: what programs get says the same as what people get.
func TestJSON(t *testing.T) {
	t.Parallel()
	out := run(t, "run", "point-query", "-json", "optimistic")
	var got []report
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Name != "point-query" || got[1].Name != "optimistic" || got[0].Steps[0].Requests["insert"] != 4 || got[0].Steps[2].Class != "point query" || len(got[0].Steps[1].Rows) != 4 {
		t.Errorf("%s", out)
	}
}

// TestGuide: names are unique, and the requirements of the guide that are due are shown.
func TestGuide(t *testing.T) {
	t.Parallel()
	var names, shown []string
	for _, r := range catalogue {
		if slices.Contains(names, r.name) || len(r.guide) == 0 || r.problem == "" {
			t.Errorf("%+v", r.head())
		}
		names, shown = append(names, r.name), append(shown, r.guide...)
	}
	for _, g := range []string{"G01", "G02", "G03", "G04", "G05", "G06", "G07", "G08", "G09", "G10", "G13", "G20", "G22", "G23", "G24", "G25", "G40", "G41", "G42", "G43", "G44", "G45", "G46", "G47", "G48", "G49"} {
		if !slices.Contains(shown, g) {
			t.Errorf("no recipe shows %s", g)
		}
	}
	var out bytes.Buffer
	if err := command(context.Background(), []string{"list"}, &out); err != nil || strings.Count(out.String(), "\n") != len(catalogue) {
		t.Errorf("%v\n%s", err, out.Bytes())
	}
}

func TestWrongWords(t *testing.T) {
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "")
	for _, args := range [][]string{{"nonsense"}, {"run"}, {"run", "nonsense"}, {"list", "more"}, {"-on", "mars"}, {"poison"}, {"poison", "list"}, {"poison", "bury", "q"}, {"poison", "replay", "q"}, {"-on", "env"}} {
		var out bytes.Buffer
		if err := command(context.Background(), args, &out); err == nil || out.Len() > 0 {
			t.Errorf("%q: %v, %s", args, err, out.Bytes())
		}
	}
}

// TestRecipesCanBeCopied: a recipe imports nothing that its copy could not.
func TestRecipesCanBeCopied(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), "recipe_") {
			continue
		}
		n++
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte("/internal/")) {
			t.Errorf("%s imports an internal package", f.Name())
		}
	}
	if n != len(catalogue) {
		t.Errorf("%d files for %d recipes", n, len(catalogue))
	}
}

// TestOnEnv runs a recipe on the account of the environment, and leaves no table there.
func TestOnEnv(t *testing.T) {
	ctx := context.Background()
	server, _ := onEnv(t)
	var out bytes.Buffer
	if err := command(ctx, []string{"-on", "env", "run", "range-query"}, &out); err != nil || !strings.Contains(out.String(), "recipes run on env: 1,") {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	if left := server.Tables(); len(left) != 0 || server.Count() == "none" {
		t.Errorf("%q are left", left)
	}
}
