package transfer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// someRows is a table of several ranges and chunks.
func someRows() []string { return append(manyRows(3, 400), unusualRows()...) }

var smallChunks = &transfer.ExportOptions{ChunkBytes: 20_000}

// TestExportCrashes: an export that ended at any of its requests, to the table or to the place, is finished by another call, and then complete.
func TestExportCrashes(t *testing.T) {
	t.Parallel()
	s := filled(t, "staff", someRows()...)
	finish := func(t *testing.T, at transfer.Place) {
		t.Helper()
		report, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, smallChunks)
		testkit.NoError(t, err)
		if report.Rows < len(someRows()) {
			t.Fatalf("got %d rows, want %d or more", report.Rows, len(someRows()))
		}
		for d, err := range transfer.Compare(t.Context(), transfer.Exported(at), transfer.Of(tableOf(t, s, "staff")), nil) {
			t.Fatalf("got %+v, %v; want no difference", d, err)
		}
	}
	n := 0
	for i, how := range []transfer.Crash{transfer.Before, transfer.Within, transfer.Behind} { // the second request adds the first line
		for at := 1 + i; ; at += testkit.Sample(1) {
			place := &transfer.Crashing{Place: &transfer.Memory{}, At: at, How: how}
			_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), place, smallChunks)
			if place.Requests() < at {
				testkit.NoError(t, err)
				break
			}
			if !errors.Is(err, transfer.ErrCrash) {
				t.Fatalf("crash %d of request %d: got error %v; want ErrCrash", how, at, err)
			}
			n++
			finish(t, place.Place)
		}
	}
	for i, fault := range []storagetest.Fault{storagetest.Refuse(403, "AuthorizationFailure"), storagetest.Truncate(100)} {
		for at := 1 + i; at < 100; at += testkit.Sample(1) {
			var mu sync.Mutex
			count := 0
			s.SetFaults(func(storagetest.Request) storagetest.Fault {
				mu.Lock()
				defer mu.Unlock()
				if count++; count >= at {
					return fault
				}
				return storagetest.Fault{}
			})
			place := &transfer.Memory{}
			_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), place, smallChunks)
			s.SetFaults(nil)
			if count < at {
				testkit.NoError(t, err)
				break
			}
			if err == nil && fault == storagetest.Refuse(403, "AuthorizationFailure") { // a short response is not cut
				t.Fatalf("%v at request %d: got no error", fault, at)
			}
			n++
			finish(t, place)
		}
	}
	t.Logf("%d crashes", n)
}

// TestImportCrashes: an import that ended at any of its requests, executed or not, is finished by another call.
func TestImportCrashes(t *testing.T) {
	t.Parallel()
	s, at := filled(t, "staff", someRows()...), transfer.Folder(t.TempDir())
	_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, smallChunks)
	testkit.NoError(t, err)
	for i, mode := range []transfer.Mode{transfer.Insert, transfer.Replace, transfer.Newer} {
		for j, fault := range []storagetest.Fault{storagetest.LostRequest(), storagetest.LostResponse(), storagetest.Refuse(403, "AuthorizationFailure"), storagetest.Twice()} {
			for k, from := range testkit.Some([]int{1, 2, 3, 5, 9, 13}) {
				if (i+j+k)%testkit.Sample(1) != 0 { // of a sample, each mode with each fault
					continue
				}
				other := storagetest.New(nil)
				ctx, cancel := context.WithCancel(t.Context())
				var mu sync.Mutex
				count := 0
				other.SetFaults(func(storagetest.Request) storagetest.Fault {
					mu.Lock()
					defer mu.Unlock()
					if count++; count < from {
						return storagetest.Fault{}
					}
					if count > from {
						cancel() // the process has crashed
					}
					return fault
				})
				_, err := transfer.Import(ctx, transfer.Exported(at), tableOf(t, other, "staff"), &transfer.ImportOptions{Pass: table.Pass{Concurrency: 2}, Mode: mode})
				cancel()
				other.SetFaults(nil)
				if err == nil && count >= from && fault != storagetest.Twice() {
					t.Fatalf("mode %d, %v from request %d: got no error", mode, fault, from)
				}
				report, err := transfer.Import(t.Context(), transfer.Exported(at), tableOf(t, other, "staff"), &transfer.ImportOptions{Mode: mode})
				testkit.NoError(t, err)
				if report.Rows != len(someRows()) || report.Counts["kept"] != 0 || report.Changed+report.Counts["same"] != report.Rows {
					t.Fatalf("mode %d, %v from request %d: got %+v; want %d rows, each stored or the same", mode, fault, from, report, len(someRows()))
				}
				expectSame(t, s, "staff", other, "staff")
			}
		}
	}
}

