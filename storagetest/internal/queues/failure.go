package queues

import (
	"fmt"
	"net/http"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// failure is an error response of the Queue service.
type failure struct {
	protocol.Failure
	detail string // XML after the message
}

func newFailure(status int, code, text string) *failure {
	return &failure{Failure: protocol.Failure{Status: status, Code: code, Text: text}}
}

// with returns the failure with a detail.
func (f *failure) with(format string, args ...any) *failure {
	return &failure{Failure: f.Failure, detail: fmt.Sprintf(format, args...)}
}

// The failures of the Queue service, in the words of the live service.
var (
	errAuthentication = &failure{Failure: protocol.AuthenticationFailed}
	errNotImplemented = &failure{Failure: protocol.NotImplemented}
	errQuerySyntax    = &failure{Failure: protocol.QuerySyntax}

	errURI              = newFailure(http.StatusBadRequest, "InvalidUri", "The requested URI does not represent any resource on the server.")
	errMethod           = newFailure(http.StatusMethodNotAllowed, "UnsupportedHttpVerb", "The resource doesn't support specified Http Verb.")
	errQueueName        = &failure{Failure: protocol.InvalidResourceName}
	errQueueNameLength  = newFailure(http.StatusBadRequest, "OutOfRangeInput", "The specified resource name length is not within the permissible limits.")
	errEmptyMetadataKey = newFailure(http.StatusBadRequest, "EmptyMetadataKey", "The key for one of the metadata key-value pairs is empty.")
	errMetadata         = newFailure(http.StatusBadRequest, "InvalidMetadata", "The metadata specified is invalid. It has characters that are not permitted.")
	errMarker           = newFailure(http.StatusBadRequest, "InvalidMarker", "The specified marker is invalid.")

	errQueueExists       = newFailure(http.StatusConflict, "QueueAlreadyExists", "The specified queue already exists.")
	errQueueBeingDeleted = newFailure(http.StatusConflict, "QueueBeingDeleted", "The specified queue is being deleted.")
	errQueueNotFound     = newFailure(http.StatusNotFound, "QueueNotFound", "The specified queue does not exist.")
	errMessageNotFound   = newFailure(http.StatusNotFound, "MessageNotFound", "The specified message does not exist.")
	errReceiptMismatch   = newFailure(http.StatusBadRequest, "PopReceiptMismatch", "The specified pop receipt did not match the pop receipt for a dequeued message.")

	errXML = newFailure(http.StatusBadRequest, "InvalidXmlDocument", "XML specified is not syntactically valid.").
		with("<LineNumber>0</LineNumber><LinePosition>0</LinePosition><Reason />")
	errMissingText = newFailure(http.StatusBadRequest, "MissingRequiredXmlNode", "A required XML node was not specified in the request body.").
			with("<XmlNodeName>MessageText</XmlNodeName>")
	errMessageTooLarge = (&failure{Failure: protocol.RequestBodyTooLarge}).with("<MaxLimit>%d</MaxLimit>", maxMessage)
)

// maxMessage is the maximum length of a message's text in bytes.
const maxMessage = 64 << 10

// parameterFailure returns a failure that names a parameter of the query.
func parameterFailure(code, text, name, value, detail string) *failure {
	return newFailure(http.StatusBadRequest, code, text).
		with("<QueryParameterName>%s</QueryParameterName><QueryParameterValue>%s</QueryParameterValue>%s", name, escapeXML.Replace(value), detail)
}

// outOfRange returns the failure of a parameter that is too small or too large.
func outOfRange(name, value string, least, most int64) *failure {
	return parameterFailure(codeOutOfRange, "One of the query parameters specified in the request URI is outside the permissible range.", name, value,
		fmt.Sprintf("<MinimumAllowed>%d</MinimumAllowed><MaximumAllowed>%d</MaximumAllowed>", least, most))
}

const codeOutOfRange = "OutOfRangeQueryParameterValue"

// invalidParameter returns the failure of a parameter with an invalid value.
func invalidParameter(name, value, reason string) *failure {
	return parameterFailure("InvalidQueryParameterValue", "Value for one of the query parameters specified in the request URI is invalid.", name, value, "<Reason>"+reason+"</Reason>")
}

// missingParameter returns the failure of a query without a required parameter.
func missingParameter(name string) *failure {
	return newFailure(http.StatusBadRequest, "MissingRequiredQueryParameter", "A query parameter that's mandatory for this request is not specified.").
		with("<QueryParameterName>%s</QueryParameterName>", name)
}
