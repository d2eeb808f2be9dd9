package bloblog

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/table"
)

var hour = time.Date(2014, 7, 31, 18, 0, 0, 0, time.UTC)

// TestNames: the name of a blob belongs to one source, and names of another form to none.
func TestNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]name{
		"orders/2014/07/31/1800/000001.log":                     {"orders", hour, 1},
		"orders/2014/07/31/1800/000000.log":                     {"orders", hour, 0},
		"a/b/2014/07/31/1800/123456.log":                        {"a/b", hour, 123456},
		"a/2014/2014/07/31/1800/000001.log":                     {"a/2014", hour, 1},
		"a/2014/07/31/1800/2014/07/31/1800/000001.log":          {"a/2014/07/31/1800", hour, 1},
		"2014/07/31/1800/000001.log/0001/01/01/0000/000002.log": {"2014/07/31/1800/000001.log", time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), 2},
		" ü /9999/12/31/2300/999999.log":                        {" ü ", time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC), 999999},
	} {
		n, is := parseName(text)
		if !is || n.source != want.source || !n.hour.Equal(want.hour) || n.number != want.number {
			t.Errorf("%s: got %+v, %v; want %+v", text, n, is, want)
		}
		testkit.Expect(t, "name", want.String(), text)
	}
	for _, text := range []string{
		"", "orders", "/2014/07/31/1800/000001.log", "2014/07/31/1800/000001.log", "orders/2014/07/31/1801/000001.log", "orders/2014/07/31/1860/000001.log",
		"orders/2014/07/31/2400/000001.log", "orders/2014/02/30/1800/000001.log", "orders/0000/07/31/1800/000001.log",
		"orders/2014/07/31/1800/000001.LOG", "orders/2014/07/31/1800/000001.txt", "orders/2014/07/31/1800/+00001.log", "orders/2014/07/31/1800/-00001.log",
		"orders/2014/07/31/1800/00000a.log", "orders/2014/07/31/1800/0000001.log", "orders/2014/07/31/1800/1.log", "orders/2014-07-31-1800/000001.log",
		"orders2014/07/31/1800/000001.log", "a//2014/07/31/1800/000001.log", "a./2014/07/31/1800/000001.log",
		"../2014/07/31/1800/000001.log", "orders/2014/07/31/18:0/000001.log", "orders/2014/07/31/1800/000001.log ",
	} {
		if n, is := parseName(text); is {
			t.Errorf("%q: got %+v; want no name", text, n)
		}
	}
}

// FuzzNames: a name that is accepted is written in the same way.
func FuzzNames(f *testing.F) {
	f.Add("orders/2014/07/31/1800/000001.log")
	f.Add("ü/2014/07/31/2300/999999.log")
	f.Fuzz(func(t *testing.T, text string) {
		if n, is := parseName(text); is && (n.String() != text || checkSource(n.source) != nil || n.number < 0 || n.number > maxNumber) {
			t.Errorf("%q: got %+v; want a valid name of this text", text, n)
		}
	})
}

// TestSources: a source is refused if a blob cannot have its name, or if tools change it.
func TestSources(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"orders", "a/b", "größe", "日本/東京", "with space", " x", "a b/ c", "50%", "a?b#c&d=e+f", "'\"<>|:*", ".hidden", "a/.b", "..a", "a.b", "2014/07/31", "😀",
		strings.Repeat("x", 997), strings.Repeat("x/", 248) + "x",
	} {
		if err := checkSource(source); err != nil {
			t.Errorf("%q: got error %v; want none", source, err)
		}
	}
	for _, source := range []string{
		"", ".", "..", "a/..", "../a", "a/./b", "/a", "a/", "a//b", "/", `a\b`, "a.", "a./b", "a/b.", "\x00", "a\nb", "a\tb", "\x7f", "\u0085", "\xff", "a\ufffe", "\uffff",
	} {
		var ve *table.ValueError
		if err := checkSource(source); !errors.As(err, &ve) || ve.Field != "source" {
			t.Errorf("%q: got error %v; want a *table.ValueError of the source", source, err)
		}
	}
	for source, want := range map[string]string{
		strings.Repeat("x", 998):        "source has 1025 characters, with the 27 of the hour and the number; at most 1024 are allowed",
		strings.Repeat("😀", 499):        "source has 1025 characters, with the 27 of the hour and the number; at most 1024 are allowed",
		strings.Repeat("x/", 249) + "x": "source has 255 parts between slashes, with the 5 of the hour and the number; at most 254 are allowed",
	} {
		var le *table.LimitError
		err := checkSource(source)
		if !errors.As(err, &le) {
			t.Errorf("%.10s…: got error %v; want a *table.LimitError", source, err)
		}
		testkit.Expect(t, "error", fmt.Sprint(err), want)
	}
	testkit.Expect(t, "error", fmt.Sprint(checkSource(`a\b`)), `source contains '\\' at byte 1, which the name of a blob cannot contain`)
	testkit.Expect(t, "error", fmt.Sprint(checkSource(`a/..`)), `source has the part "..", which ends with a dot`)
}