// TestRefusedOnce: a request of an export or an import that is refused, whichever it is, ends that
// with an error, and another call brings all rows with the definitions.
func TestRefusedOnce(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	from := openOffice(s)
	testkit.NoError(t, from.Ensure(t.Context()))
	for i := range 6 {
		_, err := from.staff.Insert(t.Context(), &person{Team: fmt.Sprint(i % 2), ID: i, City: "Oslo"})
		testkit.NoError(t, err)
	}
	for n, over := 1, false; !over; n++ {
		at, other := &transfer.Memory{}, storagetest.New(nil)
		exports := func() error {
			_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, nil)
			return err
		}
		imports := func() error {
			_, err := transfer.Import(t.Context(), transfer.Exported(at), tableOf(t, other, "staff"), nil)
			return err
		}
		refused := 0
		for _, step := range []struct {
			name    string
			service *storagetest.Service
			do      func() error
		}{{"export", s, exports}, {"import", other, imports}, {"import again", other, imports}} {
			var sent atomic.Int32
			step.service.SetFaults(func(storagetest.Request) storagetest.Fault {
				if sent.Add(1) == int32(n) {
					return storagetest.Refuse(403, "AuthorizationFailure")
				}
				return storagetest.Fault{}
			})
			err := step.do()
			step.service.SetFaults(nil)
			if reached := sent.Load() >= int32(n); reached != (err != nil) {
				t.Errorf("%s, request %d refused: %t, got error %v", step.name, n, reached, err)
			} else if reached {
				refused++
				testkit.NoError(t, step.do())
			}
		}
		expectSame(t, s, "staff", other, "staff")
		over = refused == 0
	}
}

// TestLostResponses: responses that are lost now and then cost no row, and no row is stored twice with other content.
func TestLostResponses(t *testing.T) {
	t.Parallel()
	s, at, other := filled(t, "staff", someRows()...), transfer.Folder(t.TempDir()), storagetest.New(nil)
	_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, smallChunks)
	testkit.NoError(t, err)
	for i, mode := range []transfer.Mode{transfer.Insert, transfer.Replace, transfer.Newer} {
		name := fmt.Sprint("staff", i)
		var mu sync.Mutex
		count := 0
		other.SetFaults(func(r storagetest.Request) storagetest.Fault {
			mu.Lock()
			defer mu.Unlock()
			if count++; r.Kind == requests.Transaction && count%3 == 0 {
				return storagetest.LostResponse()
			}
			return storagetest.Fault{}
		})
		report, err := transfer.Import(t.Context(), transfer.Exported(at), tableOf(t, other, name), &transfer.ImportOptions{Mode: mode})
		testkit.NoError(t, err)
		other.SetFaults(nil)
		testkit.Expect(t, "stored or same", report.Changed+report.Counts["same"], len(someRows()))
		expectSame(t, s, "staff", other, name)
	}
}

