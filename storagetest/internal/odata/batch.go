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

// BatchOperation is one operation of a batch. It has the shape of a request.
type BatchOperation struct {
	Method   string
	Path     string // below the account, escaped
	Query    url.Values
	BadQuery bool
	Header   http.Header
	Body     []byte
}

// ParseBatch parses the body of a batch up to its closing boundaries. base is the account's address.
func ParseBatch(contentType string, body []byte, base string) (*Batch, *Failure) {
	outer, ok := boundary(contentType)
	if !ok {
		return nil, MissingHeader
	}
	parts, ok := splitParts(body, outer)
	if !ok || len(parts) != 1 {
		return nil, InvalidInput
	}
	header, body, ok := parsePart(parts[0])
	if !ok {
		return nil, InvalidInput
	}
	b := &Batch{}
	if inner, is := boundary(header.Get("Content-Type")); is {
		b.ChangeSet = true
		if parts, ok = splitParts(body, inner); !ok {
			return nil, InvalidInput
		}
	}
	for _, part := range parts {
		header, body, ok := parsePart(part)
		if !ok || !strings.HasPrefix(header.Get("Content-Type"), "application/http") {
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

// splitParts splits a multipart body, which must be complete, into its parts. Lines end in CR LF or LF.
func splitParts(body []byte, boundary string) (parts [][]byte, ok bool) {
	open, closing := "--"+boundary, "--"+boundary+"--"
	from, at := -1, 0 // where the part begins, and where the line does
	for at < len(body) {
		end := len(body)
		if i := bytes.IndexByte(body[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		switch text := string(bytes.TrimRight(body[at:end], "\r\n")); {
		case text == open || text == closing:
			if from >= 0 {
				part := bytes.TrimSuffix(body[from:at], []byte("\n")) // the end of the line before a boundary belongs to the boundary
				parts = append(parts, bytes.TrimSuffix(part, []byte("\r")))
			}
			if text == closing {
				return parts, len(bytes.TrimSpace(body[end:])) == 0
			}
			from = end
		case from < 0 && text != "":
			return nil, false
		}
		at = end
	}
	return nil, false
}

// parsePart splits a part into its header and its body.
func parsePart(part []byte) (http.Header, []byte, bool) {
	header := http.Header{}
	for {
		line, rest, ended := bytes.Cut(part, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			return header, rest, true
		}
		name, value, ok := strings.Cut(string(line), ":")
		if !ok || !validName(name) {
			return nil, nil, false
		}
		header.Add(name, strings.TrimSpace(value))
		if !ended {
			return header, nil, true
		}
		part = rest
	}
}

// validName reports whether the name of a header has only characters that such names may have.
func validName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7F || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) })
}

// parseOperation parses a request line, a header and a body.
func parseOperation(text []byte, base string) (op BatchOperation, ok bool) {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	method, address, _ := strings.Cut(strings.TrimSpace(string(first)), " ")
	space := strings.LastIndexByte(address, ' ')
	address, proto := address[:max(0, space)], address[space+1:]
	header, body, ok := parsePart(rest)
	if !ok || address == "" || !strings.HasPrefix(proto, "HTTP/1.") {
		return op, false
	}
	path, rawQuery, _ := strings.Cut(address, "?")
	if u, err := url.Parse(path); err == nil && u.Host != "" {
		path = u.EscapedPath()
	}
	if account, err := url.Parse(base); err == nil && account.Path != "" { // at a port, the path begins with the account
		if below, ok := strings.CutPrefix(path, account.Path+"/"); ok {
			path = "/" + below
		}
	}
	query, err := protocol.ParseQuery(rawQuery)
	if n, err := strconv.Atoi(header.Get("Content-Length")); err == nil && n >= 0 && n < len(body) {
		body = body[:n]
	}
	if len(bytes.TrimSpace(body)) == 0 {
		body = nil
	}
	return BatchOperation{Method: method, Path: path, Query: query, BadQuery: err != nil, Header: header, Body: body}, true
}

// WriteBatchResponse writes the response to a batch. Each part is an HTTP response. The boundaries are made of the request's ID.
func WriteBatchResponse(requestID string, parts [][]byte, changeSet bool) (body []byte, contentType string) {
	outer, inner := "batchresponse_"+boundaryID(requestID, 1), "changesetresponse_"+boundaryID(requestID, 2)
	var w bytes.Buffer
	const header = "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
	w.WriteString("--" + outer + "\r\n")
	if !changeSet {
		w.WriteString(header)
		w.Write(parts[0])
	} else {
		w.WriteString("Content-Type: multipart/mixed; boundary=" + inner + "\r\n\r\n")
		for _, part := range parts {
			w.WriteString("--" + inner + "\r\n" + header)
			w.Write(part)
		}
		w.WriteString("--" + inner + "--\r\n")
	}
	w.WriteString("--" + outer + "--\r\n")
	return w.Bytes(), "multipart/mixed; boundary=" + outer
}

// boundaryID returns a text in the form of a GUID, made of a request's ID.
func boundaryID(requestID string, n int) string {
	return requestID[:14] + "4" + requestID[15:len(requestID)-1] + strconv.Itoa(n)
}
