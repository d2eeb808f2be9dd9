package wire

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// BatchWriter writes the body of a transaction into one buffer, as the SDK writes it: the same headers in the same order. But the
// quotes of keys are doubled in addresses only, where the service requires it.
type BatchWriter struct {
	b      []byte
	table  string // the address of the table
	query  string // of an address, with its question mark
	format string // query with the format of the response, which the SDK adds to inserts and deletions
}

// JSON is what a BatchWriter writes of an operation.
type JSON interface {
	// Append appends the JSON of the entity.
	Append(b []byte) []byte
}

// No line of a body begins like a boundary, since JSON escapes the ends of lines.
const (
	batchBoundary  = "batch_7983230d-52ec-4114-7b65-5a94c929b9b6"
	changeBoundary = "changeset_795fc080-16ab-4865-6969-e452743e487a"

	bytesOfPart = 320 // of an operation besides its address and its entity
)

// NewBatchWriter begins a transaction of n operations, of so many bytes of JSON. u is the URL of the request.
func NewBatchWriter(u *url.URL, table string, n, size int) *BatchWriter {
	w := &BatchWriter{table: u.Scheme + "://" + u.Host + strings.TrimSuffix(u.EscapedPath(), "$batch") + table}
	q := u.Query()
	if len(q) > 0 {
		w.query = "?" + q.Encode()
	}
	q.Set("$format", "application/json;odata=minimalmetadata")
	w.format = "?" + q.Encode()
	w.b = make([]byte, 0, 256+size+n*(bytesOfPart+len(w.table)+len(w.format)))
	w.b = append(w.b, "--"+batchBoundary+"\r\nContent-Type: multipart/mixed; boundary="+changeBoundary+"\r\n\r\n"...)
	return w
}

// begin writes the beginning of the request line of an operation.
func (w *BatchWriter) begin(method string) {
	w.b = append(w.b, "--"+changeBoundary+"\r\nContent-Transfer-Encoding: binary\r\nContent-Type: application/http\r\n\r\n"...)
	w.b = append(w.b, method...)
	w.b = append(w.b, ' ')
	w.b = append(w.b, w.table...)
}

// end ends the request line.
func (w *BatchWriter) end(query string) {
	w.b = append(w.b, query...)
	w.b = append(w.b, " HTTP/1.1\r\n"...)
}

// row writes the address of a row in the table.
func (w *BatchWriter) row(partitionKey, rowKey string) {
	w.b = append(append(w.b, "(PartitionKey='"...), escaped(partitionKey)...)
	w.b = append(append(append(w.b, "',RowKey='"...), escaped(rowKey)...), "')"...)
}

func escaped(key string) string { return url.PathEscape(Doubled(key)) }

// versions are the headers that the SDK writes without a value.
const versions = "DataServiceVersion: \r\n"

// Insert writes an insert.
func (w *BatchWriter) Insert(entity JSON) {
	w.begin(http.MethodPost)
	w.end(w.format)
	w.b = append(w.b, "Accept: application/json;odata=minimalmetadata\r\n"...)
	w.entity(entity, versions+"Prefer: return-no-content\r\n", "")
}

// Update writes an update or upsert of a row: PUT replaces it, PATCH merges. match is "" for an upsert.
func (w *BatchWriter) Update(method, partitionKey, rowKey, match string, entity JSON) {
	w.begin(method)
	w.row(partitionKey, rowKey)
	w.end(w.query)
	w.b = append(w.b, "Accept: application/json\r\n"...)
	w.entity(entity, versions, match)
}

// entity writes the headers of an entity and the entity. The length precedes the entity and is known behind it: the entity moves to
// the digits that the length has.
func (w *BatchWriter) entity(entity JSON, headers, match string) {
	const most = "1234567890" // no length has more digits
	w.b = append(w.b, "Content-Length: "...)
	digits := len(w.b)
	w.b = append(w.b, most...)
	from := len(w.b)
	w.b = append(w.b, "\r\nContent-Type: application/json\r\n"...)
	w.b = append(w.b, headers...)
	w.match(match)
	w.b = append(w.b, "x-ms-version: \r\n\r\n"...)
	body := len(w.b)
	w.b = entity.Append(w.b)
	length := strconv.AppendInt(nil, int64(len(w.b)-body), 10)
	moved := append(append(w.b[:digits], length...), w.b[from:]...)
	w.b = append(moved, "\r\n"...)
}

// match writes the condition of an operation.
func (w *BatchWriter) match(etag string) {
	if etag != "" {
		w.b = append(w.b, "If-Match: "...)
		w.b = append(w.b, etag...)
		w.b = append(w.b, "\r\n"...)
	}
}

// Delete writes a deletion.
func (w *BatchWriter) Delete(partitionKey, rowKey, match string) {
	w.begin(http.MethodDelete)
	w.row(partitionKey, rowKey)
	w.end(w.format)
	w.b = append(w.b, "Accept: application/json;odata=minimalmetadata\r\n"+versions...)
	w.match(match)
	w.b = append(w.b, "x-ms-version: \r\n\r\n\r\n"...)
}

// Finish returns the body and its type.
func (w *BatchWriter) Finish() (body []byte, contentType string) {
	return append(w.b, "--"+changeBoundary+"--\r\n\r\n--"+batchBoundary+"--\r\n"...), "multipart/mixed; boundary=" + batchBoundary
}
