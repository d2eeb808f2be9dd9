package storagetest

import (
	"fmt"
	"net/http"
	"strconv"
)

var (
	errURI         = &failure{status: http.StatusBadRequest, code: "InvalidUri", text: "The requested URI does not represent any resource on the server."}
	errVerb        = &failure{status: http.StatusMethodNotAllowed, code: "UnsupportedHttpVerb", text: "The resource doesn't support specified Http Verb."}
	errQueueName   = &failure{status: http.StatusBadRequest, code: "InvalidResourceName", text: "The specifed resource name contains invalid characters."} // sic
	errQueueLength = &failure{status: http.StatusBadRequest, code: "OutOfRangeInput", text: "The specified resource name length is not within the permissible limits."}
	errMetaEmpty   = &failure{status: http.StatusBadRequest, code: "EmptyMetadataKey", text: "The key for one of the metadata key-value pairs is empty."}
	errMetadata    = &failure{status: http.StatusBadRequest, code: "InvalidMetadata", text: "The metadata specified is invalid. It has characters that are not permitted."}
	errMarker      = &failure{status: http.StatusBadRequest, code: "InvalidMarker", text: "The specified marker is invalid."}

	errQueueExists  = &failure{status: http.StatusConflict, code: "QueueAlreadyExists", text: "The specified queue already exists."}
	errQueueDeleted = &failure{status: http.StatusConflict, code: "QueueBeingDeleted", text: "The specified queue is being deleted."}
	errNoQueue      = &failure{status: http.StatusNotFound, code: "QueueNotFound", text: "The specified queue does not exist."}
	errNoMessage    = &failure{status: http.StatusNotFound, code: "MessageNotFound", text: "The specified message does not exist."}
	errReceipt      = &failure{status: http.StatusBadRequest, code: "PopReceiptMismatch", text: "The specified pop receipt did not match the pop receipt for a dequeued message."}

	errXML     = &failure{status: http.StatusBadRequest, code: "InvalidXmlDocument", text: "XML specified is not syntactically valid.", detail: "<LineNumber>0</LineNumber><LinePosition>0</LinePosition><Reason />"}
	errXMLNode = &failure{status: http.StatusBadRequest, code: "MissingRequiredXmlNode", text: "A required XML node was not specified in the request body.", detail: "<XmlNodeName>MessageText</XmlNodeName>"}
	errMessage = &failure{status: http.StatusRequestEntityTooLarge, code: "RequestBodyTooLarge", text: "The request body is too large and exceeds the maximum permissible limit.", detail: fmt.Sprintf("<MaxLimit>%d</MaxLimit>", maxMessage)}
)

// parameterFailure is a failure that names a parameter of the query.
func parameterFailure(code, text, name, value, more string) *failure {
	return &failure{status: http.StatusBadRequest, code: code, text: text,
		detail: "<QueryParameterName>" + name + "</QueryParameterName><QueryParameterValue>" + escapeXML.Replace(value) + "</QueryParameterValue>" + more}
}

// outOfRange: a number in the query is too small or too large.
func outOfRange(name, value string, least, most int64) *failure {
	return parameterFailure("OutOfRangeQueryParameterValue", "One of the query parameters specified in the request URI is outside the permissible range.", name, value,
		fmt.Sprintf("<MinimumAllowed>%d</MinimumAllowed><MaximumAllowed>%d</MaximumAllowed>", least, most))
}

// invalidParameter: a value in the query cannot be.
func invalidParameter(name, value, reason string) *failure {
	return parameterFailure("InvalidQueryParameterValue", "Value for one of the query parameters specified in the request URI is invalid.", name, value, "<Reason>"+reason+"</Reason>")
}

// missingParameter: the query lacks what it must have.
func missingParameter(name string) *failure {
	return &failure{status: http.StatusBadRequest, code: "MissingRequiredQueryParameter", text: "A query parameter that's mandatory for this request is not specified.",
		detail: "<QueryParameterName>" + name + "</QueryParameterName>"}
}

// number reads a number of the query between two limits.
func (c *call) number(name string, otherwise, least, most int64) (int64, *failure) {
	if !c.query.Has(name) {
		return otherwise, nil
	}
	value := c.query.Get(name)
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil:
		return 0, invalidParameter(name, value, "Invalid value")
	case n < least || n > most:
		return 0, outOfRange(name, value, least, most)
	}
	return n, nil
}
