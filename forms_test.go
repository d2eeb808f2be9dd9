package aztablekit_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// quiet does without the work of each day.
func quiet(acc aztablekit.Account) *aztablekit.Store {
	return aztablekit.Open(acc, "company", &aztablekit.Options{Daily: -1})
}

type definition = aztablekit.Definition[employee]

// form is one declaration of the table staff, made in a store.
type form func(s *aztablekit.Store)

// formOf declares one definition.
func formOf(d func() definition) form {
	return func(s *aztablekit.Store) { aztablekit.Table(s, "staff", dept, empid, d()) }
}

// indexed declares an index x with a layout.
func indexed[K any](layout keys.Layout[K]) form {
	return formOf(func() definition {
		return index.New("x", layout, func(*employee) (k K, in bool) { return k, false }, nil)
	})
}

type twoParts struct {
	A int
	B string
}

type threeParts struct {
	A, B int
	C    string
}

// indexForms are declarations of definitions named x: each differs from each other one in what
// makes its rows.
func indexForms() map[string]form {
	lower := func(s string) string { return strings.ToLower(s) }
	ab := func(k *twoParts) (*int, *string) { return &k.A, &k.B }
	ba := func(k *twoParts) (*string, *int) { return &k.B, &k.A }
	abc := func(k *threeParts) (*int, *int, *string) { return &k.A, &k.B, &k.C }
	name := func(e *employee) (string, bool) { return e.Name, false }
	names := func(e *employee) []string { return nil }
	there := func(*employee) keys.PartitionKey { return keys.RawPartition("there") }
	ofNames := func(o *index.Options) func() definition {
		return func() definition { return index.New("x", keys.Text(), name, o) }
	}
	salary := index.Measure[employee]{Name: "Salary", Of: func(e *employee) (int64, bool) { return e.Salary, true }}
	all := map[string]form{
		"text":           indexed(keys.Text()),
		"text named":     indexed(keys.Text().Named("y")),
		"ordered":        indexed(keys.Ordered()),
		"folded":         indexed(keys.Fold(keys.Text())),
		"folded ordered": indexed(keys.Fold(keys.Ordered())),
		"spread":         indexed(keys.Spread(keys.Text(), 16)),
		"spread more":    indexed(keys.Spread(keys.Text(), 32)),
		"enum":           indexed(keys.Enum("a", "b")),
		"mapped":         indexed(keys.Map(keys.Text(), lower, func(s string) (string, error) { return s, nil })),
		"digits":         indexed(keys.Digits[int](6)),
		"more digits":    indexed(keys.Digits[int](7)),
		"inverted":       indexed(keys.Desc(keys.Digits[int](6))),
		"signed":         indexed(keys.Int[int](6)),
		"float":          indexed(keys.Float[float64]()),
		"bool":           indexed(keys.Bool()),
		"time":           indexed(keys.Time()),
		"newest":         indexed(keys.Desc(keys.Time())),
		"date":           indexed(keys.Date()),
		"last date":      indexed(keys.Desc(keys.Date())),
		"uuid":           indexed(keys.UUID[[16]byte]()),
		"bytes":          indexed(keys.Bytes()),
		"two":            indexed(keys.Row2(keys.Digits[int](6), keys.Text(), ab)),
		"two, inverted":  indexed(keys.Row2(keys.Desc(keys.Digits[int](6)), keys.Text(), ab)),
		"two, named":     indexed(keys.Row2(keys.Digits[int](6).Named("y"), keys.Text(), ab)),
		"two, swapped":   indexed(keys.Row2(keys.Text(), keys.Digits[int](6), ba)),
		"three":          indexed(keys.Row3(keys.Digits[int](6), keys.Digits[int](6), keys.Text(), abc)),

		"unique":    formOf(ofNames(&index.Options{Unique: true})),
		"reserved":  formOf(ofNames(&index.Options{Reserved: true})),
		"details A": formOf(func() definition { return details("A") }),
		"details B": formOf(func() definition { return details("B") }),
		"in":        formOf(func() definition { return index.NewGlobal("x", keys.Text(), name, nil).In(there) }),
		"in, unique": formOf(func() definition {
			return index.NewUnique("x", keys.Text(), name, nil).In(there)
		}),
		"multi, ordered, named": formOf(func() definition {
			return index.NewMulti("x", keys.Ordered().Named("y"), 3, names, nil)
		}),
	}
	for what, in := range map[string]string{"": "", ", in table": "others"} {
		all["global"+what] = formOf(func() definition {
			return index.NewGlobal("x", keys.Text(), name, &index.GlobalOptions{Table: in})
		})
		all["unique everywhere"+what] = formOf(func() definition {
			return index.NewUnique("x", keys.Text(), name, &index.UniqueOptions{Table: in})
		})
		all["global pointers"+what] = formOf(func() definition {
			return index.NewGlobal("x", keys.Text(), name, &index.GlobalOptions{Table: in}).Only()
		})
	}
	for what, reserved := range map[string]bool{"": false, ", reserved": true} {
		all["lists"+what] = formOf(func() definition {
			return index.NewLists("x", keys.Text(), name, &index.ListOptions{Reserved: reserved})
		})
		all["summary"+what] = formOf(func() definition {
			return index.NewSummary("x", keys.Text(), name, &index.SummaryOptions{Reserved: reserved}, salary)
		})
	}
	return all
}

