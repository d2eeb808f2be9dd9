package odata

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// Batch is a parsed multipart batch.
type Batch struct {
	Operations []BatchOperation
	ChangeSet  bool // the operations are in a change set; otherwise the batch is a single GET
}

// BatchOperation is one operation of a batch. It has the form of a request.
type BatchOperation struct {
	Method   string
	Path     string // below the account, escaped
	Query    url.Values
	BadQuery bool
	Header   protocol.Fields
	Body     []byte
}

// ParseBatch parses the body of a batch up to its closing boundaries. base is the account's
// address.
func ParseBatch(contentType string, body []byte, base string) (*Batch, *Failure) {
	outer, ok := boundary(contentType)
	if !ok {
		return nil, MissingHeader
	}
	parts, ok := splitParts(body, outer)
	if !ok || len(parts) != 1 {
		return nil, InvalidInput
	}
	kind, body, ok := cutContentType(parts[0])
	if !ok {
		return nil, InvalidInput
	}
	b := &Batch{}
	if inner, is := boundary(kind); is {
		b.ChangeSet = true
		if parts, ok = splitParts(body, inner); !ok {
			return nil, InvalidInput
		}
	}
	b.Operations = make([]BatchOperation, 0, len(parts))
	for _, part := range parts {
		kind, body, ok := cutContentType(part)
		if !ok || !strings.HasPrefix(kind, "application/http") {
			return nil, InvalidInput
		}
		op, ok := parseOperation(body, base)
		if !ok {
			return nil, InvalidInput
		}
		b.Operations = append(b.Operations, op)
	}
	if !b.ChangeSet && (len(b.Operations) != 1 || b.Operations[0].Method != http.MethodGet) {
		return nil, InvalidInput
	}
	return b, nil
}

// boundary returns the boundary of a multipart content type.
func boundary(contentType string) (string, bool) {
	t, params, err := mime.ParseMediaType(contentType)
	return params["boundary"], err == nil && t == "multipart/mixed" && params["boundary"] != ""
}

// splitParts splits a multipart body, which must be complete, into its body parts. Lines end in CR
// LF or LF.
func splitParts(body []byte, boundary string) (parts [][]byte, ok bool) {
	open := []byte("--" + boundary)
	for from, at := -1, 0; ; {
		i := bytes.Index(body[at:], open)
		if i < 0 {
			return nil, false
		}
		i += at
		end := len(body)
		if n := bytes.IndexByte(body[i:], '\n'); n >= 0 {
			end = i + n + 1
		}
		at = end
		line := bytes.TrimRight(body[i+len(open):end], "\r\n")
		closes := string(line) == "--"
		if i > 0 && body[i-1] != '\n' || len(line) > 0 && !closes {
			at = i + 1 // not a line of its own
			continue
		}
		switch {
		case from < 0 && len(bytes.Trim(body[:i], "\r\n")) > 0:
			return nil, false
		case from >= 0:
			part := bytes.TrimSuffix(body[from:i], []byte("\n")) // the end of the line before a boundary belongs to the boundary
			parts = append(parts, bytes.TrimSuffix(part, []byte("\r")))
		}
		if closes {
			return parts, len(bytes.TrimSpace(body[end:])) == 0
		}
		from = end
	}
}

// cutHeader splits a body part into the lines of its header and its content.
func cutHeader(part []byte) (lines string, body []byte) {
	for at := 0; at < len(part); {
		i := bytes.IndexByte(part[at:], '\n')
		if i < 0 {
			break
		}
		if len(bytes.TrimSuffix(part[at:at+i], []byte("\r"))) == 0 {
			return string(part[:at]), part[at+i+1:]
		}
		at += i + 1
	}
	return string(part), nil
}

// cutLine cuts the first of the lines of a header. more is false if there is none.
func cutLine(lines string) (name, value, rest string, more, ok bool) {
	line, rest, _ := strings.Cut(lines, "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", "", "", false, true
	}
	name, value, ok = strings.Cut(line, ":")
	return name, strings.TrimSpace(value), rest, true, ok && validName(name)
}

// operationHeader is the frequent header of an operation, and that of its response.
const operationHeader = "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"

// cutContentType splits a body part into the first Content-Type of its header and its content.
func cutContentType(part []byte) (contentType string, body []byte, ok bool) {
	if n := len(operationHeader); len(part) > n && string(part[:n]) == operationHeader {
		return "application/http", part[n:], true
	}
	lines, body := cutHeader(part)
	for {
		name, value, rest, more, ok := cutLine(lines)
		if !more || !ok {
			return contentType, body, ok
		}
		if contentType == "" && strings.EqualFold(name, "Content-Type") {
			contentType = value
		}
		lines = rest
	}
}

