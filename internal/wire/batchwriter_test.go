package wire

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// raw is JSON.
type raw string

func (r raw) Append(b []byte) []byte { return append(b, r...) }

// TestBatchWriterRoom: the buffer of a transaction is allocated once, and not much too large.
func TestBatchWriterRoom(t *testing.T) {
	t.Parallel()
	const n, pk, rk = 100, "Sales", "empid_000223"
	etag := string(tag(1234567))
	entity := raw(strings.Repeat("x", 600))
	for name, add := range map[string]func(*BatchWriter){
		"inserts":   func(w *BatchWriter) { w.Insert(entity) },
		"upserts":   func(w *BatchWriter) { w.Update(http.MethodPut, pk, rk, "", entity) },
		"updates":   func(w *BatchWriter) { w.Update(http.MethodPatch, pk, rk, etag, entity) },
		"deletions": func(w *BatchWriter) { w.Delete(pk, rk, etag) },
	} {
		for _, address := range []string{
			"https://account.table.core.windows.net/$batch",
			"http://127.0.0.1:10002/devstoreaccount1/$batch?sv=2019-02-02&tn=staff&sig=" + strings.Repeat("s", 60),
		} {
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			size := n * (len(entity) + 3*(len(pk)+len(rk)))
			if name == "deletions" {
				size -= n * len(entity)
			}
			w := NewBatchWriter(u, "staff", n, size)
			room := cap(w.b)
			for range n {
				add(w)
			}
			if body, _ := w.Finish(); len(body) > room || len(body) < room*2/3 {
				t.Errorf("%s to %.40s: got %d bytes in a buffer of %d; want them to fit, and two thirds of it used", name, address, len(body), room)
			}
		}
	}
}