// TestAltered: an import refuses an export of which something was altered, cut or lost, before it stores a row of that.
func TestAltered(t *testing.T) {
	t.Parallel()
	s := filled(t, "staff", someRows()...)
	chunks := func(dir string) (all []string) {
		files, err := filepath.Glob(filepath.Join(dir, "*.gz"))
		testkit.NoError(t, err)
		return files
	}
	rewrite := func(name string, f func(b []byte) []byte) {
		b, err := os.ReadFile(name)
		testkit.NoError(t, err)
		testkit.NoError(t, os.WriteFile(name, f(b), 0o666))
	}
	manifest := func(dir string, f func(b []byte) []byte) { rewrite(filepath.Join(dir, transfer.ManifestName), f) }
	var (
		ce *transfer.FileError
		me *transfer.FileError
	)
	for name, c := range map[string]struct {
		alter func(dir string)
		want  func(err error) bool
	}{
		"one byte of a chunk": {func(dir string) {
			rewrite(chunks(dir)[1], func(b []byte) []byte { b[len(b)/2]++; return b })
		}, func(err error) bool { return errors.As(err, &ce) }},
		"one value in a chunk": {func(dir string) {
			rewrite(chunks(dir)[1], func(b []byte) []byte {
				return zipped(t, bytes.Replace(unzipped(t, b), []byte(`"name 5"`), []byte(`"name 6"`), 1))
			})
		}, func(err error) bool { return errors.As(err, &ce) }},
		"a chunk is cut": {func(dir string) {
			rewrite(chunks(dir)[1], func(b []byte) []byte { return b[:len(b)-10] })
		}, func(err error) bool { return errors.As(err, &ce) }},
		"a chunk is lost": {func(dir string) { testkit.NoError(t, os.Remove(chunks(dir)[1])) }, func(err error) bool { return errors.As(err, &ce) && errors.Is(err, fs.ErrNotExist) }},
		"two chunks are exchanged": {func(dir string) {
			all := chunks(dir)
			testkit.NoError(t, os.Rename(all[0], dir+"/x"))
			testkit.NoError(t, os.Rename(all[1], all[0]))
			testkit.NoError(t, os.Rename(dir+"/x", all[1]))
		}, func(err error) bool { return errors.As(err, &ce) }},
		"a line of the manifest is lost": {func(dir string) {
			manifest(dir, func(b []byte) []byte {
				lines := bytes.SplitAfter(b, []byte("}\n"))
				return bytes.Join(append(lines[:2:2], lines[3:]...), nil)
			})
		}, func(err error) bool { return errors.Is(err, table.ErrIncomplete) }},
		"a line of the manifest is altered": {func(dir string) {
			manifest(dir, func(b []byte) []byte { return bytes.Replace(b, []byte(`"rows":`), []byte(`"rows":1`), 1) })
		}, func(err error) bool { return errors.As(err, &me) && !errors.Is(err, table.ErrIncomplete) }},
		"the first line is lost": {func(dir string) {
			manifest(dir, func(b []byte) []byte { _, rest, _ := bytes.Cut(b, []byte("}\n")); return rest })
		}, func(err error) bool { return errors.As(err, &me) }},
		"another version": {func(dir string) {
			writeManifest(t, dir, `{"format":"aztablekit-export/2"}`)
		}, func(err error) bool { return errors.As(err, &me) && strings.Contains(err.Error(), "export/2") }},
		"another file":   {func(dir string) { manifest(dir, func([]byte) []byte { return []byte("PK,RK\n1,2\n") }) }, func(err error) bool { return errors.As(err, &me) }},
		"an empty file":  {func(dir string) { manifest(dir, func([]byte) []byte { return nil }) }, func(err error) bool { return errors.As(err, &me) }},
		"no manifest":    {func(dir string) { testkit.NoError(t, os.Remove(filepath.Join(dir, transfer.ManifestName))) }, func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		"a cut manifest": {func(dir string) { manifest(dir, func(b []byte) []byte { return b[:len(b)-30] }) }, func(err error) bool { return errors.Is(err, table.ErrIncomplete) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			at := transfer.Folder(dir)
			_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}, ChunkBytes: 30_000})
			testkit.NoError(t, err)
			c.alter(dir)
			other := storagetest.New(nil)
			_, err = transfer.Import(t.Context(), transfer.Exported(at), tableOf(t, other, "staff"), nil)
			if err == nil || !c.want(err) {
				t.Errorf("got error %v; want another one", err)
			}
			if len(other.Rows("staff")) == len(s.Rows("staff")) {
				t.Error("got all rows; want those of the wrong chunk left out")
			}
		})
	}
}

// manifestLines returns the lines of a manifest without their checksums.
func manifestLines(t testing.TB, dir string) (lines []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, transfer.ManifestName))
	testkit.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		if i := strings.LastIndex(line, `,"crc"`); i > 0 {
			lines = append(lines, line[:i]+"}")
		}
	}
	return lines
}

