package odata

import (
	"fmt"
	"net/http"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// Failure is an error response of an OData service, with the form in which the live service sends it.
type Failure struct {
	protocol.Failure
	FrontEnd        bool // sent as XML, by the front end of the service
	NoCacheControl  bool // sent without Cache-Control
	NoPartHeader    bool // sent in a transaction without Cache-Control and Preference-Applied
	AlwaysWithIndex bool // in a transaction, the text begins with the index of the operation even if the index is 0
}

// NewFailure returns a failure in the plain form.
func NewFailure(status int, code, text string) *Failure {
	return &Failure{Failure: protocol.Failure{Status: status, Code: code, Text: text}}
}

// indexed returns a failure whose text begins with the index of the operation in a transaction.
func indexed(f protocol.Failure) *Failure { return &Failure{Failure: f, AlwaysWithIndex: true} }

// The failures of a request that cannot be read.
var (
	QuerySyntax      = &Failure{Failure: protocol.QuerySyntax, NoCacheControl: true, AlwaysWithIndex: true}
	NotImplemented   = indexed(protocol.NotImplemented)
	InvalidInput     = indexed(protocol.Failure{Status: http.StatusBadRequest, Code: "InvalidInput", Text: "One of the request inputs is not valid."})
	ProcessingError  = indexed(protocol.Failure{Status: http.StatusBadRequest, Code: "InvalidInput", Text: "An error occurred while processing this request."})
	OutOfRange       = indexed(protocol.Failure{Status: http.StatusBadRequest, Code: "OutOfRangeInput", Text: "One of the request inputs is out of range."})
	MissingHeader    = indexed(protocol.Failure{Status: http.StatusBadRequest, Code: "MissingRequiredHeader", Text: "An HTTP header that's mandatory for this request is not specified."})
	UnknownMediaType = indexed(protocol.Failure{Status: http.StatusUnsupportedMediaType, Code: "MediaTypeNotSupported", Text: "None of the provided media types are supported"})
)

// WithText returns the failure with another text.
func (f *Failure) WithText(format string, args ...any) *Failure {
	g := *f
	g.Text = fmt.Sprintf(format, args...)
	return &g
}
