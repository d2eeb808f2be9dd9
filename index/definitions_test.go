package index_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestDefinitionsAreChecked: the error of a wrong definition is returned by Attach, contains its name, and takes no request.
func TestDefinitionsAreChecked(t *testing.T) {
	t.Parallel()
	text := keys.Text()
	of := func(w *worker) (string, bool) { return w.Last, true }
	def := func(name string, o *index.Options) *index.Index[worker, string] {
		return index.New(name, text, of, o)
	}
	raw := table.Schema[worker]{
		Partition: schema.Partition,
		Row:       keys.RawRowOf(func(w *worker) *string { return &w.Last }),
	}
	n := 0
	for what, c := range map[string]struct {
		schema table.Schema[worker]
		defs   []extend.Definition[worker]
		name   string
		says   string
	}{
		"a name with a hyphen":            {defs: []extend.Definition[worker]{def("by-last", nil)}, name: "by-last", says: "letters and digits"},
		"no name":                         {defs: []extend.Definition[worker]{def("", nil)}, says: "is empty"},
		"the name of the rows themselves": {defs: []extend.Definition[worker]{def("w", nil)}, name: "w", says: "overlaps the range of the table"},
		"rows anywhere":                   {schema: raw, defs: []extend.Definition[worker]{def("last", nil)}, name: "last", says: "Reserved"},
		"one name twice":                  {defs: []extend.Definition[worker]{def("a", nil), def("a", nil)}, name: "a", says: "is the name of another definition"},
		"one layout twice":                {defs: []extend.Definition[worker]{index.New("a", text.Named("x"), of, nil), index.New("b", text.Named("x"), of, nil)}, name: "b", says: "overlaps the range of a:"},
		"too many rows": {defs: []extend.Definition[worker]{
			index.NewMulti("a", text, 25, func(w *worker) []string { return w.Tags }, nil), index.NewMulti("b", text, 25, func(w *worker) []string { return w.Tags }, nil),
		}, name: "b", says: "97"},
		"the rows of a list":            {defs: []extend.Definition[worker]{index.NewLists("a", text.Named("x"), of, nil), index.New("b", text.Named("x"), of, nil)}, name: "b", says: "overlaps the range of a:"},
		"the rows of a summary":         {defs: []extend.Definition[worker]{index.New("a", text.Named("x"), of, nil), index.NewSummary("b", text.Named("x"), of, nil)}, name: "b", says: "overlaps the range of a:"},
		"a broken layout":               {defs: []extend.Definition[worker]{index.New("a", keys.Digits[int](0), func(w *worker) (int, bool) { return w.Age, true }, nil)}, name: "a", says: "layout"},
		"no layout":                     {defs: []extend.Definition[worker]{index.New[worker, string]("a", nil, of, nil)}, name: "a", says: "layout is nil"},
		"no key":                        {defs: []extend.Definition[worker]{index.New[worker]("a", text, nil, nil)}, name: "a", says: "key is nil"},
		"no values":                     {defs: []extend.Definition[worker]{index.NewMulti("a", text, 0, func(w *worker) []string { return nil }, nil)}, name: "a", says: "most"},
		"no partition":                  {defs: []extend.Definition[worker]{index.NewGlobal("a", text, of, nil).In(nil)}, name: "a", says: "In is nil"},
		"no partition of unique values": {defs: []extend.Definition[worker]{index.NewUnique("a", text, of, nil).In(nil)}, name: "a", says: "In is nil"},
		"a projection without its key": {defs: []extend.Definition[worker]{def("a", nil).Only(age)},
			name: "a", says: "lacks a field that the key function uses"},
		"a field that is none": {defs: []extend.Definition[worker]{def("a", nil).Only(table.FieldOf(func(*worker) *string { return new(string) }))}, name: "a", says: "Only"},
		"a key function that is not pure": {defs: []extend.Definition[worker]{index.New("a", text, func(w *worker) (string, bool) { n++; return strings.Repeat("x", n), true }, nil)},
			name: "a", says: "is not pure"},
	} {
		t.Run(what, func(t *testing.T) {
			s := storagetest.New(nil)
			if c.schema.Row == nil {
				c.schema = schema
			}
			_, err := baretest.Attach(openAs(t, s.ConnectionString(), s, c.schema), c.defs...)
			var de *table.DefinitionError
			if !errors.As(err, &de) || de.Definition != c.name || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "staff") {
				t.Errorf("Attach: got error %v; want a *DefinitionError of %q whose text contains %q and staff", err, c.name, c.says)
			}
			testkit.Expect(t, "requests", s.Count().String(), "none")
		})
	}
	s := storagetest.New(nil)
	base := openAs(t, s.ConnectionString(), s, schema)
	if _, err := baretest.Attach(base, nil, byEmail); err == nil || !strings.Contains(err.Error(), "staff: definition is nil") {
		t.Errorf("Attach of a nil definition: got error %v; want one that contains \"staff: definition is nil\"", err)
	}
	if _, err := baretest.Attach[worker](nil, byEmail); err == nil || !strings.Contains(err.Error(), "is nil") {
		t.Errorf("Attach to a nil table: got error %v; want one that contains \"is nil\"", err)
	}
	// An index by fields of the row key, which are in every projection.
	byID := index.New("id", keys.Int[int](9), func(w *worker) (int, bool) { return -w.ID, true }, nil).Only(age)
	staff, err := baretest.Attach(base, byID)
	check(t, err)
	check(t, tabledoor.Ensure(context.Background(), staff))
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 44, nil}, worker{"S", 2, "Cao", "", 30, nil})
	testkit.Expect(t, "by a field of the key", ids(t, byID.Between(context.Background(), staff, sales, -5, 0)), []int{2, 1})
}

