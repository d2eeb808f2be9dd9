package transfer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// places are the kinds of places, each with a function that makes one.
var places = map[string]func(t testing.TB) transfer.Place{
	"folder": func(t testing.TB) transfer.Place { return transfer.Folder(t.TempDir()) },
	"container": func(t testing.TB) transfer.Place {
		s := storagetest.New(nil)
		c := s.Blobs().NewContainerClient("backups")
		_, err := c.Create(t.Context(), nil)
		testkit.NoError(t, err)
		return transfer.Container(c, "monday/staff", nil)
	},
}

// TestUnusualRows: rows that other tools have lost or changed are the same after an export and an import, and after a copy.
func TestUnusualRows(t *testing.T) {
	t.Parallel()
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, other, at := filled(t, "staff", unusualRows()...), storagetest.New(nil), place(t)
			exported, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, nil)
			testkit.NoError(t, err)
			n := len(unusualRows())
			if exported.Rows != n || exported.Counts["pending"] != 1 || exported.Counts["prepared"] != 1 || exported.Counts["~i"] != 2 || exported.Counts["~t"] != 1 {
				t.Errorf("got %+v; want %d rows, 1 pending, 1 prepared, and 2 and 1 rows of the library", exported, n)
			}
			for i := range 2 { // the second import finds all rows
				imported, err := transfer.Import(t.Context(), transfer.Exported(at), tableOf(t, other, "staff"), nil)
				testkit.NoError(t, err)
				want := table.Progress{Rows: n, Changed: n}
				if i == 1 {
					want = table.Progress{Rows: n, Counts: map[string]int{"same": n}}
				}
				testkit.Expect(t, "report", imported, want)
				expectSame(t, s, "staff", other, "staff")
			}
			_, err = transfer.Copy(t.Context(), tableOf(t, s, "staff"), tableOf(t, other, "copy"), nil)
			testkit.NoError(t, err)
			expectSame(t, s, "staff", other, "copy")
			for d, err := range transfer.Compare(t.Context(), transfer.Exported(at), transfer.Of(tableOf(t, other, "copy")), nil) {
				t.Errorf("got %+v, %v; want no difference", d, err)
			}
		})
	}
}

// TestRequests: what an export and an import send.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := filled(t, "staff", manyRows(1, 950)...)
	at := transfer.Folder(t.TempDir())
	s.Count()
	_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, nil)
	testkit.NoError(t, err)
	testkit.Expect(t, "requests of an export of 950 rows, and of the definitions", s.Count().String(), "2 query")
	other := storagetest.New(nil)
	for _, want := range []string{"1 query, 1 table-create, 10 transaction", "11 query, 1 table-create, 10 transaction"} {
		_, err = transfer.Import(t.Context(), transfer.Exported(at), tableOf(t, other, "staff"), nil)
		testkit.NoError(t, err)
		testkit.Expect(t, "requests of an import of 950 rows", other.Count().String(), want)
	}
}

// TestParallel: a table is exported in several ranges, and each row is in one chunk that is read.
func TestParallel(t *testing.T) {
	t.Parallel()
	for _, form := range [][2]int{{1, 6000}, {2000, 3}, {6, 1000}} {
		t.Run(fmt.Sprint(form[0], " partitions"), func(t *testing.T) {
			t.Parallel()
			s, dir := filled(t, "staff", manyRows(form[0], form[1])...), t.TempDir()
			at := transfer.Folder(dir)
			s.Count()
			report, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, &transfer.ExportOptions{ChunkBytes: 50_000})
			testkit.NoError(t, err)
			sent := s.Count()
			t.Logf("%d chunks, %s", report.Counts["chunks"], sent)
			if n := sent[requests.Query]; n > 60 {
				t.Errorf("got %d queries; want less than 60", n)
			}
			shared, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), transfer.Folder(t.TempDir()), nil)
			testkit.NoError(t, err)
			if shared.Counts["chunks"] < 2 || shared.Rows != 6000 {
				t.Errorf("got %+v; want 6,000 rows in several chunks, one for each range that was given away", shared)
			}
			if report.Rows != 6000 || report.Counts["chunks"] < 6 {
				t.Errorf("got %+v; want 6,000 rows in more than 5 chunks", report)
			}
			files, err := os.ReadDir(dir)
			testkit.NoError(t, err)
			testkit.Expect(t, "files", len(files), report.Counts["chunks"]+1)
			size := int64(0)
			for _, file := range files {
				is, err := file.Info()
				testkit.NoError(t, err)
				if file.Name() != transfer.ManifestName {
					size += is.Size()
				}
			}
			testkit.Expect(t, "bytes", int64(report.Counts["bytes"]), size)
			for d, err := range transfer.Compare(t.Context(), transfer.Exported(at), transfer.Of(tableOf(t, s, "staff")), nil) {
				t.Fatalf("got %+v, %v; want no difference", d, err)
			}
		})
	}
}

