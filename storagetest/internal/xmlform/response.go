package xmlform

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
)

// Response is the response to a request.
type Response struct {
	Status  int
	Failure *Failure
	Header  http.Header // besides the header that each response has
	Body    []byte      // XML, unless Header has a Content-Type
}

// Refuse returns the response to a failed request.
func Refuse(f *Failure) *Response { return &Response{Status: f.Status, Failure: f} }

// ToProtocol completes the response of a server. A response to HEAD has no body.
func (r *Response) ToProtocol(c *protocol.Request, server string, now time.Time) *protocol.Response {
	out := &protocol.Response{Status: r.Status, Header: protocol.StandardHeader(c, server), Body: r.Body}
	for name, values := range r.Header {
		out.Header[name] = values
	}
	if f := r.Failure; f != nil {
		out.Body, out.Code = f.body(c.ID, now), f.Code
		if !f.FrontEnd {
			out.Header.Set("x-ms-error-code", f.Code)
		}
	}
	if c.Method == http.MethodHead || r.Status == http.StatusNotModified {
		out.Body = nil
	}
	if _, set := out.Header["Content-Type"]; out.Body != nil && !set { // the Content-Type of a blob may be none
		out.Header.Set("Content-Type", "application/xml")
	}
	if (r.Failure != nil || out.Body == nil) && out.Header.Get("Content-Length") == "" {
		out.Header.Set("Content-Length", strconv.Itoa(len(out.Body)))
	}
	return out
}

// body returns the failure as XML.
func (f *Failure) body(requestID string, now time.Time) []byte {
	var b bytes.Buffer
	b.WriteString(Head)
	if f.FrontEnd {
		b.WriteByte('\n')
	}
	b.WriteString("<Error>")
	WriteElement(&b, "Code", f.Code)
	WriteElement(&b, "Message", f.Message(requestID, now))
	b.WriteString(f.Detail + "</Error>")
	return b.Bytes()
}

// Preflight answers a preflight request.
func Preflight(s *settings.Settings, r *protocol.Request) *Response {
	if missing := settings.MissingOfPreflight(r); missing != "" {
		return Refuse(InvalidHeader(missing, ""))
	}
	header, ok := s.Preflight(r)
	if !ok {
		return Refuse(&Failure{Failure: settings.PreflightFailure})
	}
	return &Response{Status: http.StatusOK, Header: header}
}

// Properties reads or sets the properties of a service.
func Properties(s *settings.Settings, r *protocol.Request, rights *access.Rights, now time.Time) *Response {
	need := access.Need{Type: "s", Permissions: []string{"r"}, Account: true}
	if r.Method == http.MethodPut {
		need.Permissions = []string{"w"}
	}
	if f := rights.Check(need, nil, now); f != nil {
		return Refuse(&Failure{Failure: *f})
	}
	switch r.Method {
	case http.MethodGet:
		return &Response{Status: http.StatusOK, Body: s.XML(r.Version)}
	case http.MethodPut:
		if fault := s.Set(r.Body); fault != nil {
			return Refuse(InvalidDocument(*fault))
		}
		return &Response{Status: http.StatusAccepted}
	}
	return Refuse(ErrMethod)
}

// Statistics returns how far the second location is.
func Statistics(r *protocol.Request, rights *access.Rights, now time.Time) *Response {
	if f := rights.Check(access.Need{Type: "s", Permissions: []string{"r"}, Account: true}, nil, now); f != nil {
		return Refuse(&Failure{Failure: *f})
	}
	if !r.Secondary {
		return Refuse(InvalidParameter("comp", "stats", "The statistics are those of the secondary location."))
	}
	return &Response{Status: http.StatusOK, Body: settings.Statistics(r)}
}

// Failure is an error response.
type Failure struct {
	protocol.Failure
	Detail   string // XML after the message
	FrontEnd bool   // sent by the front end of the service, without x-ms-error-code
}

