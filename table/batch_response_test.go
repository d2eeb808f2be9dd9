package table_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing/iotest"
)

// batchBody returns the body of a response to a transaction, as the service writes it.
func batchBody(parts ...string) string {
	s := "--batchresponse_b\r\nContent-Type: multipart/mixed; boundary=changesetresponse_c\r\n\r\n"
	for _, p := range parts {
		s += "--changesetresponse_c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + p + "\r\n"
	}
	return s + "--changesetresponse_c--\r\n--batchresponse_b--\r\n"
}

// donePart is the part of an applied operation, with the n-th ETag, or none if n is 0.
func donePart(n int) string {
	s := "HTTP/1.1 204 No Content\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\nDataServiceVersion: 1.0;\r\n"
	if n > 0 {
		s += "ETag: " + etagOf(n) + "\r\n"
	}
	return s + "\r\n\r\n"
}

// etagOf returns the n-th ETag.
func etagOf(n int) string {
	return fmt.Sprintf(`W/"datetime'2026-11-21T01%%3A02%%3A03.%07dZ'"`, n)
}

// failedPart is the part of the one operation that failed.
func failedPart(status int, code, message string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\nDataServiceVersion: 3.0;\r\n"+
		"Content-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8\r\n\r\n"+
		`{"odata.error":{"code":"%s","message":{"lang":"en-US","value":"%s\nRequestId:6493f9d0\nTime:2017-10-02T20:21:34.0618764Z"}}}`+"\r\n", status, http.StatusText(status), code, message)
}

// batchResponse is a response to a transaction, with the status 202.
func batchResponse(body string) (*http.Response, error) {
	r := jsonResponse(202, body, "x-ms-request-id", "6493f9d0")
	r.Header.Set("Content-Type", "multipart/mixed; boundary=batchresponse_b")
	return r, nil
}

// batchService gives each transaction the same response.
func batchService(body string) *fakeTransport {
	return &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return batchResponse(body) }}
}

// cutResponse is a response whose connection breaks after n bytes.
func cutResponse(body string, n int) *http.Response {
	r, _ := batchResponse("")
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader(body[:n]), iotest.ErrReader(io.ErrUnexpectedEOF)))
	return r
}

// sentPart is one operation of a transaction as it was sent.
type sentPart struct{ line, match, prefer, body string }

// sentParts returns the operations of the last transaction.
func sentParts(w *fakeTransport) (parts []sentPart) {
	for _, text := range strings.Split(w.last().body, "Content-Type: application/http\r\n\r\n")[1:] {
		text, _, _ = strings.Cut(text, "\r\n--changeset_")
		head, body, _ := strings.Cut(text, "\r\n\r\n")
		p := sentPart{body: strings.TrimSpace(body)}
		for j, line := range strings.Split(head, "\r\n") {
			name, value, _ := strings.Cut(line, ": ")
			switch {
			case j == 0:
				p.line = strings.TrimSuffix(line, " HTTP/1.1")
			case name == "If-Match":
				p.match = value
			case name == "Prefer":
				p.prefer = value
			}
		}
		parts = append(parts, p)
	}
	return parts
}

var errDial = &net.OpError{Op: "dial", Err: errors.New("connection refused")}