// TestPrefixes: a range of hours is listed with few prefixes, which together are the beginnings of all its names.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		t.Helper()
		hour, err := time.Parse("2006-01-02 15", text)
		testkit.NoError(t, err)
		return hour
	}
	for _, c := range []struct{ first, last, want string }{
		{"2014-07-31 18", "2014-07-31 18", "[s/2014/07/31/1800/]"},
		{"2014-07-31 18", "2014-07-31 19", "[s/2014/07/31/]"},
		{"2014-07-31 23", "2014-08-01 00", "[s/2014/07/31/ s/2014/08/01/]"},
		{"2014-12-30 23", "2015-01-01 00", "[s/2014/12/30/ s/2014/12/31/ s/2015/01/01/]"},
		{"2014-07-22 00", "2014-08-01 00", "[s/2014/07/ s/2014/08/]"},
		{"2014-01-31 00", "2014-10-01 00", "[s/2014/01/ s/2014/02/ s/2014/03/ s/2014/04/ s/2014/05/ s/2014/06/ s/2014/07/ s/2014/08/ s/2014/09/ s/2014/10/]"},
		{"2014-01-31 00", "2014-11-01 00", "[s/2014/]"},
		{"2014-02-28 00", "2023-01-01 00", "[s/2014/ s/2015/ s/2016/ s/2017/ s/2018/ s/2019/ s/2020/ s/2021/ s/2022/ s/2023/]"},
		{"0001-01-01 00", "2014-07-31 18", "[s/]"},
	} {
		testkit.Expect(t, c.first+" to "+c.last, fmt.Sprint(prefixes("s", at(c.first), at(c.last))), c.want)
	}
	rapid.Check(t, func(t *rapid.T) {
		first := hourOf(time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "first"), 0))
		last := first.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "hours")) * time.Hour)
		if last.Year() > 9999 {
			t.Skip()
		}
		all := prefixes("s", first, last)
		if len(all) > maxPrefixes {
			t.Fatalf("got %d prefixes; want at most %d", len(all), maxPrefixes)
		}
		between := first.Add(time.Duration(rapid.IntRange(0, int(last.Sub(first)/time.Hour)).Draw(t, "between")) * time.Hour)
		for _, at := range []time.Time{first, between, last} {
			found := 0
			for _, p := range all {
				if strings.HasPrefix(name{"s", at, 1}.String(), p) {
					found++
				}
			}
			if found != 1 {
				t.Fatalf("hour %v: got %d of the prefixes %q; want 1", at, found, all)
			}
		}
	})
}

// TestMetadata: metadata is read as it was written, whatever the case of its names, and foreign metadata says nothing.
func TestMetadata(t *testing.T) {
	t.Parallel()
	m := metadata{"W-1", hour, hour.Add(123456789)}
	stored := map[string]*string{}
	for key, value := range m.format() {
		stored[strings.ToLower(key)] = value
	}
	testkit.Expect(t, "metadata", parseMetadata(stored), m)
	bad := "yesterday"
	testkit.Expect(t, "foreign metadata", parseMetadata(map[string]*string{"StartTime": &bad, "EndTime": &bad, "Writer": nil}), metadata{})
	if m.overlaps(hour.Add(2*time.Second), hour.Add(time.Hour)) || m.overlaps(hour.Add(-1), hour) || !m.overlaps(hour, hour.Add(1)) || !(metadata{}).overlaps(hour, hour.Add(1)) {
		t.Error("overlaps: got another range than that of the records")
	}
}
