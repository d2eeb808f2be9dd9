package index_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type landmark struct {
	Country string
	Name    string
	Local   string // the name in another language
}

var landmarks = table.Schema[landmark]{
	Partition: keys.Partition(keys.Text(), func(p *landmark) *string { return &p.Country }),
	Row:       keys.Row(keys.Text(), func(p *landmark) *string { return &p.Name }).Named("mark"),
}

func localName(p *landmark) (string, bool) { return p.Local, p.Local != "" }

// landmarksWith is a table of landmarks with a definition.
func landmarksWith(t *testing.T, s *storagetest.Service, name string, definition extend.Definition[landmark]) *table.Table[landmark] {
	base, err := bare.NewTable(serviceOf(t, s.ConnectionString(), s), name, landmarks, quick())
	check(t, err)
	check(t, base.Ensure(context.Background()))
	all, err := bare.Attach(base, definition)
	check(t, err)
	return all
}

// TestFits: Fits takes what Insert takes, says of the rest what Insert says, and makes no request.
func TestFits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	kinds := map[string]extend.Definition[landmark]{
		"index":   index.New("local", keys.Fold(keys.Text()), localName, nil),
		"ordered": index.New("local", keys.Ordered(), localName, &index.Options{Pointer: true}),
		"lists":   index.NewLists("local", keys.Text(), localName, nil),
		"summary": index.NewSummary("local", keys.Text(), localName, nil),
	}
	handles := map[string]*table.Table[landmark]{}
	for kind, definition := range kinds {
		handles[kind] = landmarksWith(t, s, kind, definition)
	}
	text := rapid.Custom(func(t *rapid.T) string {
		c := rapid.SampledFrom([]string{"a", "é", "ก", "日", "😀"}).Draw(t, "character")
		return strings.Repeat(c, rapid.IntRange(0, 520/len(keys.Text().RowKey(c).String())).Draw(t, "n"))
	})
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"index", "ordered", "lists", "summary"}).Draw(t, "kind")
		n++
		v := &landmark{fmt.Sprint("C", n), text.Draw(t, "name"), text.Draw(t, "local")}
		s.Count()
		got := handles[kind].Fits(v)
		if requests := s.Count(); len(requests) > 0 {
			t.Fatalf("Fits: got requests %v; want none", requests)
		}
		_, want := handles[kind].Insert(ctx, v)
		if says(got) != says(want) {
			t.Fatalf("%+v: got %v; want the error of Insert, %v", v, got, want)
		}
	})
}

// says returns the error of a write without its method.
func says(err error) string {
	var oe *table.OpError
	if !errors.As(err, &oe) {
		return fmt.Sprint(err)
	}
	return fmt.Sprint(oe.Err)
}

// TestFitsAll: Fits reports the refusals of all definitions.
func TestFitsAll(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	base, err := bare.NewTable(serviceOf(t, s.ConnectionString(), s), "landmarks", landmarks, quick())
	check(t, err)
	all, err := bare.Attach(base,
		index.New("one", keys.Text(), localName, nil),
		index.NewLists("two", keys.Text(), localName, nil),
		index.New("three", keys.Digits[int](3), func(*landmark) (int, bool) { return 7, true }, nil))
	check(t, err)
	err = all.Fits(&landmark{"NZ", "a", strings.Repeat("x", 510)})
	for _, name := range []string{"one", "two", "three"} {
		if is := strings.Contains(fmt.Sprint(err), "maintainer "+name); is != (name != "three") {
			t.Errorf("definition %s: got %v in %v; want one and two", name, is, err)
		}
	}
}

// TestLimitsByScript: docs/limits.md says how many characters of a script fit into a key.
func TestLimitsByScript(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/limits.md")
	check(t, err)
	both := landmarksWith(t, storagetest.New(nil), "landmarks", index.New("name", keys.Fold(keys.Text()), func(p *landmark) (string, bool) { return p.Name, true }, nil))
	most := func(c string, fits func(string) bool) int {
		n := 0
		for fits(strings.Repeat(c, n+1)) {
			n++
		}
		return n
	}
	for _, script := range []struct{ name, characters string }{
		{"letters and digits of ASCII", "xZ7"},
		{"space and other ASCII", " '~"},
		{"Latin with accents, Greek, Cyrillic, Hebrew, Arabic, Devanagari, Thai", "éßøłώЖשعकก"},
		{"Vietnamese, Georgian, Khmer, Chinese, Japanese, Korean, € ’ –, emoji", "ệაក漢日かカ한€’–😀"},
		{"private use and tags", "\U000f0000\U000e0041"},
	} {
		alone, indexed := 512, 512
		for _, c := range strings.Split(script.characters, "") {
			alone = min(alone, most(c, func(s string) bool { return keys.Text().RowKey(s).Err() == nil }))
			indexed = min(indexed, most(c, func(s string) bool { return both.Fits(&landmark{"C", s, ""}) == nil }))
		}
		line := fmt.Sprintf("| %s | %d | %d |", script.name, alone, indexed)
		if !strings.Contains(string(doc), line+"\n") {
			t.Errorf("docs/limits.md: want the line\n%s", line)
		}
	}
}

// TestFitsAsInsert: Fits reports the mistakes of a value and of a definition as Insert does.
func TestFitsAsInsert(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	whole := &landmark{"NZ", "a", "x"}
	for name, c := range map[string]struct {
		definition extend.Definition[landmark]
		value      *landmark
		refused    bool
	}{
		"fits":                    {index.New("local", keys.Text(), localName, nil), whole, false},
		"nil":                     {index.New("local", keys.Text(), localName, nil), nil, true},
		"panics":                  {index.New("local", keys.Text(), func(*landmark) (string, bool) { panic("no") }, nil), whole, true},
		"too many values":         {index.NewMulti("local", keys.Text(), 2, func(*landmark) []string { return []string{"a", "b", "c"} }, nil), whole, true},
		"a number too large":      {index.New("local", keys.Digits[int](1), func(*landmark) (int, bool) { return 10, true }, nil), whole, true},
		"details of no valid key": {index.NewDetails("local", "Local", func(*landmark) (keys.RowKey, bool) { return keys.RawRow("a?b"), true }, table.FieldOf(func(p *landmark) *string { return &p.Local })), whole, true},
		"a property too large":    {index.New("local", keys.Text(), func(*landmark) (string, bool) { return "", false }, nil), &landmark{"NZ", "b", strings.Repeat("x", 40<<10)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := landmarksWith(t, s, "t"+strings.ReplaceAll(name, " ", ""), c.definition)
			got := all.Fits(c.value)
			_, want := all.Insert(context.Background(), c.value)
			if says(got) != says(want) || (got != nil) != c.refused {
				t.Errorf("got %v; want the error of Insert, %v, and one: %t", got, want, c.refused)
			}
		})
	}
}