// TestFaultyKeys: an error of a key function is the error of the write, and the table stays as it is.
func TestFaultyKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	calls := 0
	text := keys.Ordered()
	odd := func(w *worker) (string, bool) {
		switch w.Last {
		case "panics":
			panic("no")
		case "long":
			return strings.Repeat("x", 600), true
		case "moody":
			calls++
			return strings.Repeat("x", calls), true
		case "nothing":
			return "", false
		}
		return w.Last, true
	}
	ix := index.New("odd", text, odd, &index.Options{Unique: true})
	part := index.New("part", text, func(w *worker) (string, bool) {
		if w.Age > 60 {
			return w.Email, true // which Attach does not find
		}
		return w.Last, true
	}, nil).Only(last, age)
	tags := index.NewMulti("tags", text, 2, func(w *worker) []string { return w.Tags }, nil)
	flips := 0
	plain := index.New("plain", text, func(w *worker) (string, bool) {
		flips++
		return fmt.Sprint(flips % 2), w.Last == "fickle" // keys of the same length
	}, nil)
	staff, s := newStaff(t, ix, part, tags, plain)
	var de *table.DefinitionError
	var derived *table.DerivedError
	var ke *keys.KeyError
	var limit *table.LimitError
	for _, c := range []struct {
		w  worker
		as any
	}{
		{worker{Last: "panics"}, &de}, {worker{Last: "moody"}, &de}, {worker{Last: "fickle"}, &de}, {worker{Last: "long"}, &ke},
		{worker{Last: "x", Age: 61, Email: "e"}, &de}, {worker{Last: "x", Tags: []string{"a", "b", "c"}}, &limit},
	} {
		c.w.Dept = "S"
		_, err := staff.Insert(ctx, &c.w)
		if !errors.As(err, c.as) || !errors.As(err, &derived) || derived.Maintainer == "" {
			t.Errorf("Insert of %+v: got error %v; want a %s and a *DerivedError with a Maintainer", c.w, err, fmt.Sprintf("%T", c.as)[1:])
		}
		if c.w.Last == "fickle" && (de == nil || !strings.Contains(de.Reason, "plain_1!_") || !strings.Contains(de.Reason, "plain_0!_")) {
			t.Errorf("Insert of %+v: got error %v; want an error with both keys", c.w, err)
		}
	}
	testkit.Expect(t, "requests", s.Count().String(), "none")
	insertAll(t, staff, s, worker{"S", 1, "nothing", "", 1, []string{"a", "a", "b"}})
	if _, err := ix.Get(ctx, staff, sales, strings.Repeat("x", 600)); !errors.As(err, &ke) {
		t.Errorf("Get of a value that is too long: got error %v; want a *keys.KeyError", err)
	}
	if n := len(s.Rows("staff")); n != 4 { // the entity, part, and two tags
		t.Errorf("got %d rows: %v; want 4", n, s.Rows("staff"))
	}
	// The same value for two entities, in one transaction and in two.
	_, err := table.Transact(ctx, staff.InsertOp(&worker{"S", 2, "a", "", 1, nil}), staff.InsertOp(&worker{"S", 3, "a", "", 1, nil}))
	var be *table.BatchError
	if !errors.Is(err, table.ErrTaken) || !errors.As(err, &be) || be.Index != 1 {
		t.Errorf("Transact with one value for two entities: got error %v; want ErrTaken and a *BatchError with index 1", err)
	}
	es := insertAll(t, staff, s, worker{"S", 2, "a", "", 1, nil}, worker{"S", 3, "b", "", 1, nil})
	if err := staff.Merge(ctx, es[1], last.Set("a")); !errors.Is(err, table.ErrTaken) {
		t.Errorf("Merge with the value of another entity: got error %v; want ErrTaken", err)
	}
	// One transaction exchanges the values of two entities, in each order.
	for i := range 2 {
		es[0].Value.Last, es[1].Value.Last = es[1].Value.Last, es[0].Value.Last
		_, err := table.Transact(ctx, staff.ReplaceOp(es[i]), staff.ReplaceOp(es[1-i]))
		check(t, err)
	}
}