// writeManifest writes lines with their checksums.
func writeManifest(t testing.TB, dir string, lines ...string) {
	t.Helper()
	var b []byte
	for _, line := range lines {
		b = fmt.Appendf(b, "%s,\"crc\":\"%08x\"}\n", line[:len(line)-1], crc32.ChecksumIEEE([]byte(line)))
	}
	testkit.NoError(t, os.WriteFile(filepath.Join(dir, transfer.ManifestName), b, 0o666))
}

func unzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	testkit.NoError(t, err)
	all, err := io.ReadAll(z)
	testkit.NoError(t, err)
	return all
}

func zipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(text)
	testkit.NoError(t, err)
	testkit.NoError(t, z.Close())
	return b.Bytes()
}

// TestLeftovers: a chunk without a line, lines in any order, twice, or cut by a crash make no difference.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	s, dir, other := filled(t, "staff", someRows()...), t.TempDir(), storagetest.New(nil)
	at := transfer.Folder(dir)
	_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, smallChunks)
	testkit.NoError(t, err)
	name := filepath.Join(dir, transfer.ManifestName)
	b, err := os.ReadFile(name)
	testkit.NoError(t, err)
	lines := bytes.SplitAfter(b, []byte("}\n"))
	var mixed []byte
	mixed = append(mixed, lines[0]...)
	for i := len(lines) - 1; i > 0; i-- {
		mixed = append(append(mixed, lines[i]...), lines[i][:len(lines[i])/2]...)
		mixed = append(mixed, lines[i]...)
	}
	testkit.NoError(t, os.WriteFile(name, mixed, 0o666))
	testkit.NoError(t, os.WriteFile(filepath.Join(dir, "000001-0123456789abcdef.ndjson.gz"), []byte("left by a crash"), 0o666))
	_, err = transfer.Import(t.Context(), transfer.Exported(at), tableOf(t, other, "staff"), nil)
	testkit.NoError(t, err)
	expectSame(t, s, "staff", other, "staff")
}

// TestChangingTable: rows that are not written during an export are in it, whatever happens to the others.
func TestChangingTable(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s, at := filled(t, "staff", manyRows(4, 1500)...), transfer.Folder(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	client := s.Tables().NewClient("staff")
	g.Go(func() error {
		for i := 0; ctx.Err() == nil; i++ {
			pk, rk := fmt.Sprintf("p%04d", i%4), fmt.Sprintf("r%05d", i*37%1500)
			if i%37 != 0 {
				rk += "x" // a new row
			}
			if _, err := client.UpsertEntity(t.Context(), []byte(jsonRow(pk, rk, `"N":-1`)), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace}); err != nil {
				return err
			}
		}
		return nil
	})
	_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, &transfer.ExportOptions{ChunkBytes: 20_000})
	cancel()
	testkit.NoError(t, err)
	testkit.NoError(t, g.Wait())
	if len(s.Rows("staff")) == 6000 {
		t.Error("got no row that was written meanwhile; want some")
	}
	for d, err := range transfer.Compare(t.Context(), transfer.Exported(at), transfer.Of(tableOf(t, s, "staff")), nil) {
		testkit.NoError(t, err)
		if d.Kind == transfer.OnlyFirst {
			t.Errorf("got %+v; want no row that was never there", d)
		}
		e, err := client.GetEntity(t.Context(), d.Key.PartitionKey(), d.Key.RowKey(), nil)
		if err != nil || !strings.Contains(string(e.Value), `"N":-1`) {
			t.Errorf("%v: got %s, %v; want only rows that were written meanwhile to differ", d.Key, e.Value, err)
		}
	}
}

// TestTwoAtOnce: two processes may export into one place, and two may import into one table.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	s, at, other := filled(t, "staff", someRows()...), transfer.Folder(t.TempDir()), storagetest.New(nil)
	twice := func(f func() error) {
		t.Helper()
		var g errgroup.Group
		g.Go(f)
		g.Go(f)
		testkit.NoError(t, g.Wait())
	}
	twice(func() error {
		_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, smallChunks)
		return err
	})
	twice(func() error {
		_, err := transfer.Import(t.Context(), transfer.Exported(at), tableOf(t, other, "staff"), nil)
		return err
	})
	expectSame(t, s, "staff", other, "staff")
}

