package azt_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/transfer"
)

// changeManifest rewrites the lines of a manifest.
func changeManifest(t *testing.T, dir string, f func(lines [][]byte) [][]byte) (now string) {
	t.Helper()
	name := filepath.Join(dir, transfer.ManifestName)
	b, err := os.ReadFile(name)
	testkit.NoError(t, err)
	b = bytes.Join(f(bytes.SplitAfter(b, []byte("}\n"))), nil)
	testkit.NoError(t, os.WriteFile(name, b, 0o666))
	return string(b)
}

// TestAdviceOnExports: what azt says of an export that cannot be imported is followed to the letter.
func TestAdviceOnExports(t *testing.T) {
	t.Parallel()
	alter := func(lines [][]byte) [][]byte {
		lines[1] = bytes.Replace(lines[1], []byte(`"rows":`), []byte(`"rows":1`), 1)
		return lines
	}
	drop := func(lines [][]byte) [][]byte { return lines[:1] }
	for name, c := range map[string]struct {
		change func(lines [][]byte) [][]byte
		later  time.Duration
		advice string
		again  int // the exit code of the same export
	}{
		"altered, today":      {alter, time.Hour, "Take another copy of this export, or another export.", 1},
		"altered, yesterday":  {alter, 30 * time.Hour, "Take another copy of this export, or another export.", 1},
		"unfinished, today":   {drop, time.Hour, "finishes it on the same day", 0},
		"unfinished, old":     {drop, 30 * time.Hour, "says so if it cannot", 1},
		"no manifest":         {nil, 0, "contains manifest.ndjson", 0},
		"a chunk is not here": {func(l [][]byte) [][]byte { return l }, 0, "Take another copy of this export, or another export.", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				s := newShell(t, 6)
				at := dir + "/staff"
				s.want(0, "export staff "+at)
				was := ""
				if c.change != nil {
					was = changeManifest(t, at, c.change)
				} else {
					testkit.NoError(t, os.RemoveAll(at))
				}
				if name == "a chunk is not here" {
					chunks, err := filepath.Glob(at + "/*.gz")
					testkit.NoError(t, err)
					testkit.NoError(t, os.Remove(chunks[0]))
				}
				time.Sleep(c.later)
				s.want(1, "import "+at+" restored --write", c.advice, "!the same command does the rest")
				s.want(c.again, "export staff "+at, "!ExportOptions")
				if c.again == 0 && c.change == nil || c.again == 0 && c.later > 0 {
					s.want(0, "import "+at+" restored --write")
					return
				}
				b, err := os.ReadFile(filepath.Join(at, transfer.ManifestName))
				testkit.NoError(t, err)
				if string(b) != was {
					t.Errorf("got the manifest\n%s\nwant as it was\n%s", b, was)
				}
				s.want(0, "export staff "+dir+"/another")
				s.want(0, "import "+dir+"/another restored --write")
				if c.again == 1 {
					s.want(0, "export staff "+at+" --go-on")
					s.want(0, "import "+at+" second --write")
				}
			})
		})
	}
}

// TestImportInUse: an import into a table with definitions and other rows ends with what to run,
// and exit code 3, and is sound behind that.
func TestImportInUse(t *testing.T) {
	t.Parallel()
	s, at := newShell(t, 9), t.TempDir()+"/staff"
	testkit.NoError(t, s.company.Drain(t.Context()))
	s.want(0, "export staff "+at)
	for i := range 3 {
		testkit.NoError(t, s.company.staff.DeleteAny(t.Context(), keys.Raw("Marketing", []string{"empid_000001", "empid_000003", "empid_000005"}[i])))
	}
	_, err := s.company.staff.Update(t.Context(), keys.Raw("Sales", "empid_000002"), func(e *employee) error { e.LastName, e.Email = "New", "new@contoso.com"; return nil })
	testkit.NoError(t, err)
	testkit.NoError(t, s.company.Drain(t.Context()))
	s.want(0, "verify", "sound")
	s.want(3, "import "+at+" staff --write", "has definitions and had rows", "azt verify --repair --write")
	s.want(3, "verify", "not sound")
	s.want(0, "verify --repair --write")
	testkit.NoError(t, s.company.Drain(t.Context()))
	s.want(0, "verify", "sound", "!not sound")
	s.want(0, "import "+at+" restored --write", "!azt verify")
	fresh := newShell(t, 0) // its program has called Ensure
	fresh.want(0, "import "+at+" staff --write", "!azt verify")
	s.want(3, "copy staff staff --write --mode replace", "azt verify") // into itself
	other := aztablekit.Open(s.acc, "other", nil)
	plain := aztablekit.Table(other, "plain", dept, empid) // a catalogue without definitions
	testkit.NoError(t, other.Ensure(t.Context()))
	_, err = plain.Insert(t.Context(), &employee{Department: "Sales", ID: 99})
	testkit.NoError(t, err)
	s.want(0, "import "+at+" plain --write --other-definitions", "!azt verify")
}

// TestForOperators: an error names nothing that can only be called in a program.
func TestForOperators(t *testing.T) {
	t.Parallel()
	s := newShell(t, 2)
	dir := t.TempDir()
	call := regexp.MustCompile(`\b[A-Z]\w*\.[A-Z]\w+`)
	for _, args := range []string{
		"query nosuch --scan", "count nosuch --scan", "hot nosuch", "get nosuch a b", "pending nosuch", "cost nosuch --prices testdata/prices.json",
		"export nosuch " + dir + "/a", "export nosuch " + dir + "/a.csv", "compare nosuch staff", "compare staff nosuch", "copy nosuch other --write",
		"poison list nosuch", "poison replay nosuch --write", "poison drop nosuch --all --write", "pending staff --notify nosuch --write",
		"export staff blob:nosuch/x --write", "import blob:nosuch/x other --write", "export staff " + dir + "/b --blobs nosuch",
		"doctor --table nosuch", "doctor --store nosuch", "doctor --container nosuch", "doctor --queue nosuch", "jobs staff cancel raise nosuch --write",
	} {
		out, errs, code := s.run(fields(args)...)
		if code == 2 {
			t.Errorf("azt %s: got exit code 2, want a command that runs:\n%s", args, errs)
		}
		if text := call.FindString(out + errs); text != "" {
			t.Errorf("azt %s: got\n%s%s\nwant no %s", args, out, errs, text)
		}
	}
}