// hostile are values with characters that no name has.
var hostile = []string{"", "_", "a", "a_b", "a!", "A!_w_000001", "O'Brien", "100%", "a/b\\c#d?e", "~x|", "é", "\x00\x1f\x7f", "Ünï 漢字 😀", "+ &=", strings.Repeat("z", 120)}

// TestHostileValues: a value with any characters finds its own rows only.
func TestHostileValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byLast, byEmail, byTag)
	values := hostile
	for i, v := range values {
		w := worker{"S", i, v, "", 1, nil}
		if v != "" && i%2 == 0 {
			w.Email = v
		}
		w.Tags = []string{v}
		if _, err := staff.Insert(ctx, &w); err != nil {
			t.Fatalf("Insert of %q: got error %v; want none", v, err)
		}
	}
	for i, v := range values {
		testkit.Expect(t, v, ids(t, byLast.List(ctx, staff, sales, v)), []int{i})
		testkit.Expect(t, v, ids(t, byTag.List(ctx, staff, sales, v)), []int{i})
		if v != "" && i%2 == 0 {
			if e, err := byEmail.Get(ctx, staff, sales, v); err != nil || e.Value.ID != i {
				t.Errorf("%q: Get: got %v, error %v; want ID %d", v, e, err, i)
			}
		}
	}
	testkit.Expect(t, "all", len(ids(t, byLast.Between(ctx, staff, sales, "", strings.Repeat("\xff", 9)))), len(values))
	if r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, byLast, byEmail, byTag); r.Faults > 0 {
		t.Errorf("verify: got %+v and faults %v; want a sound report", r, faults)
	}
	testkit.Expect(t, "rows", len(s.Rows("staff")), 3*len(values)+len(values)/2)
}

// TestCompound: an index over several fields, in their order: by hire date within a title.
func TestCompound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type hired struct {
		Last string
		On   time.Time
	}
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	byHire := index.New("hired", keys.Row2(keys.Ordered(), keys.Date(), func(h *hired) (*string, *time.Time) { return &h.Last, &h.On }),
		func(w *worker) (hired, bool) { return hired{w.Last, day(w.Age)}, w.Age > 0 }, nil)
	staff, s := newStaff(t, byHire)
	insertAll(t, staff, s, worker{"S", 1, "Clerk", "", 9, nil}, worker{"S", 2, "Clerk", "", 3, nil}, worker{"S", 3, "Clerks", "", 1, nil}, worker{"S", 4, "Chief", "", 7, nil}, worker{"S", 5, "Clerk", "", 0, nil})
	testkit.Expect(t, "clerks", ids(t, byHire.Between(ctx, staff, sales, hired{"Clerk", day(1)}, hired{"Clerk", day(31)})), []int{2, 1})
	testkit.Expect(t, "all", ids(t, byHire.Query(ctx, staff, table.Query[worker]{Partition: sales})), []int{4, 2, 1, 3})
}

// TestMeasuresThatCollide: two measures that would make one property are an error.
func TestMeasuresThatCollide(t *testing.T) {
	t.Parallel()
	of := func(w *worker) (int64, bool) { return 1, true }
	_, s := newStaff(t)
	for _, other := range []string{"AgeMin", "AgeMax"} {
		_, err := baretest.Attach(openAs(t, s.ConnectionString(), s, schema),
			index.NewSummary("s", keys.Text(), name, nil, index.Measure[worker]{Name: "Age", Of: of}, index.Measure[worker]{Name: other, Of: of}))
		var de *table.DefinitionError
		if !errors.As(err, &de) || de.Field != "measures" {
			t.Errorf("Attach with measures Age and %s: got error %v; want a *DefinitionError of measures", other, err)
		}
	}
}