func details(prefix string) *index.Details[employee] {
	of := func(*employee) (keys.RowKey, bool) { return keys.RawRow("department"), false }
	return index.NewDetails("x", prefix, of, table.FieldOf(func(e *employee) *string { return &e.Name }))
}

// viewForms are declarations of a view x.
func viewForms() map[string]form {
	all := map[string]form{}
	for what, o := range map[string]struct {
		to  string
		row keys.AnyRow[badge]
	}{
		"view": {to: "badges", row: badgeNo}, "elsewhere": {to: "others", row: badgeNo},
		"wider": {to: "badges", row: keys.Row(keys.Digits[int](5).Named("badge"), func(b *badge) *int { return &b.Number })},
	} {
		all[what] = func(s *aztablekit.Store) {
			to := aztablekit.Table(s, o.to, badgeDept, o.row)
			derive := func(*employee, keys.Key) (badge, bool) { return badge{}, false }
			aztablekit.Table(s, "staff", dept, empid, materialized.New("x", to, derive))
		}
	}
	return all
}

// typeForms are declarations of the keys of employees.
func typeForms() map[string]form {
	ofDept := func(e *employee) *string { return &e.Department }
	ofID := func(e *employee) *int { return &e.ID }
	ofName := func(e *employee) *string { return &e.Name }
	named := func(name string) *aztablekit.Settings[employee] {
		return &aztablekit.Settings[employee]{Schema: table.Schema[employee]{Type: name}}
	}
	all := map[string]form{
		"named": func(s *aztablekit.Store) {
			aztablekit.Table(s, "staff", dept, keys.Row(keys.Digits[int](6), ofID), named("a"))
		},
		"other name": func(s *aztablekit.Store) {
			aztablekit.Table(s, "staff", dept, keys.Row(keys.Digits[int](6), ofID), named("b"))
		},
		"named, wide": func(s *aztablekit.Store) {
			aztablekit.Table(s, "staff", dept, keys.Row(keys.Digits[int](7), ofID), named("a"))
		},
	}
	for what, row := range map[string]keys.AnyRow[employee]{
		"digits": empid, "more digits": keys.Row(keys.Digits[int](7).Named("empid"), ofID), "signed": keys.Row(keys.Int[int](6).Named("empid"), ofID),
		"inverted": keys.Row(keys.Desc(keys.Digits[int](6)).Named("empid"), ofID), "another name": keys.Row(keys.Digits[int](6).Named("emp"), ofID),
		"by name": keys.Row(keys.Text(), ofName), "ordered": keys.Row(keys.Ordered(), ofName), "raw": keys.RawRowOf(ofName),
		"one": keys.OneRow[employee]("one"), "another one": keys.OneRow[employee]("two"),
		"two":    keys.Row2(keys.Digits[int](6).Named("empid"), keys.Text(), func(e *employee) (*int, *string) { return &e.ID, &e.Name }),
		"folded": keys.RowFunc(keys.Fold(keys.Text()), func(e *employee) string { return e.Name }),
	} {
		all["row "+what] = func(s *aztablekit.Store) { aztablekit.Table(s, "staff", dept, row) }
	}
	for what, partition := range map[string]keys.AnyPartition[employee]{
		"ordered": keys.Partition(keys.Ordered(), ofDept), "named": keys.Partition(keys.Text().Named("dept"), ofDept), "raw": keys.RawPartitionOf(ofDept),
		"one": keys.OnePartition[employee]("all"), "another one": keys.OnePartition[employee]("every"),
		"spread":      keys.PartitionFunc(keys.Spread(keys.Text(), 8), func(e *employee) string { return e.Name }),
		"spread more": keys.PartitionFunc(keys.Spread(keys.Text(), 9), func(e *employee) string { return e.Name }),
	} {
		all["partition "+what] = func(s *aztablekit.Store) { aztablekit.Table(s, "staff", partition, empid) }
	}
	return all
}

// TestForms: Ensure refuses a declaration that differs in one thing from what the table has, by the
// name of the definition or the type, for each pair of declarations in both orders; and it accepts
// the same declaration again.
func TestForms(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		forms map[string]form
		want  []string // one of them is in each error
	}{
		"definitions": {indexForms(), []string{"definition x"}},
		"views":       {viewForms(), []string{"definition view.x", "type aztablekit_test.badge"}},
		"types":       {typeForms(), []string{"type aztablekit_test.employee"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			names := slices.Sorted(maps.Keys(test.forms))
			for i, first := range names {
				service := storagetest.New(nil)
				ensure := func(name string) error {
					s := quiet(service)
					test.forms[name](s)
					return s.Ensure(t.Context())
				}
				if err := errors.Join(ensure(first), ensure(first)); err != nil {
					t.Errorf("%s: got %v", first, err)
				}
				was := rawCatalogue(t, service)
				for j, other := range names {
					inOneOrder := (i < j) == ((i+j)%2 == 0) // each pair once
					if other == first || testkit.Sample(1) > 1 && !inOneOrder {
						continue
					}
					err := ensure(other)
					named := func(s string) bool { return strings.Contains(fmt.Sprint(err), s) }
					if !errors.Is(err, table.ErrNotDeclared) || !slices.ContainsFunc(test.want, named) {
						t.Errorf("%s, then %s: got %v; want ErrNotDeclared, about one of %q", first, other, err, test.want)
					}
				}
				if got := rawCatalogue(t, service); got != was {
					t.Errorf("%s: a refused declaration has changed the catalogue: got %s; want %s", first, got, was)
				}
			}
		})
	}
}

