package transfer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// texts are the values of some documents: in the entity itself, of one request, of several, and of exactly two blocks.
var texts = []string{"short", strings.Repeat("text ", 10_000), strings.Repeat("large ", 3<<19), strings.Repeat("16 bytes exactly", 1<<20)}

// documents are two for each text, in two folders.
func documents() (all []document) {
	for i := range 2 * len(texts) {
		all = append(all, document{Folder: []string{"a/b", "ä~"}[i%2], Name: fmt.Sprint("name", i/2)})
	}
	return all
}

// addDocuments stores some of the documents with their texts.
func addDocuments(t testing.TB, a *archiveStore, numbers ...int) {
	t.Helper()
	testkit.NoError(t, a.Ensure(t.Context()))
	for i, d := range documents() {
		if len(numbers) > 0 && !slices.Contains(numbers, i) {
			continue
		}
		b, err := a.texts.Upload(t.Context(), a.documents, a.documents.Key(d), strings.NewReader(texts[i/2]), "text/plain")
		testkit.NoError(t, err)
		d.Text = b
		_, err = a.documents.Insert(t.Context(), &d)
		testkit.NoError(t, err)
	}
}

// readText reads a value.
func readText(ctx context.Context, a *archiveStore, b largeentity.Blob) ([]byte, error) {
	r, err := a.texts.Open(ctx, a.documents, b)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// expectDocuments reads all values.
func expectDocuments(t testing.TB, a *archiveStore) {
	t.Helper()
	for i, d := range documents() {
		e, err := a.documents.Get(t.Context(), a.documents.Key(d))
		testkit.NoError(t, err)
		got, err := readText(t.Context(), a, e.Value.Text)
		if err != nil || string(got) != texts[i/2] {
			t.Errorf("%v: got %d bytes, %v; want %d", d, len(got), err, len(texts[i/2]))
		}
	}
}

// TestBlobs: the blobs of a table go along with its export, to a folder and to a container, and come back in another account; blobs that are there are not copied
// again.
func TestBlobs(t *testing.T) {
	t.Parallel()
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, at := t.Context(), place(t)
			s, other := storagetest.New(nil), storagetest.New(nil)
			from, to := openArchive(s), openArchive(other)
			addDocuments(t, from)
			_, err := transfer.Export(ctx, from.documents, at, nil)
			testkit.NoError(t, err)
			n, length := 0, 0
			for _, text := range texts[1:] {
				n, length = n+2, length+2*len(text)
			}
			for _, want := range []table.Progress{{Rows: n, Changed: n, Counts: map[string]int{"bytes": length}}, {Rows: n, Counts: map[string]int{"same": n}}} {
				var calls []table.Progress
				o := &table.Pass{Progress: func(r table.Progress) { calls = append(calls, r) }}
				got, err := transfer.CopyBlobs(ctx, transfer.Exported(at), transfer.Container(s.Blobs().NewContainerClient("texts"), "", nil), at, o)
				testkit.NoError(t, err)
				testkit.Expect(t, "backup", got, want)
				if len(calls) != n || !reflect.DeepEqual(calls[n-1], want) {
					t.Errorf("got progress %+v; want %d calls, the last with %+v", calls, n, want)
				}
			}

			testkit.NoError(t, to.Ensure(ctx))
			_, err = transfer.Import(ctx, transfer.Exported(at), to.documents, nil)
			testkit.NoError(t, err)
			other.Count()
			got, err := transfer.CopyBlobs(ctx, transfer.Exported(at), at, transfer.Container(other.Blobs().NewContainerClient("texts"), "", nil), nil)
			testkit.NoError(t, err)
			testkit.Expect(t, "restore", got, table.Progress{Rows: n, Changed: n, Counts: map[string]int{"bytes": length}})
			testkit.Expect(t, "requests of the restore", other.Count().String(), "4 blob-commit, 2 blob-create, 6 blob-properties, 8 blob-stage")
			expectDocuments(t, to)
			swept, err := to.texts.Sweep(ctx, to.documents, &table.Pass{DryRun: true})
			testkit.NoError(t, err)
			if swept.Counts["linked"] != n || swept.Faults != 0 || swept.Changed != 0 {
				t.Errorf("got %+v; want %d blobs that entities link", swept, n)
			}
		})
	}
}