// TestReservedPrefix: an index over several fields with Reserved is queried by ranges of its layout.
func TestReservedPrefix(t *testing.T) {
	t.Parallel()
	type lastAge struct {
		Last string
		Age  int
	}
	two := keys.Row2(keys.Ordered().Named("la"), keys.Digits[int](3), func(k *lastAge) (*string, *int) { return &k.Last, &k.Age })
	ix := index.New("la", two, func(w *worker) (lastAge, bool) { return lastAge{w.Last, w.Age}, true },
		&index.Options{Reserved: true})
	staff, s := newStaff(t, ix)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 40, nil}, worker{"S", 2, "Jones", "", 30, nil}, worker{"S", 3, "Cao", "", 30, nil})
	testkit.Expect(t, "Jones", ids(t, ix.Query(context.Background(), staff, table.Query[worker]{Partition: sales, Rows: two.Under("Jones").All()})), []int{2, 1})
}

// TestDetailsAreChecked: details that could overwrite other details or properties fail when they are attached.
func TestDetailsAreChecked(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	to := func(w *worker) (keys.RowKey, bool) { return keys.RawRow("department"), true }
	base, _ := newStaff(t)
	none := func(*worker) (int64, bool) { return 0, false }
	every := func(*worker) (string, bool) { return "", true }
	sums := func(measures ...index.Measure[worker]) []extend.Definition[worker] {
		return []extend.Definition[worker]{index.NewSummary("one", keys.Text(), every, nil, measures...)}
	}
	one := func(d extend.Definition[worker]) []extend.Definition[worker] { return []extend.Definition[worker]{d} }
	for what, c := range map[string]struct {
		definitions       []extend.Definition[worker]
		name, field, says string
	}{
		"one prefix":                 {[]extend.Definition[worker]{index.NewDetails("one", "Head", to, last), index.NewDetails("two", "Head", to, email)}, "two", "prefix", "as one does"},
		"a bad name":                 {one(index.NewDetails("the/head", "Head", to, last)), "the/head", "name", "letters and digits"},
		"no prefix":                  {one(index.NewDetails("one", "", to, last)), "one", "prefix", "is empty"},
		"no target":                  {one(index.NewDetails[worker]("one", "Head", nil, last)), "one", "target", "is nil"},
		"no fields":                  {one(index.NewDetails[worker]("one", "Head", to)), "one", "fields", "are empty"},
		"a bad prefix":               {one(index.NewDetails("one", "Head-", to, last)), "one", "prefix", "Head-"},
		"a target that is not pure":  {one(index.NewDetails("one", "Head", moody(), last)), "one", "target", "is not pure"},
		"a bad property":             {one(index.NewLists("one", keys.Text(), every, &index.ListOptions{Property: "a b"})), "one", "Property", "a b"},
		"a measure that is not pure": {sums(index.Measure[worker]{Name: "M", Of: counting()}), "one", "measure M", "is not pure"},
		"a measure of no name":       {sums(index.Measure[worker]{Of: none}), "one", "measures", "without a Name"},
		"a measure twice":            {sums(index.Measure[worker]{Name: "M", Of: none}, index.Measure[worker]{Name: "M", Of: none}), "one", "measures", "two measures"},
		"a measure of nothing":       {sums(index.Measure[worker]{Name: "M"}), "one", "measures", "Of is nil"},
	} {
		var de *table.DefinitionError
		_, err := baretest.Attach(base, c.definitions...)
		if !errors.As(err, &de) || de.Definition != c.name || de.Field != c.field || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: Attach: got error %v; want a *DefinitionError of %q and %q whose text contains %q", what, err, c.name, c.field, c.says)
		}
	}
	staff, s := newStaff(t, byEmail, index.NewDetails("bad", "Bad", func(w *worker) (keys.RowKey, bool) { return keys.RawRow("email_x"), w.Last == "y" }, last))
	insertAll(t, staff, s, worker{"S", 1, "x", "x", 1, nil})
	var ve *table.ValueError
	if _, err := staff.Insert(ctx, &worker{"S", 2, "y", "", 1, nil}); !errors.As(err, &ve) {
		t.Errorf("Insert with details in a row of an index: got error %v; want a *ValueError", err)
	}
}
