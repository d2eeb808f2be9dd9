package odata

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// Failure is an error response of an OData service, with the form in which the live service sends
// it.
type Failure struct {
	protocol.Failure
	FrontEnd        bool // sent as XML, by the front end of the service
	NoCacheControl  bool // sent without Cache-Control
	NoPartHeader    bool // sent in a transaction without Cache-Control and Preference-Applied
	AlwaysWithIndex bool // in a transaction, the text begins with the index of the operation even if the index is 0
}

// NewFailure returns a failure in the form of plain text.
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

// JSON returns the body of the response. The prefix precedes the text.
func (f *Failure) JSON(prefix, requestID string, now time.Time) []byte {
	var w Writer
	w.WriteString(`{"odata.error":`)
	w.Open()
	w.Member("code", f.Code)
	w.Key("message")
	w.Open()
	w.Member("lang", "en-US")
	w.Member("value", prefix+f.Message(requestID, now))
	w.WriteString("}}}")
	return w.Bytes()
}

// XML returns the body of a response of the front end.
func (f *Failure) XML(requestID string, now time.Time) []byte {
	var text bytes.Buffer
	xml.EscapeText(&text, []byte(f.Message(requestID, now)))
	return fmt.Appendf(nil, `<?xml version="1.0" encoding="utf-8"?><m:error xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><m:code>%s</m:code><m:message xml:lang="en-US">%s</m:message></m:error>`,
		f.Code, strings.ReplaceAll(text.String(), "&#xA;", "\n"))
}
