package catalogue

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/stored"
)

// TestRanges: whether a row may be of a type, and whether two types may have common rows, by the range
// of their RowKeys and their names.
func TestRanges(t *testing.T) {
	t.Parallel()
	all := map[string]Type{
		"b to d":            {From: "b", To: "d"},
		"b to d, d as well": {From: "b", To: "d", Closed: true},
		"d to f":            {From: "d", To: "f"},
		"e on":              {From: "e"},
		"one, empty":        {Closed: true},
		"everything":        {},
		"b to d, x":         {Name: "x", From: "b", To: "d"},
		"b to d, y":         {Name: "y", From: "b", To: "d"},
	}
	has := map[string]string{ // of the keys "", a, b, c, d, e, f
		"b to d": "bc", "b to d, d as well": "bcd", "d to f": "de", "e on": "ef", "one, empty": "-", "everything": "-abcdef",
		"b to d, x": "bc", "b to d, y": "bc",
	}
	for name, typ := range all {
		got := ""
		for _, key := range []string{"", "a", "b", "c", "d", "e", "f"} {
			if typ.has(key, "") {
				got += string((key + "-")[0])
			}
		}
		if got != has[name] {
			t.Errorf("%s: got the keys %q; want %q", name, got, has[name])
		}
		if got := typ.has("c", "y"); got != (strings.Contains(has[name], "c") && typ.Name != "x") {
			t.Errorf("%s: got %v for the key c and the name y", name, got)
		}
		for other, of := range all {
			common := strings.ContainsAny(has[name], has[other]) && (typ.Name == "" || of.Name == "" || typ.Name == of.Name)
			if got := typ.overlaps(of); got != common {
				t.Errorf("%s and %s: got %v; want %v", name, other, got, common)
			}
		}
	}
}

// TestOtherLayout: a layout differs only if both are known. What one side does not know, the row keeps.
func TestOtherLayout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		is, declared Type
		differs      string
	}{
		{Type{PartitionLayout: "p", RowLayout: "r"}, Type{PartitionLayout: "p", RowLayout: "r"}, ""},
		{Type{PartitionLayout: "p", RowLayout: "r"}, Type{}, ""},
		{Type{}, Type{PartitionLayout: "p", RowLayout: "r"}, ""},
		{Type{PartitionLayout: "p", RowLayout: "r"}, Type{PartitionLayout: "q", RowLayout: "r"}, "PartitionKey"},
		{Type{PartitionLayout: "p", RowLayout: "r"}, Type{PartitionLayout: "p", RowLayout: "s"}, "RowKey"},
	} {
		got := c.is.otherLayout(c.declared)
		if (got == "") != (c.differs == "") || !strings.Contains(got, c.differs) {
			t.Errorf("%+v declared as %+v: got %q; want %q", c.is, c.declared, got, c.differs)
		}
		if c.differs != "" {
			continue
		}
		c.is.Go, c.declared.Go = "old.T", "new.T"
		if m := c.is.merged(c.declared); m != (Type{Go: "old.T", PartitionLayout: "p", RowLayout: "r"}) {
			t.Errorf("%+v declared as %+v: got %+v; want all that is known", c.is, c.declared, m)
		}
	}
}

// TestSame: two catalogues are the same whatever the order of their definitions, and whether or not they
// name those that are retired.
func TestSame(t *testing.T) {
	t.Parallel()
	row := func(all ...Definition) *stored.Row {
		r := &Row{Version: version, Lease: leastLease, Types: []Type{{Scope: "s", Go: "t"}}, Definitions: all}
		for i := range r.Definitions {
			r.Definitions[i].Scope, r.Definitions[i].ID = "s", "1"
		}
		text, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	a, b := Definition{Name: "a", State: Readable}, Definition{Name: "b", State: Building}
	retired, unfilled := Definition{Name: "c", State: Retired}, Definition{Name: "c", State: Unfilled}
	for _, c := range []struct {
		what       string
		one, other *stored.Row
		want       bool
	}{
		{"none", nil, nil, true},
		{"none, and one without definitions", nil, row(), true},
		{"another order", row(a, b), row(b, a), true},
		{"one retired", row(a), row(a, retired), true},
		{"one unfilled", row(a), row(a, unfilled), false},
		{"another state", row(a), row(Definition{Name: "a", State: Building}), false},
		{"another form", row(a), row(Definition{Name: "a", State: Readable, Form: "f"}), false},
	} {
		got, err := Same(c.one, c.other)
		if err != nil || got != c.want {
			t.Errorf("%s: got %v, %v; want %v", c.what, got, err, c.want)
		}
	}
}

// TestSize: a catalogue may have as many UTF-16 units as a property.
func TestSize(t *testing.T) {
	t.Parallel()
	r := &Row{Version: version, Lease: leastLease, Types: []Type{{Scope: "s", Go: ""}}}
	text, err := r.encode()
	if err != nil {
		t.Fatal(err)
	}
	room := mostUnits - len(stored.Find(text.Columns(), property).S)
	for _, c := range []struct {
		character string
		n         int
		fits      bool
	}{
		{"x", room, true}, {"x", room + 1, false}, {"é", room, true}, {"é", room + 1, false},
		{"😀", room / 2, true}, {"😀", room/2 + 1, false},
	} {
		r.Types[0].Go = strings.Repeat(c.character, c.n)
		_, err := r.encode()
		if is := errors.As(err, new(*errs.LimitError)); is == c.fits || err != nil && !is {
			t.Errorf("%d of %s: got error %v; want a *LimitError: %v", c.n, c.character, err, !c.fits)
		}
	}
}

// TestLeases: a lease is from 10 ms to an hour; 0 is the default.
func TestLeases(t *testing.T) {
	t.Parallel()
	for lease, want := range map[time.Duration]bool{
		0: true, leastLease: true, leastLease - 1: false, mostLease: true, mostLease + 1: false, -1: false,
	} {
		if err := CheckLease(lease); (err == nil) != want {
			t.Errorf("a lease of %v: got error %v; want none: %v", lease, err, want)
		}
	}
}
