package protocol

import (
	"net/http"
	"time"
)

// Response is a service's response, without the Date that the account adds.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	Code   string // the error code, also of a failed operation inside a transaction's response
}

// Failure is an error of a service.
type Failure struct {
	Status int
	Code   string
	Text   string
}

// Message returns the text of an error as services send it.
func (f Failure) Message(requestID string, now time.Time) string {
	return f.Text + "\nRequestId:" + requestID + "\nTime:" + now.UTC().Format("2006-01-02T15:04:05.0000000Z")
}

// Failures that each service reports.
var (
	AuthenticationFailed = Failure{http.StatusForbidden, "AuthenticationFailed", "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature."}
	NotImplemented       = Failure{http.StatusNotImplemented, "NotImplemented", "The requested operation is not implemented on the specified resource."}
	QuerySyntax          = Failure{http.StatusBadRequest, "InvalidInput", "Bad Request - Error in query syntax."}
	RequestBodyTooLarge  = Failure{http.StatusRequestEntityTooLarge, "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit."}
	NoSecondary          = Failure{http.StatusForbidden, "InsufficientAccountPermissions", "Read-access geo-redundant replication is not enabled for the account."}
	SecondaryWrite       = Failure{http.StatusForbidden, "InsufficientAccountPermissions", "Write operations to the secondary location are not allowed."}
	InvalidResourceName  = Failure{http.StatusBadRequest, "InvalidResourceName", "The specifed resource name contains invalid characters."} // sic
)

// StandardHeader returns the header that each response has: the server, the ID of the request, and what the client's version
// implies.
func StandardHeader(r *Request, server string) http.Header {
	h := http.Header{}
	h.Set("Server", server+" Microsoft-HTTPAPI/2.0")
	h.Set("x-ms-request-id", r.ID)
	if r.Version != "" {
		h.Set("x-ms-version", r.Version)
	}
	if echo := r.Header.Get("x-ms-client-request-id"); echo != "" && r.Version >= "2019-02-02" {
		h.Set("x-ms-client-request-id", echo)
	}
	return h
}