// FailureOf returns a failure without a detail; nil if f is nil.
func FailureOf(f *protocol.Failure) *Failure {
	if f == nil {
		return nil
	}
	return &Failure{Failure: *f}
}

// NewFailure returns a failure without a detail.
func NewFailure(status int, code, text string) *Failure {
	return &Failure{Failure: protocol.Failure{Status: status, Code: code, Text: text}}
}

// With returns the failure with a detail.
func (f *Failure) With(format string, args ...any) *Failure {
	return &Failure{Failure: f.Failure, Detail: fmt.Sprintf(format, args...)}
}

// The failures that the services share, in the words of the live service.
var (
	ErrAuthentication = &Failure{Failure: protocol.AuthenticationFailed}
	ErrNotImplemented = &Failure{Failure: protocol.NotImplemented}
	ErrQuerySyntax    = &Failure{Failure: protocol.QuerySyntax}
	ErrName           = &Failure{Failure: protocol.InvalidResourceName}
	ErrBodyTooLarge   = &Failure{Failure: protocol.RequestBodyTooLarge}

	ErrNameLength       = NewFailure(http.StatusBadRequest, "OutOfRangeInput", "The specified resource name length is not within the permissible limits.")
	ErrURI              = NewFailure(http.StatusBadRequest, "InvalidUri", "The requested URI does not represent any resource on the server.")
	ErrMethod           = NewFailure(http.StatusMethodNotAllowed, "UnsupportedHttpVerb", "The resource doesn't support specified Http Verb.")
	ErrEmptyMetadataKey = NewFailure(http.StatusBadRequest, "EmptyMetadataKey", "The key for one of the metadata key-value pairs is empty.")
	ErrMetadata         = NewFailure(http.StatusBadRequest, "InvalidMetadata", "The metadata specified is invalid. It has characters that are not permitted.")
	ErrMarker           = NewFailure(http.StatusBadRequest, "InvalidMarker", "The specified marker is invalid.")
)

// parameterFailure returns a failure that names a parameter of the query.
func parameterFailure(code, text, name, value, detail string) *Failure {
	return NewFailure(http.StatusBadRequest, code, text).
		With("<QueryParameterName>%s</QueryParameterName>%s%s", name, elementOf("QueryParameterValue", value), detail)
}

// OutOfRange returns the failure of a parameter that is too small or too large.
func OutOfRange(name, value string, least, most int64) *Failure {
	return parameterFailure(CodeOutOfRange, "One of the query parameters specified in the request URI is outside the permissible range.", name, value,
		fmt.Sprintf("<MinimumAllowed>%d</MinimumAllowed><MaximumAllowed>%d</MaximumAllowed>", least, most))
}

// CodeOutOfRange is the error code of OutOfRange.
const CodeOutOfRange = "OutOfRangeQueryParameterValue"

// InvalidParameter returns the failure of a parameter with an invalid value.
func InvalidParameter(name, value, reason string) *Failure {
	return parameterFailure("InvalidQueryParameterValue", "Value for one of the query parameters specified in the request URI is invalid.", name, value, elementOf("Reason", reason))
}

// MissingParameter returns the failure of a query without a required parameter.
func MissingParameter(name string) *Failure {
	return NewFailure(http.StatusBadRequest, "MissingRequiredQueryParameter", "A query parameter that's mandatory for this request is not specified.").
		With("<QueryParameterName>%s</QueryParameterName>", name)
}

// InvalidHeader returns the failure of a header with an invalid value.
func InvalidHeader(name, value string) *Failure {
	return NewFailure(http.StatusBadRequest, "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.").
		With("<HeaderName>%s</HeaderName>%s", name, elementOf("HeaderValue", value))
}

// MissingHeader returns the failure of a request without a required header.
func MissingHeader(name string) *Failure {
	return NewFailure(http.StatusBadRequest, "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified.").
		With("<HeaderName>%s</HeaderName>", name)
}
