package wire

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
)

const (
	batchPK, batchRK = "Sales", "empid_000223"
	batchEnd         = `,"_op":"01KA0000000000000000000000"}`
)

var batchJSON = []byte(`{"x":"` + strings.Repeat("x", 600) + `"`)

// batchOperations write one operation each.
var batchOperations = map[string]func(w *BatchWriter, etag string){
	"insert": func(w *BatchWriter, _ string) { w.Insert(batchJSON, batchEnd) },
	"upsert": func(w *BatchWriter, _ string) { w.Update(http.MethodPut, batchPK, batchRK, "", batchJSON, batchEnd) },
	"update": func(w *BatchWriter, etag string) {
		w.Update(http.MethodPatch, batchPK, batchRK, etag, batchJSON, batchEnd)
	},
	"deletion": func(w *BatchWriter, etag string) { w.Delete(batchPK, batchRK, etag) },
}

func batchURL(t *testing.T, address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestBatchWriterRoom: the text of a transaction is allocated once, and not much too large.
func TestBatchWriterRoom(t *testing.T) {
	t.Parallel()
	const n = 100
	etag := string(tag(1234567))
	for name, add := range batchOperations {
		for _, address := range []string{
			"https://account.table.core.windows.net/$batch",
			"http://127.0.0.1:10002/devstoreaccount1/$batch?sv=2019-02-02&tn=staff&sig=" + strings.Repeat("s", 60),
		} {
			w := NewBatchWriter(batchURL(t, address), "staff", n)
			add(w, etag)
			room := w.body.text.Cap()
			for range n - 1 {
				add(w, etag)
			}
			w.Finish()
			if used := w.body.text.Len(); used > room || used < room*2/3 {
				t.Errorf("%s to %.40s: got %d bytes in a buffer of %d; want them to fit, and two thirds of it used", name, address, used, room)
			}
		}
	}
}

// TestBatchBody: a body reads the same from any position and in pieces of any size, and begins again where Seek puts it.
func TestBatchBody(t *testing.T) {
	t.Parallel()
	for name, add := range batchOperations {
		w := NewBatchWriter(batchURL(t, "https://account.table.core.windows.net/$batch"), "staff", 3)
		var want strings.Builder
		for range 3 {
			from := w.body.text.Len()
			add(w, "*")
			text := w.body.text.String()[from:]
			if name != "deletion" {
				text = strings.Replace(text, batchEnd, string(batchJSON)+batchEnd, 1)
			}
			want.WriteString(text)
		}
		body, _ := w.Finish()
		got, err := io.ReadAll(body)
		if err != nil || strings.Count(string(got), want.String()) != 1 {
			t.Fatalf("%s: got %q, error %v; want it to contain %q", name, got, err, want.String())
		}
		if err := iotest.TestReader(io.NewSectionReader(&w.body, 0, w.body.length()), got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for from := range got {
			for _, n := range []int{1, 2, 37, 700} {
				p := make([]byte, n)
				n, err := w.body.ReadAt(p, int64(from))
				if want := got[from:min(from+len(p), len(got))]; string(p[:n]) != string(want) || (err == io.EOF) != (n < len(p)) {
					t.Fatalf("%s: from %d: got %q, error %v; want %q", name, from, p[:n], err, want)
				}
			}
		}
		if n, err := w.body.ReadAt(make([]byte, 1), int64(len(got)+1)); n != 0 || err != io.EOF {
			t.Errorf("%s: behind the end: got %d bytes, error %v; want 0 and io.EOF", name, n, err)
		}
		for range 2 {
			if at, err := body.Seek(0, io.SeekEnd); err != nil || at != int64(len(got)) {
				t.Fatalf("%s: got a length of %d, error %v; want %d", name, at, err, len(got))
			}
			if _, err := body.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			if again, err := io.ReadAll(body); err != nil || string(again) != string(got) {
				t.Fatalf("%s: got %q, error %v; want the same again, %q", name, again, err, got)
			}
		}
	}
}
