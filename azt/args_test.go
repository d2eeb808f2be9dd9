package azt

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTyped: a key that was shown is typed back as it was, and a terminal shows it as one word.
func TestTyped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", `"`, `"a`, "a b", "a\x1b[2J", "\u009b", "\u202e", "\u2028", `\`, `a\"b`, "-", "~c", "Öblarn", "\ufffd"})).Draw(t, "key")
		text := shown(s)
		if got, err := typed(text); err != nil || got != s {
			t.Errorf("typed(%s): got %q, %v; want %q", text, got, err, s)
		}
		for _, of := range []string{text, plain(s)} {
			if i := strings.IndexFunc(of, func(r rune) bool { return !strconv.IsPrint(r) }); i >= 0 {
				t.Errorf("%q is shown as %q, with a character that no terminal prints", s, of)
			}
		}
		if strings.Contains(text, " ") && !strings.HasPrefix(text, `"`) {
			t.Errorf("%q is shown as %s, of several words without quotes", s, text)
		}
	})
	for _, bad := range []string{`"`, `"a`, `"\x"`, `"a"b`} {
		if got, err := typed(bad); err == nil {
			t.Errorf("typed(%s): got %q, want an error", bad, got)
		}
	}
}

// TestConditions: what a condition asks the service for.
func TestConditions(t *testing.T) {
	t.Parallel()
	const all = "(RowKey lt '~' or RowKey ge '\u00a0')"
	for where, want := range map[string]string{
		"Age >= 30":   "(Age ge 30.0 or Age ge 30)",
		"Age>=30":     "(Age ge 30.0 or Age ge 30)",
		"Age != 30":   "(Age ne 30.0 or Age lt 30 or Age gt 30)",
		"Zip = 01234": "(Zip eq '01234')", "N = Nan": "(N eq 'Nan')", "Phone = +49": "(Phone eq '+49')", "Day >= 2026-01-02": "(Day ge datetime'2026-01-02T00:00:00Z')",
		"ID = 5f3c0000-0000-0000-0000-000000000001": "(ID eq guid'5f3c0000-0000-0000-0000-000000000001')", "N = 1e3": "(N eq 1000.0 or N eq 1000)",
		"Age = text:30":                                 "(Age eq '30')",
		`Age = "30"`:                                    "(Age eq '30')",
		"Big = 9007199254740993":                        "(Big eq 9007199254740993L)",
		"Name = O'Brien":                                "(Name eq 'O''Brien')",
		`Name = "a or b"`:                               "(Name eq 'a or b')",
		"Name = Ann or Name = Bob":                      "((Name eq 'Ann') or (Name eq 'Bob'))",
		`Name == "x\u0001"`:                             "(Name eq 'x\u0001')",
		"Done = true":                                   "(Done eq true)",
		"At < 2026-01-02T03:04:05Z":                     "(At lt datetime'2026-01-02T03:04:05Z')",
		"Timestamp > 2026-01-02T00:00:00Z":              "(Timestamp gt datetime'2026-01-02T00:00:00Z')",
		"G = guid:00000000-0000-0000-0000-000000000001": "(G eq guid'00000000-0000-0000-0000-000000000001')",
		"B = binary:0x01ff":                             "(B eq X'01ff')",
		"Ünit <> x":                                     "(Ünit ne 'x')",
	} {
		f := flags{where: list{where}}
		r, err := f.reading(false)
		if err != nil || r.filter != all+" and "+want {
			t.Errorf("%s: got filter %s, %v; want %s", where, r.filter, err, want)
		}
	}
	for _, bad := range []string{"", "Age", "Age >", "> 3", "Age ! 3", "PartitionKey = x", "RowKey = x", "A B = 3", "Age = int64:x", "Age = double:x", "Age = time:x", "Age = guid:x", "Age = binary:x", `Age = "x`, "A = 1 or ", "Age >= 30 and Name = Ann", "City = Rome OR City = Oslo", "Age => 30", "Name = 'Ann'", "A=1 or A=2 or A=3 or A=4 or A=5 or A=6 or A=7 or A=8 or A=9"} {
		f := flags{where: list{bad}}
		if r, err := f.reading(false); err == nil {
			t.Errorf("%s: got filter %s, want an error", bad, r.filter)
		}
	}
}

// TestRanges: the flags for keys find rows without a scan, or say that it is one.
func TestRanges(t *testing.T) {
	t.Parallel()
	key := func(s string) optional { return optional{true, s} }
	for _, c := range []struct {
		f            flags
		all          bool
		want, refuse string
	}{
		{f: flags{partition: key("Sales")}, want: "PartitionKey eq 'Sales' and (RowKey lt '~' or RowKey ge '\u00a0')"},
		{f: flags{partition: key("")}, all: true, want: "PartitionKey eq ''"},
		{f: flags{partition: key("O'Brien")}, all: true, want: "PartitionKey eq 'O''Brien'"},
		{f: flags{partition: key("Sales"), prefix: key("empid_")}, want: "PartitionKey eq 'Sales' and RowKey ge 'empid_' and RowKey lt 'empid_\ufffd'"},
		{f: flags{partition: key("Sales"), prefix: key("~i|")}, all: true, want: "PartitionKey eq 'Sales' and RowKey ge '~i|' and RowKey lt '~i|\ufffd'"},
		{f: flags{from: key("A"), to: key("C")}, all: true, want: "PartitionKey ge 'A' and PartitionKey lt 'C'"},
		{f: flags{partition: key("S"), rowsFrom: key("a"), rowsTo: key("b")}, want: "PartitionKey eq 'S' and RowKey ge 'a' and RowKey lt 'b'"},
		{f: flags{scan: true}, all: true, want: ""},
		{f: flags{}, all: true, refuse: "the whole table"},
		{f: flags{prefix: key("a")}, refuse: "the whole table"},
		{f: flags{partition: key("A"), from: key("B")}, refuse: "--partition"},
		{f: flags{from: key("B"), to: key("A")}, refuse: "swapped"},
		{f: flags{scan: true, prefix: key("a"), rowsFrom: key("b")}, refuse: "--prefix"},
		{f: flags{scan: true, rowsFrom: key("b"), rowsTo: key("a")}, refuse: "swapped"},
	} {
		r, err := c.f.reading(c.all)
		if err == nil {
			err = r.allowed(&c.f)
		}
		switch {
		case c.refuse != "":
			if err == nil || !strings.Contains(err.Error(), c.refuse) {
				t.Errorf("%+v: got error %v, want one that contains %q", c.f, err, c.refuse)
			}
		case err != nil || r.filter != c.want:
			t.Errorf("%+v: got filter %q, %v; want %q", c.f, r.filter, err, c.want)
		}
	}
}

// TestCut: a line is as wide as the terminal, also with wide characters.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		most int
		want string
	}{{"abcdef", 0, "abcdef"}, {"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}} {
		if got := cut(c.text, c.most); got != c.want {
			t.Errorf("cut(%s, %d): got %s, want %s", c.text, c.most, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.StringMatching(`[a-z]{1,8}`)).Draw(t, "words"), " ")
		lines := wrap(text, "", 10)
		if got := strings.Join(lines, " "); got != text {
			t.Errorf("wrap: got %q, want %q", got, text)
		}
		for _, line := range lines {
			if columnsOf(line) > 10 {
				t.Errorf("wrap of %q: got the line %q of more than 10 columns", text, line)
			}
		}
	})
}