// TestLostBlobs: a blob that is not there, or is not what its entity says, is counted, and the others are copied. No other blob of the name is replaced.
func TestLostBlobs(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	ctx, s := t.Context(), storagetest.New(nil)
	from := openArchive(s)
	addDocuments(t, from)
	source, backup := s.Blobs().NewContainerClient("texts"), transfer.Folder(t.TempDir())
	name := func(folder, name string) string {
		e, err := from.documents.Get(ctx, from.documents.Key(document{Folder: folder, Name: name}))
		testkit.NoError(t, err)
		return e.Value.Text.Name()
	}
	_, err := source.NewBlobClient(name("a/b", "name1")).Delete(ctx, nil)
	testkit.NoError(t, err)
	for n, content := range map[string]string{name("ä~", "name1"): "cut", name("a/b", "name2"): texts[2] + "!", name("ä~", "name2"): "!" + texts[2][1:]} {
		_, err := source.NewBlockBlobClient(n).Upload(ctx, streaming.NopCloser(bytes.NewReader([]byte(content))), nil)
		testkit.NoError(t, err)
	}
	lost := map[string]int{}
	report, err := transfer.CopyBlobs(ctx, transfer.Of(from.documents), transfer.Container(source, "", nil), backup, &table.Pass{Skip: func(k keys.Key, err error) bool {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			lost["missing"]++
		case errors.Is(err, table.ErrAltered):
			lost["altered"]++
		}
		return true
	}})
	testkit.NoError(t, err)
	if report.Rows != 6 || report.Faults != 4 || report.Changed != 2 || fmt.Sprint(lost) != "map[altered:3 missing:1]" {
		t.Errorf("got %+v, %v; want 6 blobs, of these 1 missing and 3 altered", report, lost)
	}

	other := storagetest.New(nil).Blobs().NewContainerClient("texts")
	to := transfer.Container(other, "", nil)
	if _, err := transfer.CopyBlobs(ctx, transfer.Of(from.documents), backup, to, nil); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("got error %v; want ErrNotCreated", err)
	}
	_, err = other.Create(ctx, nil)
	testkit.NoError(t, err)
	taken := name("ä~", "name3")
	_, err = other.NewBlockBlobClient(taken).Upload(ctx, streaming.NopCloser(strings.NewReader("another")), nil)
	testkit.NoError(t, err)
	if _, err := transfer.CopyBlobs(ctx, transfer.Of(from.documents), backup, to, nil); !errors.Is(err, table.ErrAltered) || !strings.Contains(err.Error(), taken) {
		t.Errorf("got error %v; want ErrAltered for %s", err, taken)
	}
}

// TestBlobCrashes: a copy of blobs that ended at any of its requests leaves no part of a blob, and another call ends it.
func TestBlobCrashes(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	ctx, s := t.Context(), storagetest.New(nil)
	from := openArchive(s)
	addDocuments(t, from, 2, 4)
	source := transfer.Container(s.Blobs().NewContainerClient("texts"), "", nil)
	n := 0
	for i, fault := range testkit.Some([]storagetest.Fault{storagetest.LostRequest(), storagetest.LostResponse(), storagetest.Refuse(403, "AuthorizationFailure"), storagetest.Truncate(1000), storagetest.Twice()}) {
		for at := 1 + i%testkit.Sample(1); ; at += testkit.Sample(1) {
			other := storagetest.New(nil)
			container := other.Blobs().NewContainerClient("texts")
			_, err := container.Create(ctx, nil)
			testkit.NoError(t, err)
			to := transfer.Container(container, "", nil)
			count := 0
			other.SetFaults(func(storagetest.Request) storagetest.Fault {
				if count++; count == at {
					return fault
				}
				return storagetest.Fault{}
			})
			_, err = transfer.CopyBlobs(ctx, transfer.Of(from.documents), source, to, &table.Pass{Concurrency: 1})
			other.SetFaults(nil)
			if count < at {
				testkit.NoError(t, err)
				break
			}
			n++
			got, err := transfer.CopyBlobs(ctx, transfer.Of(from.documents), source, to, nil)
			testkit.NoError(t, err)
			if got.Rows != 2 || got.Faults != 0 {
				t.Fatalf("%v at request %d: got %+v; want 2 blobs, none lost", fault, at, got)
			}
			dir := t.TempDir()
			got, err = transfer.CopyBlobs(ctx, transfer.Of(from.documents), to, transfer.Folder(dir), nil)
			testkit.NoError(t, err)
			if got.Changed != 2 {
				t.Fatalf("%v at request %d: got %+v; want 2 blobs that are whole", fault, at, got)
			}
			if parts, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*.part-*")); len(parts) > 0 {
				t.Errorf("got parts %q", parts)
			}
		}
	}
	t.Logf("%d crashes", n)
}

