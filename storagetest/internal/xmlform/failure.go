package xmlform

import (
	"fmt"
	"net/http"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// Failure is an error response.
type Failure struct {
	protocol.Failure
	Detail string // XML after the message
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
