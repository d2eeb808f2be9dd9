package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/azurite"
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

// TestCatalogue runs every recipe on Azurite and compares what is printed, requests and all, with what is kept.
func TestCatalogue(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts Azurite, which needs Node.js")
	}
	t.Parallel()
	var out bytes.Buffer
	if err := command(context.Background(), nil, &out); err != nil {
		t.Fatal(err)
	}
	got := took.ReplaceAll(out.Bytes(), []byte("in … s\n"))
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

// TestJSON: what programs get says the same as what people get.
func TestJSON(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts Azurite, which needs Node.js")
	}
	t.Parallel()
	var out bytes.Buffer
	if err := command(context.Background(), []string{"run", "point-query", "-json", "optimistic"}, &out); err != nil {
		t.Fatal(err)
	}
	var got []report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Name != "point-query" || got[1].Name != "optimistic" || got[0].Steps[0].Requests["insert"] != 4 || got[0].Steps[2].Class != "point query" || len(got[0].Steps[1].Rows) != 4 {
		t.Errorf("%s", out.Bytes())
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
	for _, g := range []string{"G01", "G02", "G03", "G04", "G05", "G06", "G07", "G08", "G09", "G13", "G25", "G40", "G41", "G42", "G43", "G44", "G45", "G46", "G47", "G48", "G49"} {
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
	for _, args := range [][]string{{"nonsense"}, {"run"}, {"run", "nonsense"}, {"list", "more"}, {"-on", "mars"}, {"-on", "env"}} {
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
	if testing.Short() {
		t.Skip("-short: starts Azurite, which needs Node.js")
	}
	ctx := context.Background()
	server, err := azurite.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", server.ConnectionString)
	var out bytes.Buffer
	if err := command(ctx, []string{"-on", "env", "run", "range-query"}, &out); err != nil || !strings.Contains(out.String(), "recipes run on env: 1,") {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	acc, err := account.FromConnectionString(server.ConnectionString, nil)
	if err != nil {
		t.Fatal(err)
	}
	page, err := acc.Tables().NewListTablesPager(nil).NextPage(ctx)
	if err != nil || len(page.Tables) != 0 {
		t.Errorf("%d tables are left, %v", len(page.Tables), err)
	}
}
