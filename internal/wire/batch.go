package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// Failure reports why the service refused a transaction.
type Failure struct {
	Index   int // of the failed operation; -1 if the service names an operation that was not sent
	Status  int
	Code    string
	Message string
}

// ParseBatchResponse parses the response to a transaction of n operations. A response has one part
// for each operation, in their order, or the single part of the failed operation. Content-IDs are
// ignored, since the service does not always echo them.
//
// An error means that the outcome is unknown. A success requires the whole response, up to the last
// byte of its closing boundary, since the missing end of a truncated response may contain the
// failure. A failure requires only its own part.
func ParseBatchResponse(body []byte, n int) (etags []azcore.ETag, failure *Failure, err error) {
	p := batchParser{response: body, rest: body, etags: make([]azcore.ETag, 0, n), ends: make([]int, 0, min(n, etagsTogether))}
	return p.parse(n)
}

func (p *batchParser) parse(n int) (etags []azcore.ETag, failure *Failure, err error) {
	if err := p.outer(n); err != nil {
		return nil, nil, fmt.Errorf("the response to a transaction of %d operations %w, after %d of its parts", n, err, p.parts())
	}
	if p.failure != nil {
		return nil, p.failure, nil
	}
	p.cut()
	if len(p.etags) != n {
		return nil, nil, fmt.Errorf("the response to a transaction of %d operations has %d parts", n, len(p.etags))
	}
	return p.etags, nil, nil
}

var (
	errTruncated = errors.New("is truncated")
	errMalformed = errors.New("is malformed")
)

// batchParser reads a response line by line. Lines end in LF or CR LF, since Cosmos DB mixes both.
type batchParser struct {
	response, rest []byte
	etags          []azcore.ETag
	text           []byte // of the last ETags, which are not cut yet
	ends           []int  // of each of them
	failure        *Failure

	// The last part besides its ETag: from its boundary up to the ETag, and behind it up to the end
	// of the next boundary. Most parts are like the one before.
	before, after []byte
	lineByLine    bool // for tests: parts that are alike are read like others
}

// etagsTogether is the number of ETags that share an allocation. An entity that is kept keeps it.
const etagsTogether = 16

// parts returns the number of operations whose responses were read.
func (p *batchParser) parts() int { return len(p.etags) + len(p.ends) }

// cut cuts the text into ETags.
func (p *batchParser) cut() {
	text, from := string(p.text), 0
	for _, end := range p.ends {
		p.etags = append(p.etags, azcore.ETag(text[from:end]))
		from = end
	}
	p.text, p.ends = p.text[:0], p.ends[:0]
}

// line returns the next line without its end. whole is false if the response ends inside the line.
func (p *batchParser) line() (line []byte, whole bool) {
	end := bytes.IndexByte(p.rest, '\n')
	if end < 0 {
		line, p.rest = p.rest, nil
		return line, false
	}
	line, p.rest = p.rest[:end], p.rest[end+1:]
	if end > 0 && line[end-1] == '\r' {
		line = line[:end-1]
	}
	return line, true
}

// outer reads the whole response: one part, which is a change set, between boundaries.
func (p *batchParser) outer(n int) error {
	open, whole := p.line()
	if !whole {
		return errTruncated
	}
	if !bytes.HasPrefix(open, []byte("--")) || len(open) < 3 {
		return errMalformed
	}
	head, err := p.header()
	if err != nil {
		return err
	}
	_, boundary, ok := strings.Cut(string(head.contentType), "boundary=")
	if boundary = strings.Trim(boundary, `"`); !ok || boundary == "" || !bytes.HasPrefix(head.contentType, []byte("multipart/mixed")) {
		return errMalformed
	}
	if err := p.changeSet([]byte("--"+boundary), n); err != nil || p.failure != nil {
		return err
	}
	end, _ := p.line()
	end = bytes.TrimSuffix(end, []byte("\r"))
	switch closing := append(bytes.Clone(open), "--"...); {
	case bytes.Equal(end, closing):
		return nil
	case bytes.HasPrefix(closing, end):
		return errTruncated
	}
	return errMalformed
}

// changeSet reads the parts of the change set up to its closing boundary.
func (p *batchParser) changeSet(open []byte, n int) error {
	closing := append(bytes.Clone(open), "--"...)
	for first := true; ; first = false {
		for p.parts() < n && p.alike(len(open)) {
		}
		from := p.position()
		line, whole := p.line()
		switch {
		case !whole:
			return errTruncated
		case bytes.Equal(line, closing):
			return nil
		case !bytes.Equal(line, open):
			if len(line) == 0 && first {
				continue
			}
			return errMalformed
		}
		head, err := p.part(open, n)
		if err != nil || p.failure != nil {
			return err
		}
		p.before, p.after = nil, nil
		if head.etag != nil {
			p.before, p.after = p.response[from:head.etagFrom], p.response[head.etagTo:p.position()+len(open)]
		}
	}
}

// alike reads a part that differs from the last one at most by its ETag. It returns false, and
// reads nothing, if the next part is not one. open is the length of the boundary.
func (p *batchParser) alike(open int) bool {
	if p.before == nil || p.lineByLine || !bytes.HasPrefix(p.rest, p.before) {
		return false
	}
	etag := p.rest[len(p.before):]
	end := bytes.IndexByte(etag, '\n') // of its line
	if end > 0 && etag[end-1] == '\r' {
		end--
	}
	if end < 0 || !bytes.HasPrefix(etag[end:], p.after) {
		return false
	}
	p.rest = etag[end+len(p.after)-open:]
	p.add(etag[:end])
	return true
}

