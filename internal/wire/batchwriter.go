package wire

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// BatchWriter writes the body of a transaction, as the SDK writes it: the same headers in the same order. But the quotes of keys are
// doubled in addresses only, where the service requires it. The JSON of the entities is not copied.
type BatchWriter struct {
	body   batchBody
	table  string // the address of the table
	query  string // of an address, with its question mark
	format string // query with the format of the response, which the SDK adds to inserts and deletions

	first int // where the first operation begins
	left  int // operations for which there is no room yet

	// The last beginning of an operation on a row, up to the RowKey, and what it was made of.
	beginning, method, partitionKey string
}

// No line of a body begins like a boundary, since JSON escapes the ends of lines.
const (
	batchBoundary  = "batch_7983230d-52ec-4114-7b65-5a94c929b9b6"
	changeBoundary = "changeset_795fc080-16ab-4865-6969-e452743e487a"
)

// NewBatchWriter begins a transaction of n operations. u is the URL of the request.
func NewBatchWriter(u *url.URL, table string, n int) *BatchWriter {
	w := &BatchWriter{left: n, table: u.Scheme + "://" + u.Host + strings.TrimSuffix(u.EscapedPath(), "$batch") + table}
	q := u.Query()
	if len(q) > 0 {
		w.query = "?" + q.Encode()
	}
	q.Set("$format", "application/json;odata=minimalmetadata")
	w.format = "?" + q.Encode()
	w.body.entities = make([]batchEntity, 0, n)
	w.body.text.Grow(640) // for one
	w.text("--" + batchBoundary + "\r\nContent-Type: multipart/mixed; boundary=" + changeBoundary + "\r\n\r\n")
	w.first = w.body.text.Len()
	return w
}

func (w *BatchWriter) text(s string) { w.body.text.WriteString(s) }

// begin writes the beginning of the request line of an operation.
func (w *BatchWriter) begin(method string) {
	w.text("--" + changeBoundary + "\r\nContent-Transfer-Encoding: binary\r\nContent-Type: application/http\r\n\r\n")
	w.text(method)
	w.text(" ")
	w.text(w.table)
}

// end ends the request line.
func (w *BatchWriter) end(query string) {
	w.text(query)
	w.text(" HTTP/1.1\r\n")
}

// row writes the beginning of the request line of an operation on a row.
func (w *BatchWriter) row(method, partitionKey, rowKey string) {
	if w.beginning != "" && w.method == method && w.partitionKey == partitionKey {
		w.text(w.beginning)
	} else {
		from := w.body.text.Len()
		w.begin(method)
		w.text("(PartitionKey='")
		w.text(escaped(partitionKey))
		w.text("',RowKey='")
		w.beginning, w.method, w.partitionKey = w.body.text.String()[from:], method, partitionKey
	}
	w.text(escaped(rowKey))
	w.text("')")
}

func escaped(key string) string {
	for i := range len(key) {
		if c := key[i] | 0x20; (c < 'a' || c > 'z') && (key[i] < '0' || key[i] > '9') && key[i] != '_' && key[i] != '-' {
			return url.PathEscape(Doubled(key))
		}
	}
	return key // as most are
}

// versions are the headers that the SDK writes without a value.
const versions = "DataServiceVersion: \r\n"

// Insert writes an insert. The JSON of the entity is in two parts.
func (w *BatchWriter) Insert(json []byte, end string) {
	w.begin(http.MethodPost)
	w.end(w.format)
	w.text("Accept: application/json;odata=minimalmetadata\r\n")
	w.entity(json, end, versions+"Prefer: return-no-content\r\n", "")
}

// Update writes an update or upsert of a row: PUT replaces it, PATCH merges. match is "" for an upsert. The JSON of the entity is in two
// parts.
func (w *BatchWriter) Update(method, partitionKey, rowKey, match string, json []byte, end string) {
	w.row(method, partitionKey, rowKey)
	w.end(w.query)
	w.text("Accept: application/json\r\n")
	w.entity(json, end, versions, match)
}

// entity writes the headers of an entity and the entity.
func (w *BatchWriter) entity(json []byte, end, headers, match string) {
	w.text("Content-Length: ")
	var room [20]byte
	w.body.text.Write(strconv.AppendInt(room[:0], int64(len(json)+len(end)), 10))
	w.text("\r\nContent-Type: application/json\r\n")
	w.text(headers)
	w.match(match)
	w.text("x-ms-version: \r\n\r\n")
	w.body.put(json)
	w.text(end)
	w.text("\r\n")
	w.room()
}

// room makes room for the other operations once the first is written: they are about as long.
func (w *BatchWriter) room() {
	const more = 8 // for longer keys and numbers
	if w.left > 0 {
		w.body.text.Grow((w.left - 1) * (w.body.text.Len() - w.first + more))
		w.left = 0
	}
}

// match writes the condition of an operation.
func (w *BatchWriter) match(etag string) {
	if etag != "" {
		w.text("If-Match: ")
		w.text(etag)
		w.text("\r\n")
	}
}

// Delete writes a deletion.
func (w *BatchWriter) Delete(partitionKey, rowKey, match string) {
	w.row(http.MethodDelete, partitionKey, rowKey)
	w.end(w.format)
	w.text("Accept: application/json;odata=minimalmetadata\r\n" + versions)
	w.match(match)
	w.text("x-ms-version: \r\n\r\n\r\n")
	w.room()
}

// Finish returns the body and its type.
func (w *BatchWriter) Finish() (body io.ReadSeeker, contentType string) {
	w.text("--" + changeBoundary + "--\r\n\r\n--" + batchBoundary + "--\r\n")
	return io.NewSectionReader(&w.body, 0, w.body.length()), "multipart/mixed; boundary=" + batchBoundary
}
