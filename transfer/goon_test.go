package transfer_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// content returns the names and contents of the files of a folder.
func content(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	files, err := os.ReadDir(dir)
	testkit.NoError(t, err)
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		testkit.NoError(t, err)
		all[f.Name()] = string(b)
	}
	return all
}

// changeManifest rewrites the lines of a manifest.
func changeManifest(t testing.TB, dir string, f func(lines [][]byte) [][]byte) {
	t.Helper()
	name := filepath.Join(dir, transfer.ManifestName)
	b, err := os.ReadFile(name)
	testkit.NoError(t, err)
	testkit.NoError(t, os.WriteFile(name, bytes.Join(f(bytes.SplitAfter(b, []byte("}\n"))), nil), 0o666))
}

// TestGoesOn: Export goes on with an export that is of this table and of this day, and leaves any
// other one as it is, unless GoOn says otherwise.
func TestGoesOn(t *testing.T) {
	t.Parallel()
	drop := func(lines [][]byte) [][]byte { return append(lines[:1:1], lines[2:]...) }
	alter := func(lines [][]byte) [][]byte {
		lines[1] = bytes.Replace(lines[1], []byte(`"rows":`), []byte(`"rows":1`), 1)
		return lines
	}
	for name, c := range map[string]struct {
		change     func(lines [][]byte) [][]byte
		later      time.Duration
		definition bool // another one
		refused    bool
		altered    bool
	}{
		"finished, an hour ago":                     {later: time.Hour},
		"finished, two days ago":                    {later: 48 * time.Hour, refused: true},
		"finished, of other definitions":            {definition: true},
		"not finished, an hour ago":                 {change: drop, later: time.Hour},
		"not finished, two days ago":                {change: drop, later: 48 * time.Hour, refused: true},
		"not finished, of other definitions":        {change: drop, definition: true, refused: true},
		"not finished, cut by a crash, an hour ago": {change: func(l [][]byte) [][]byte { l[1] = l[1][:len(l[1])/2]; return l }, later: time.Hour},
		"altered":               {change: alter, refused: true, altered: true},
		"altered, two days ago": {change: alter, later: 48 * time.Hour, refused: true, altered: true},
		"altered, and complete": {change: func(l [][]byte) [][]byte {
			return append(alter(append([][]byte{l[0], bytes.Clone(l[1])}, l[1:]...)), nil)
		}, refused: true, altered: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir, now := storagetest.New(nil), t.TempDir(), time.Date(2026, 11, 28, 2, 0, 0, 0, time.UTC)
			open := func(more ...aztablekit.Definition[person]) *table.Table[person] {
				store := aztablekit.Open(s, "office", &aztablekit.Options{Daily: -1, Now: func() time.Time { return now }})
				staff := aztablekit.Table(store, "staff", team, personID, more...)
				testkit.NoError(t, store.Ensure(t.Context()))
				return staff
			}
			staff := open()
			for i := range 50 {
				_, err := staff.Insert(t.Context(), &person{Team: "a", ID: i, City: "Oslo"})
				testkit.NoError(t, err)
			}
			at := transfer.Folder(dir)
			_, err := transfer.Export(t.Context(), staff, at, nil)
			testkit.NoError(t, err)
			if c.change != nil {
				changeManifest(t, dir, c.change)
			}
			was := content(t, dir)
			now = now.Add(c.later)
			if c.definition {
				staff = open(index.New("city", keys.Text(), func(p *person) (string, bool) { return p.City, true }, nil))
			}
			_, err = staff.Update(t.Context(), staff.Key(person{Team: "a", ID: 7}), func(p *person) error { p.City = "Bern"; return nil })
			testkit.NoError(t, err)

			report, err := transfer.Export(t.Context(), staff, at, nil)
			if errors.Is(err, table.ErrExists) != c.refused || !c.refused && err != nil {
				t.Fatalf("got %+v, %v; want ErrExists: %v", report, err, c.refused)
			}
			if c.refused && !c.altered && !c.definition && strings.Contains(err.Error(), "was finished") != (c.change == nil) {
				t.Errorf("got error %v; want it to say whether the export is finished", err)
			}
			if got := errors.As(err, new(*transfer.FileError)); got != c.altered {
				t.Errorf("got error %v; want a *FileError: %v", err, c.altered)
			}
			if !c.refused && c.change == nil && report.Changed != 0 || !c.refused && c.change != nil && report.Changed != report.Rows {
				t.Errorf("got %+v; want all rows of the missing chunk added, and none to a finished export", report)
			}
			if !c.refused {
				return
			}
			for name, before := range was {
				if after := content(t, dir)[name]; after != before {
					t.Errorf("%s was changed by an export that is refused", name)
				}
			}
			testkit.Expect(t, "files", len(content(t, dir)), len(was))
			if _, err := transfer.Export(t.Context(), staff, transfer.Folder(dir+"/another"), nil); err != nil {
				t.Errorf("another place, as the error says: got error %v", err)
			}
			if _, err := transfer.Export(t.Context(), staff, at, &transfer.ExportOptions{GoOn: true}); err != nil {
				t.Errorf("GoOn, as the error says: got error %v", err)
			}
			if _, err := transfer.Import(t.Context(), transfer.Exported(at), tableOf(t, storagetest.New(nil), "staff"), nil); err != nil {
				t.Errorf("import behind GoOn: got error %v", err)
			}
		})
	}
}