// parseHeader parses the lines of a header.
func parseHeader(lines string) (protocol.Fields, bool) {
	header := make(protocol.Fields, 0, strings.Count(lines, "\n")+1)
	for {
		name, value, rest, more, ok := cutLine(lines)
		if !more || !ok {
			return header, ok
		}
		header = append(header, protocol.Field{Name: http.CanonicalHeaderKey(name), Value: value})
		lines = rest
	}
}

// validName reports whether the name of a header has only characters that such names may have.
func validName(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7F || strings.IndexByte(`()<>@,;:\"/[]?={}`, s[i]) >= 0 {
			return false
		}
	}
	return s != ""
}

// parseOperation parses a request line, a header and a body.
func parseOperation(text []byte, base string) (op BatchOperation, ok bool) {
	lines, body := cutHeader(text)
	first, lines, _ := strings.Cut(lines, "\n")
	method, address, _ := strings.Cut(strings.TrimSpace(first), " ")
	space := strings.LastIndexByte(address, ' ')
	address, proto := address[:max(0, space)], address[space+1:]
	header, ok := parseHeader(lines)
	if !ok || address == "" || !strings.HasPrefix(proto, "HTTP/1.") {
		return op, false
	}
	path, rawQuery, _ := strings.Cut(address, "?")
	path = belowAccount(path, base)
	var query url.Values
	var err error
	if rawQuery != "" {
		query, err = protocol.ParseQuery(rawQuery)
	}
	if length := header.Get("Content-Length"); length != "" {
		if n, err := strconv.Atoi(length); err == nil && n >= 0 && n < len(body) {
			body = body[:n]
		}
	}
	if len(bytes.TrimSpace(body)) == 0 {
		body = nil
	}
	return BatchOperation{Method: method, Path: path, Query: query, BadQuery: err != nil, Header: header, Body: body}, true
}

// belowAccount returns the path of an address below the account's address.
func belowAccount(address, base string) string {
	if path, ok := strings.CutPrefix(address, base); ok && strings.HasPrefix(path, "/") && !strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7F || r == '#' }) {
		return path
	}
	path := address
	if u, err := url.Parse(path); err == nil && u.Host != "" {
		path = u.EscapedPath()
	}
	if account, err := url.Parse(base); err == nil && account.Path != "" { // at a port, the path begins with the account
		if below, ok := strings.CutPrefix(path, account.Path+"/"); ok {
			path = "/" + below
		}
	}
	return path
}

// BatchResponse is the response to a batch. Each body part is an HTTP response. The boundaries are
// made of the request's ID.
type BatchResponse struct {
	Body         []byte
	outer, inner string
	changeSet    bool
}

// NewBatchResponse begins the response to a batch of so many operations.
func NewBatchResponse(requestID string, changeSet bool, operations int) *BatchResponse {
	r := &BatchResponse{
		outer: "batchresponse_" + boundaryID(requestID, 1), inner: "changesetresponse_" + boundaryID(requestID, 2), changeSet: changeSet,
	}
	r.Body = make([]byte, 0, 400+450*operations)
	r.add("--", r.outer, "\r\n")
	if changeSet {
		r.add("Content-Type: multipart/mixed; boundary=", r.inner, "\r\n\r\n")
	}
	return r
}

func (r *BatchResponse) add(texts ...string) {
	for _, t := range texts {
		r.Body = append(r.Body, t...)
	}
}

// BeginPart returns the body up to the next body part, which the caller appends.
func (r *BatchResponse) BeginPart() []byte {
	if r.changeSet {
		r.add("--", r.inner, "\r\n")
	}
	r.add(operationHeader)
	return r.Body
}

// End returns the complete body.
func (r *BatchResponse) End() (body []byte, contentType string) {
	if r.changeSet {
		r.add("--", r.inner, "--\r\n")
	}
	r.add("--", r.outer, "--\r\n")
	return r.Body, "multipart/mixed; boundary=" + r.outer
}

// boundaryID returns a text in the form of a GUID, made of a request's ID.
func boundaryID(requestID string, n int) string {
	return requestID[:14] + "4" + requestID[15:len(requestID)-1] + strconv.Itoa(n)
}