// TestFormsOfBefore: a catalogue of a release that knew layouts by the key of a sample, and no
// layouts of tables, is accepted if the sample is that of the definition, and then has the layouts.
// Another sample is refused.
func TestFormsOfBefore(t *testing.T) {
	t.Parallel()
	all := indexForms()
	for name, before := range map[string]string{
		"text":              "index, string x_a2_r",
		"unique":            "unique index, string x_a2",
		"two":               "index, struct x_000003_a4_r",
		"lists":             "lists, string x_a2",
		"summary":           "summary, string x_a2",
		"details A":         "details, A",
		"global":            "index, string x_a2_p:r, in table staffx",
		"unique everywhere": "unique index, string x_a2, in table staffx",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := storagetest.New(nil)
			ensure := func() error {
				s := quiet(service)
				all[name](s)
				return s.Ensure(t.Context())
			}
			if err := ensure(); err != nil {
				t.Fatal(err)
			}
			now := rawCatalogue(t, service)
			_, form, _ := strings.Cut(now, `"form":"`)
			form, _, _ = strings.Cut(form, `"`)
			restate(t, service, `,"partitionLayout":"text","rowLayout":"digits(6) named empid"`, "")
			restate(t, service, form, before)
			if err := ensure(); err != nil {
				t.Errorf("got %v; want nil", err)
			}
			if got := rawCatalogue(t, service); got != now {
				t.Errorf("got catalogue %s; want %s", got, now)
			}
			restate(t, service, form, before+"2")
			if err := ensure(); !errors.Is(err, table.ErrNotDeclared) {
				t.Errorf("another sample: got %v; want ErrNotDeclared", err)
			}
		})
	}
}

// TestRowsOfAnotherLayout: rows with the name of a layout that the layout cannot read end lists,
// pages and counts, and can be skipped; other rows are left out. A program with another layout of
// the keys cannot write, also if it has not called Ensure.
func TestRowsOfAnotherLayout(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	service := storagetest.New(nil)
	s := quiet(service)
	staff := aztablekit.Table(s, "staff", dept, empid)
	if err := s.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := staff.Insert(ctx, numbered(1)); err != nil {
		t.Fatal(err)
	}
	put := func(rowKey string) {
		row := `{"PartitionKey":"Sales","RowKey":"` + rowKey + `"}`
		if _, err := service.Tables().NewClient("staff").AddEntity(ctx, []byte(row), nil); err != nil {
			t.Fatal(err)
		}
	}
	var stats table.Stats
	q := table.Query[employee]{Partition: dept.Of("Sales"), Stats: &stats}
	reads := map[string]func(q table.Query[employee]) error{
		"List":  func(q table.Query[employee]) error { _, err := table.Collect(staff.List(ctx, q)); return err },
		"Page":  func(q table.Query[employee]) error { _, err := staff.Page(ctx, q, ""); return err },
		"Count": func(q table.Query[employee]) error { _, err := staff.Count(ctx, q); return err },
		"Delete": func(q table.Query[employee]) error {
			_, err := table.Collect(tabledoor.DeleteOps(ctx, staff, q))
			return err
		},
	}
	put("other_1")
	for what, read := range reads {
		if err := read(q); err != nil || stats.Foreign != 0 {
			t.Errorf("%s beside a row of no layout: got %v, %+v; want nil", what, err, stats)
		}
	}
	put("empid_0000002") // 7 digits
	for what, read := range reads {
		var wrong *keys.KeyError
		if err := read(q); !errors.As(err, &wrong) {
			t.Errorf("%s: got %v; want a *KeyError", what, err)
		}
		skipping := q
		skipping.Skip = func(k keys.Key, _ error) bool { return k.RowKey() == "empid_0000002" }
		if err := read(skipping); err != nil || stats.Skipped != 1 {
			t.Errorf("%s with Skip: got %v, %+v; want nil, and 1 skipped", what, err, stats)
		}
	}
	wider := quiet(service)
	wide := keys.Row(keys.Digits[int](7).Named("empid"), func(e *employee) *int { return &e.ID })
	other := aztablekit.Table(wider, "staff", dept, wide)
	if _, err := other.Insert(ctx, numbered(1)); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("an insert by another layout: got %v; want ErrNotDeclared", err)
	}
}