// add adds an ETag to the text.
func (p *batchParser) add(etag []byte) {
	p.text = append(p.text, bytes.TrimSpace(etag)...)
	if p.ends = append(p.ends, len(p.text)); len(p.ends) == cap(p.ends) {
		p.cut()
	}
}

// position returns how much of the response was read.
func (p *batchParser) position() int { return len(p.response) - len(p.rest) }

// part reads the response to one operation, up to the next boundary.
func (p *batchParser) part(open []byte, n int) (head batchHeader, err error) {
	if _, err := p.header(); err != nil { // of the part
		return head, err
	}
	line, whole := p.line()
	if !whole {
		return head, errTruncated
	}
	proto, status, _ := bytes.Cut(line, []byte(" "))
	status, _, _ = bytes.Cut(status, []byte(" "))
	code, err := strconv.Atoi(string(status))
	if err != nil || !bytes.HasPrefix(proto, []byte("HTTP/1.")) {
		return head, errMalformed
	}
	if head, err = p.header(); err != nil {
		return head, err
	}
	if code >= 400 {
		return head, p.failed(code, open, n)
	}
	if code < 200 || code > 299 || p.parts() == n {
		return head, errMalformed
	}
	for { // skip the inserted entity, which the service echoes on request
		if bytes.HasPrefix(p.rest, open) {
			break
		}
		if _, whole := p.line(); !whole {
			return head, errTruncated
		}
	}
	p.add(head.etag)
	return head, nil
}

// failed reads the response to the failed operation. A truncated response is enough if the JSON is
// complete.
func (p *batchParser) failed(status int, open []byte, n int) error {
	f := &Failure{Status: status}
	var body struct {
		Error struct {
			Code    string
			Message struct{ Value string }
		} `json:"odata.error"`
	}
	if err := json.NewDecoder(bytes.NewReader(p.rest)).Decode(&body); err != nil {
		if !bytes.Contains(p.rest, append([]byte("\n"), open...)) && !bytes.HasPrefix(p.rest, open) {
			return errTruncated
		}
	}
	f.Code, f.Message = body.Error.Code, body.Error.Message.Value
	if i, _, ok := strings.Cut(f.Message, ":"); ok {
		if index, err := strconv.ParseUint(i, 10, 31); err == nil {
			f.Index = int(index)
		}
	}
	if f.Index >= n {
		f.Index = -1
	}
	p.failure = f
	return nil
}

// batchHeader is what the parser needs of a header.
type batchHeader struct {
	contentType, etag []byte
	etagFrom, etagTo  int // its positions in the response
}

// header reads header lines up to the empty line. The case of names does not matter.
func (p *batchParser) header() (h batchHeader, err error) {
	for {
		at := p.position()
		line, whole := p.line()
		if !whole {
			return batchHeader{}, errTruncated
		}
		if len(line) == 0 {
			return h, nil
		}
		colon := bytes.IndexByte(line, ':')
		if colon < 0 {
			return batchHeader{}, errMalformed
		}
		switch name := line[:colon]; {
		case len(name) == len("ETag") && bytes.EqualFold(name, []byte("ETag")):
			h.etag = line[colon+1:]
			h.etagFrom, h.etagTo = at+colon+1, at+len(line)
		case len(name) == len("Content-Type") && bytes.EqualFold(name, []byte("Content-Type")):
			h.contentType = bytes.TrimSpace(line[colon+1:])
		}
	}
}

// batchBody is the body of a transaction: text, and entities between. It implements io.ReaderAt.
type batchBody struct {
	text     strings.Builder
	entities []batchEntity
	json     int64 // bytes of all entities
}

// batchEntity is the JSON of an entity.
type batchEntity struct {
	json []byte
	at   int64 // its position in the body
	text int   // bytes of text before it
}

func (b *batchBody) length() int64 { return int64(b.text.Len()) + b.json }

// ReadAt implements io.ReaderAt.
func (b *batchBody) ReadAt(p []byte, at int64) (n int, err error) {
	if at >= b.length() {
		return 0, io.EOF
	}
	next, _ := slices.BinarySearchFunc(b.entities, at, func(e batchEntity, at int64) int { return int(e.at - at) })
	for n < len(p) {
		copied := b.piece(p[n:], next, at+int64(n))
		n += copied
		if copied == 0 {
			if next == len(b.entities) {
				return n, io.EOF
			}
			next++
		}
	}
	return n, nil
}

// piece copies the body from a position up to entity next, as far as it is in one piece, and
// returns how many bytes these are.
func (b *batchBody) piece(p []byte, next int, at int64) int {
	from, to := int(at), b.text.Len()
	if next > 0 {
		e := &b.entities[next-1]
		behind := int(at-e.at) - len(e.json)
		if behind < 0 {
			return copy(p, e.json[len(e.json)+behind:])
		}
		from = e.text + behind
	}
	if next < len(b.entities) {
		to = b.entities[next].text
	}
	return copy(p, b.text.String()[from:to])
}

// BatchWriter writes the body of a transaction, as the SDK writes it: the same headers in the same
// order. But the quotes of keys are doubled in addresses only, where the service requires it. The
// JSON of the entities is not copied.
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

// Update writes an update or upsert of a row: PUT replaces it, PATCH merges. match is "" for an
// upsert. The JSON of the entity is in two parts.
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
	w.body.entities = append(w.body.entities, batchEntity{json, w.body.length(), w.body.text.Len()})
	w.body.json += int64(len(json))
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