// TestBlobsOfWrites: the blob that a write under way has prepared is copied, too: the entity that
// it becomes has no other. A derived row has none of its own.
func TestBlobsOfWrites(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), storagetest.New(nil)
	from, names := s.Blobs().NewContainerClient("files"), []string{}
	_, err := from.Create(ctx, nil)
	testkit.NoError(t, err)
	var rows []string
	for i, key := range []string{"1", "~t|01J9ZZZZZZ0123456789ABCDEF|1", "~x|1"} {
		name := blobs.Join("files", "a", fmt.Sprintf("01KAJ5ZVW0ABCDEFGHJKMNPQR%d", i))
		names = append(names, name)
		_, err := from.NewBlockBlobClient(name).Upload(ctx, streaming.NopCloser(strings.NewReader("content")), nil)
		testkit.NoError(t, err)
		rows = append(rows, jsonRow("a", key, fmt.Sprintf(`"TextBlob":%q,"TextSize":"7","TextSize@odata.type":"Edm.Int64","TextSHA256":"%x"`, name, sha256.Sum256([]byte("content")))))
	}
	fill(t, s, "files", rows...)
	to := storagetest.New(nil).Blobs().NewContainerClient("files")
	_, err = to.Create(ctx, nil)
	testkit.NoError(t, err)
	report, err := transfer.CopyBlobs(ctx, transfer.Of(tableOf(t, s, "files")), transfer.Container(from, "", nil), transfer.Container(to, "", nil), nil)
	testkit.NoError(t, err)
	testkit.Expect(t, "report", report, table.Progress{Rows: 2, Changed: 2, Counts: map[string]int{"bytes": 14}})
	for i, name := range names {
		_, err := to.NewBlobClient(name).GetProperties(ctx, nil)
		if (err == nil) != (i < 2) {
			t.Errorf("blob of row %d: got error %v; want it copied: %t", i, err, i < 2)
		}
	}
}

// TestBlobOfOtherContent: a blob that has the name and the length of one, and another hash, is
// another blob; one without a hash is the same.
func TestBlobOfOtherContent(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	name, sum := blobs.Join("files", "a", "01KAJ5ZVW0ABCDEFGHJKMNPQRS"), fmt.Sprintf("%x", sha256.Sum256([]byte("content")))
	s := storagetest.New(nil)
	fill(t, s, "files", jsonRow("a", "1", fmt.Sprintf(`"TextBlob":%q,"TextSize":"7","TextSize@odata.type":"Edm.Int64","TextSHA256":%q`, name, sum)))
	from := s.Blobs().NewContainerClient("files")
	_, err := from.Create(ctx, nil)
	testkit.NoError(t, err)
	_, err = from.NewBlockBlobClient(name).Upload(ctx, streaming.NopCloser(strings.NewReader("content")), nil)
	testkit.NoError(t, err)
	other := fmt.Sprintf("%x", sha256.Sum256([]byte("another")))
	for what, c := range map[string]struct {
		sum  *string
		want error
	}{"another hash": {&other, table.ErrAltered}, "its hash": {&sum, nil}, "no hash": {nil, nil}} {
		to := storagetest.New(nil).Blobs().NewContainerClient("files")
		_, err := to.Create(ctx, nil)
		testkit.NoError(t, err)
		o := &blockblob.UploadOptions{}
		if c.sum != nil {
			o.Metadata = map[string]*string{"Sha256": c.sum}
		}
		_, err = to.NewBlockBlobClient(name).Upload(ctx, streaming.NopCloser(strings.NewReader("another")), o)
		testkit.NoError(t, err)
		report, err := transfer.CopyBlobs(ctx, transfer.Of(tableOf(t, s, "files")), transfer.Container(from, "", nil), transfer.Container(to, "", nil), nil)
		if !errors.Is(err, c.want) || c.want == nil && report.Counts["same"] != 1 {
			t.Errorf("%s: got %+v, %v; want error %v", what, report, err, c.want)
		}
	}
}
