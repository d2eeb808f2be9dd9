package record

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrite: a table that was written is read again, with the short tests of each package together.
func TestWrite(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seconds.txt")
	all := Table{{"", "TestStore"}: 1.5, {"", "TestShort"}: 0.04, {"", "TestOther"}: 0.05, {"txn", "TestHistories"}: 0.1}
	if err := all.Write(file); err != nil {
		t.Fatal(err)
	}
	got, err := Read(file)
	want := Table{{"", "TestStore"}: 1.5, {"", Rest}: 0.09, {"txn", "TestHistories"}: 0.1}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, error %v; want %v", got, err, want)
	}
}

// TestCompare: a test that takes too long, or much longer than before, is named.
func TestCompare(t *testing.T) {
	t.Parallel()
	recorded := Table{{"", "TestStore"}: 1.5, {"txn", "TestBank"}: 0.2, {"txn", Rest}: 0.1}
	for want, measured := range map[string]Table{
		"":                          {{"", "TestStore"}: 1.9, {"txn", "TestBank"}: 0.9, {"txn", "TestNew"}: 0.7},
		". TestStore: got 2.10":     {{"", "TestStore"}: 2.1},
		"txn TestBank: got 0.91":    {{"txn", "TestBank"}: 0.91},
		"txn TestNew: got 0.71 s":   {{"txn", "TestNew"}: 0.71},
		"at most 2 s\ntxn TestBank": {{"", "TestStore"}: 3, {"txn", "TestBank"}: 1.5},
	} {
		text := ""
		if err := Compare(recorded, measured); err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, want) || want == "" && text != "" {
			t.Errorf("%v: got error %q; want %q", measured, text, want)
		}
	}
}