// TestImportMap: a function gives rows other keys and properties, or leaves them out; the definitions stay, and its error names the row.
func TestImportMap(t *testing.T) {
	t.Parallel()
	s, other := filled(t, "old", jsonRow("Sales", "1", `"A":1`), jsonRow("Sales", "2", `"A":2`), jsonRow("Sales", "3", `"A":3`), jsonRow("~c", "~c", `"X":1`)), storagetest.New(nil)
	wrong := errors.New("wrong")
	for _, c := range []struct {
		name string
		to   func(*table.Row) (*table.Row, error)
		err  error
		as   any
		text string
	}{
		{"an error", func(*table.Row) (*table.Row, error) { return nil, wrong }, wrong, nil, "row ('Sales','1')"},
		{"the row of the definitions", func(r *table.Row) (*table.Row, error) { return r.At(keys.Raw("~c", "~c")), nil }, nil, new(*table.ValueError), "ImportOptions.Map"},
		{"a key that no row has", func(r *table.Row) (*table.Row, error) { return r.At(keys.Raw("a/b", "c")), nil }, nil, new(*keys.KeyError), "ImportOptions.Map"},
	} {
		_, err := transfer.Import(t.Context(), transfer.Of(tableOf(t, s, "old")), tableOf(t, other, "new"), &transfer.ImportOptions{Map: c.to})
		if c.err != nil && !errors.Is(err, c.err) || c.as != nil && !errors.As(err, c.as) || err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v; want an error with %q", c.name, err, c.text)
		}
	}
	report, err := transfer.Import(t.Context(), transfer.Of(tableOf(t, s, "old")), tableOf(t, other, "new"), &transfer.ImportOptions{Map: func(r *table.Row) (*table.Row, error) {
		if r.Key.RowKey() == "2" {
			return nil, nil
		}
		if err := r.Set("B", true); err != nil {
			return nil, err
		}
		return r.At(keys.Raw("Paris", "9"+r.Key.RowKey())), nil
	}})
	testkit.NoError(t, err)
	testkit.Expect(t, "report", report, table.Progress{Rows: 4, Changed: 3, Skipped: 1})
	expectRows(t, contentOf(other, "new"), `"Paris" "91" A Edm.Int32=1 B Edm.Boolean=true`, `"Paris" "93" A Edm.Int32=3 B Edm.Boolean=true`, `"~c" "~c" X Edm.Int32=1`)
}

func expectRows(t *testing.T, got []string, want ...string) {
	t.Helper()
	testkit.Expect(t, "rows", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

// TestLateLine: a chunk of another process, whose line comes when an export is finished, changes nothing of it.
func TestLateLine(t *testing.T) {
	t.Parallel()
	s := filled(t, "staff", manyRows(1, 2500)...)
	first, second := t.TempDir(), t.TempDir()
	_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), transfer.Folder(first), &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}, ChunkBytes: 1})
	testkit.NoError(t, err)
	_, err = s.Tables().NewClient("staff").DeleteEntity(t.Context(), "p0000", "r02400", nil)
	testkit.NoError(t, err)
	_, err = transfer.Export(t.Context(), tableOf(t, s, "staff"), transfer.Folder(second), nil)
	testkit.NoError(t, err)
	manifest, err := os.ReadFile(filepath.Join(second, transfer.ManifestName))
	testkit.NoError(t, err)
	_, late, _ := strings.Cut(strings.TrimSpace(string(manifest)), "\n")
	file, err := os.OpenFile(filepath.Join(first, transfer.ManifestName), os.O_APPEND|os.O_WRONLY, 0)
	testkit.NoError(t, err)
	_, err = file.WriteString(late + "\n")
	testkit.NoError(t, err)
	testkit.NoError(t, file.Close())
	chunks, err := filepath.Glob(filepath.Join(second, "*.gz"))
	testkit.NoError(t, err)
	for _, c := range chunks {
		b, err := os.ReadFile(c)
		testkit.NoError(t, err)
		testkit.NoError(t, os.WriteFile(filepath.Join(first, filepath.Base(c)), b, 0o600))
	}
	other := storagetest.New(nil)
	report, err := transfer.Import(t.Context(), transfer.Exported(transfer.Folder(first)), tableOf(t, other, "staff"), nil)
	testkit.NoError(t, err)
	if len(chunks) == 0 || report.Rows != 2500 || len(other.Rows("staff")) != 2500 {
		t.Errorf("got %+v with %d chunks besides; want the 2,500 rows of the export that was finished", report, len(chunks))
	}
}