// TestThreeErrors: an export that is not finished, one that was altered and none at all are three errors.
func TestThreeErrors(t *testing.T) {
	t.Parallel()
	s, dir := filled(t, "staff", manyRows(3, 5)...), t.TempDir()
	at, to := transfer.Folder(dir), tableOf(t, storagetest.New(nil), "staff")
	_, err := transfer.Import(t.Context(), transfer.Exported(at), to, nil)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no export: got error %v; want ErrNotExist", err)
	}
	_, err = transfer.Export(t.Context(), tableOf(t, s, "staff"), at, nil)
	testkit.NoError(t, err)
	changeManifest(t, dir, func(lines [][]byte) [][]byte { return lines[:1] })
	_, err = transfer.Import(t.Context(), transfer.Exported(at), to, nil)
	if !errors.Is(err, table.ErrIncomplete) || errors.As(err, new(*transfer.FileError)) || !strings.Contains(err.Error(), "last chunk is of") {
		t.Errorf("not finished: got error %v; want ErrIncomplete with the time of the last chunk", err)
	}
	changeManifest(t, dir, func(lines [][]byte) [][]byte { return append(lines, []byte("\n{\"chunk\":\"x\"}\n")) })
	_, err = transfer.Import(t.Context(), transfer.Exported(at), to, nil)
	if errors.Is(err, table.ErrIncomplete) || !errors.As(err, new(*transfer.FileError)) || !strings.Contains(err.Error(), "line 4 is not") {
		t.Errorf("altered: got error %v; want a *FileError with the line", err)
	}
}

// TestChunkNames: each chunk has a number of its own, also if a second call has stored it.
func TestChunkNames(t *testing.T) {
	t.Parallel()
	s, dir := filled(t, "staff", manyRows(1, 3000)...), t.TempDir()
	o := &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}, ChunkBytes: 1}
	at := transfer.Folder(dir)
	_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, o)
	testkit.NoError(t, err)
	changeManifest(t, dir, func(lines [][]byte) [][]byte { return append(lines[:2:2], lines[3:]...) })
	report, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, o)
	testkit.NoError(t, err)
	if report.Changed == 0 || report.Changed >= report.Rows {
		t.Errorf("got %+v; want the rows of one chunk added", report)
	}
	numbers := map[string]int{}
	for _, line := range manifestLines(t, dir)[1:] {
		_, name, _ := strings.Cut(line, `"chunk":"`)
		number, _, _ := strings.Cut(name, "-")
		if numbers[number]++; numbers[number] > 1 {
			t.Errorf("got the number %s twice in the manifest", number)
		}
	}
	if len(numbers) < 3 {
		t.Errorf("got the numbers %v; want those of some chunks", numbers)
	}
}
