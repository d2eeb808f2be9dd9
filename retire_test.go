package aztablekit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// editDefinition changes the definition "name" in the catalogue, as another program would; nil
// deletes it.
func editDefinition(t *testing.T, s *storagetest.Service, edit func(map[string]any)) {
	t.Helper()
	var row map[string]any
	if err := json.Unmarshal([]byte(rawCatalogue(t, s)), &row); err != nil {
		t.Fatal(err)
	}
	var left []any
	for _, d := range row["definitions"].([]any) {
		d := d.(map[string]any)
		switch {
		case d["name"] != "name":
			left = append(left, d)
		case edit != nil:
			edit(d)
			left = append(left, d)
		}
	}
	row["definitions"] = left
	text, _ := json.Marshal(row)
	setCatalogue(t, s, fmt.Sprintf(`,"Definitions":%q`, text))
}

// TestFillNamesTheRest: Fill fills what it can, and then returns an error for each definition of
// the program that it could not make readable. A dry run does so, too. A program that must not
// write changes nothing.
func TestFillNamesTheRest(t *testing.T) {
	t.Parallel()
	state := func(s string) func(map[string]any) { return func(d map[string]any) { d["state"] = s } }
	for name, c := range map[string]struct {
		edit func(map[string]any)
		want error
		says string
	}{
		"unfilled":                   {state("unfilled"), nil, ""},
		"building":                   {state("building"), nil, ""},
		"readable":                   {state("readable"), nil, ""},
		"retiring":                   {state("retiring"), table.ErrNotReadable, "Store.Retire"},
		"retired":                    {state("retired"), table.ErrNotReadable, "Store.Retire"},
		"not named":                  {nil, table.ErrNotRecorded, "Store.Ensure"},
		"unfilled, and another form": {func(d map[string]any) { d["state"], d["form"] = "unfilled", "other" }, table.ErrNotRecorded, "Store.Ensure"},
		"building, and another form": {func(d map[string]any) { d["state"], d["form"] = "building", "other" }, table.ErrNotDeclared, "Store.Retire"},
		"readable, and another form": {func(d map[string]any) { d["state"], d["form"] = "readable", "other" }, table.ErrNotDeclared, "Store.Retire"},
		"retired, and another form":  {func(d map[string]any) { d["state"], d["form"] = "retired", "other" }, table.ErrNotDeclared, "Store.Retire"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := storagetest.New(nil)
				older(t, service).ensure()
				r := newer(t, service)
				r.ensure()
				editDefinition(t, service, c.edit)
				for what, o := range map[string]*aztablekit.FillOptions{"a dry run": {Pass: table.Pass{DryRun: true}}, "Fill": nil} {
					_, err := r.store.Fill(t.Context(), o)
					r.expect(what, err, c.want)
					var wrong *errs.CatalogueError
					if err != nil && (!errors.As(err, &wrong) || wrong.Definition != "name" || !strings.Contains(err.Error(), c.says)) {
						t.Errorf("%s: got error %v; want one that names the definition and %s", what, err, c.says)
					}
				}
				mayWrite := r.insert(1) == nil
				_, err := r.byEmail.Get(t.Context(), r.staff, numbered(1).Email)
				if mayWrite != (err == nil) {
					t.Errorf("got a program that may write: %v, and error %v of a look-up by the other definition; want both or neither", mayWrite, err)
				}
			})
		})
	}
}

// TestFillAfterKilledRetire: what a Retire that was killed has left behind is named by Fill, and
// the way out that its error names helps.
func TestFillAfterKilledRetire(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{50 * time.Second, 150 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := storagetest.New(nil)
				r := newer(t, service)
				r.ensure()
				r.expect("a write", r.insert(1), nil)
				ctx, kill := context.WithTimeout(t.Context(), after)
				defer kill()
				r.expect("Retire", r.store.Retire(ctx, "staff", "name", nil), context.DeadlineExceeded)
				_, err := r.store.Fill(t.Context(), nil)
				r.expect("Fill", err, table.ErrNotReadable)
				r.retire("name")
				r.fill()
				r.expect("a look-up", r.find(1), nil)
			})
		})
	}
}

// TestOptionsOfRetire: Retire refuses each field of a pass that it does not use, by name, before it
// sends anything. So does Fill with options that cannot be used together.
func TestOptionsOfRetire(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // Retire with valid options waits longer
	defer cancel()
	some := dept.Of("Sales").Point()
	service := storagetest.New(nil)
	r := newer(t, service)
	r.ensure()
	r.expect("a write", r.insert(1), nil)
	was := fmt.Sprint(service.Rows("staff"))
	service.Count()
	for field, pass := range map[string]*table.Pass{
		"Partitions": {Partitions: some}, "DryRun": {DryRun: true}, "Concurrency": {Concurrency: 2},
		"Skip": {Skip: func(keys.Key, error) bool { return true }},
	} {
		var wrong *table.ValueError
		if err := r.store.Retire(ctx, "staff", "name", pass); !errors.As(err, &wrong) || wrong.Field != "Pass."+field {
			t.Errorf("Retire with %s: got error %v; want a *ValueError that names it", field, err)
		}
	}
	for field, o := range map[string]*aztablekit.FillOptions{
		"Partitions": {Pass: table.Pass{Partitions: some}}, "DryRun": {Pass: table.Pass{DryRun: true}, Workers: true}, "Token": {Pass: table.Pass{Token: "x"}, Workers: true},
		"Concurrency": {Pass: table.Pass{Concurrency: 2}, Workers: true}, "Table": {Table: "other"},
	} {
		var wrong *table.ValueError
		if _, err := r.store.Fill(ctx, o); !errors.As(err, &wrong) || wrong.Field != "FillOptions."+field {
			t.Errorf("Fill with %s: got error %v; want a *ValueError that names it", field, err)
		}
	}
	if n := service.Count().Total(); n != 0 {
		t.Errorf("got %d requests; want none", n)
	}
	if got := fmt.Sprint(service.Rows("staff")); got != was {
		t.Errorf("got rows\n%s\nwant\n%s", got, was)
	}
}