// TestOverlap: of two chunks with common rows, as two processes make them, each row is read once.
func TestOverlap(t *testing.T) {
	t.Parallel()
	s, dir := filled(t, "staff", manyRows(1, 5000)...), t.TempDir()
	at := transfer.Folder(dir)
	name := filepath.Join(dir, transfer.ManifestName)
	var lines []byte
	for _, size := range []int{1, 200_000} {
		_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}, ChunkBytes: size})
		testkit.NoError(t, err)
		b, err := os.ReadFile(name)
		testkit.NoError(t, err)
		lines = append(lines, b...)
		testkit.NoError(t, os.Remove(name)) // the second export begins anew, with chunks of another size
	}
	testkit.NoError(t, os.WriteFile(name, lines, 0o666))
	other := storagetest.New(nil)
	report, err := transfer.Import(t.Context(), transfer.Exported(at), tableOf(t, other, "staff"), nil)
	testkit.NoError(t, err)
	testkit.Expect(t, "report", report, table.Progress{Rows: 5000, Changed: 5000})
	expectSame(t, s, "staff", other, "staff")
}

// TestNeighbours: spans whose ends are close together, and keys that begin with other keys, are divided, also if there is nothing between them.
func TestNeighbours(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	var rows []string
	for _, pk := range []string{"J", "John", "John Smith", "John!", "K"} {
		for i := range 3500 {
			rows = append(rows, jsonRow(pk, fmt.Sprintf("%05d", i), ""))
		}
	}
	s := filled(t, "staff", rows...)
	for _, end := range []string{"John ", "John Smith", "John!", "John!!", "K"} {
		at, other := transfer.Folder(t.TempDir()), storagetest.New(nil)
		in := keys.RawPartitions("J", end)
		report, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, &transfer.ExportOptions{Pass: table.Pass{Partitions: in}})
		testkit.NoError(t, err)
		_, err = transfer.Import(t.Context(), transfer.Exported(at), tableOf(t, other, "staff"), nil)
		testkit.NoError(t, err)
		want := 0
		for _, r := range s.Rows("staff") {
			if in.Contains(r.PartitionKey) {
				want++
			}
		}
		testkit.Expect(t, "rows before "+end, len(other.Rows("staff")), want)
		testkit.Expect(t, "rows in the report", report.Rows, want)
	}
}

// TestOtherNames: a line of the manifest with a name that no chunk has, such as one of a file elsewhere, is refused.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	s, dir := filled(t, "staff", manyRows(1, 3)...), t.TempDir()
	at := transfer.Folder(dir)
	_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, nil)
	testkit.NoError(t, err)
	lines := manifestLines(t, dir)
	writeManifest(t, dir, lines[0], strings.Replace(lines[1], `"chunk":"`, `"chunk":"../`, 1))
	_, err = transfer.Import(t.Context(), transfer.Exported(at), tableOf(t, storagetest.New(nil), "staff"), nil)
	if !errors.As(err, new(*transfer.FileError)) || !strings.Contains(err.Error(), "no chunk has") {
		t.Errorf("got error %v; want a *FileError about the name", err)
	}
}

// TestEmptyRanges: chunks of equal content, such as those of ranges without rows, each count for their own range.
func TestEmptyRanges(t *testing.T) {
	t.Parallel()
	s, dir := filled(t, "staff", manyRows(1, 3)...), t.TempDir()
	at := transfer.Folder(dir)
	_, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, nil)
	testkit.NoError(t, err)
	lines := manifestLines(t, dir)
	part := func(span string) string { return strings.Replace(lines[1], `"from":["",""]`, span, 1) }
	// Two lines of one chunk: that of the rows, and one of the same name for what is behind.
	writeManifest(t, dir, lines[0], part(`"from":["",""],"to":["p0001",""]`), part(`"from":["p0001",""]`))
	report, err := transfer.Export(t.Context(), tableOf(t, s, "staff"), at, nil)
	testkit.NoError(t, err)
	testkit.Expect(t, "chunks", report.Counts["chunks"], 2)
	files, err := os.ReadDir(dir)
	testkit.NoError(t, err)
	testkit.Expect(t, "files: the manifest, and one chunk", len(files), 2)
}
