package storagetest

import (
	"net/http"
)

// failure is an answer that refuses a request, in the words of the live service.
type failure struct {
	status int
	code   string
	text   string
	xml    bool   // as what fails before the Table service proper does
	bare   bool   // without Cache-Control, as syntax errors are
	terse  bool   // in a transaction without Cache-Control and Preference-Applied
	index  bool   // in a transaction the message begins with the operation's index, even if that is 0
	detail string // what follows the message in the XML of the Queue service
}

func (f *failure) Error() string { return f.code + ": " + f.text }

var (
	errAuth       = &failure{status: http.StatusForbidden, code: "AuthenticationFailed", text: "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.", xml: true}
	errForbidden  = &failure{status: http.StatusForbidden, code: "AuthorizationFailure", text: "This request is not authorized to perform this operation."}
	errPermission = &failure{status: http.StatusForbidden, code: "AuthorizationPermissionMismatch", text: "This request is not authorized to perform this operation using this permission."}

	errInput       = &failure{status: http.StatusBadRequest, code: "InvalidInput", text: "One of the request inputs is not valid.", index: true}
	errProcessing  = &failure{status: http.StatusBadRequest, code: "InvalidInput", text: "An error occurred while processing this request.", index: true}
	errRange       = &failure{status: http.StatusBadRequest, code: "OutOfRangeInput", text: "One of the request inputs is out of range.", index: true}
	errQuery       = &failure{status: http.StatusBadRequest, code: "InvalidInput", text: "Bad Request - Error in query syntax.", bare: true, index: true}
	errHeader      = &failure{status: http.StatusBadRequest, code: "MissingRequiredHeader", text: "An HTTP header that's mandatory for this request is not specified.", index: true}
	errMedia       = &failure{status: http.StatusUnsupportedMediaType, code: "MediaTypeNotSupported", text: "None of the provided media types are supported", index: true}
	errMethod      = &failure{status: http.StatusMethodNotAllowed, code: "MethodNotAllowed", text: "The requested method is not allowed on the specified resource.", index: true}
	errUnsupported = &failure{status: http.StatusNotImplemented, code: "NotImplemented", text: "The requested operation is not implemented on the specified resource.", index: true}
	errTooLarge    = &failure{status: http.StatusRequestEntityTooLarge, code: "RequestBodyTooLarge", text: "The request body is too large and exceeds the maximum permissible limit."}
	errNeedValue   = &failure{status: http.StatusBadRequest, code: "PropertiesNeedValue", text: "The values are not specified for all properties in the entity.", index: true}
	errKeySize     = &failure{status: http.StatusBadRequest, code: "KeyValueTooLarge", text: "The key value exceeds the maximum allowed size (1KB).", index: true}
	errNameLong    = &failure{status: http.StatusBadRequest, code: "PropertyNameTooLong", text: "The property name exceeds the maximum allowed length (255).", index: true}
	errName        = &failure{status: http.StatusBadRequest, code: "PropertyNameInvalid", text: "The property name is invalid.", index: true}
	errMany        = &failure{status: http.StatusBadRequest, code: "TooManyProperties", text: "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.", index: true}
	errValueSize   = &failure{status: http.StatusBadRequest, code: "PropertyValueTooLarge", text: "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.", index: true}
	errSize        = &failure{status: http.StatusBadRequest, code: "EntityTooLarge", text: "The entity is larger than the maximum allowed size (1MB).", index: true}

	errExists    = &failure{status: http.StatusConflict, code: "EntityAlreadyExists", text: "The specified entity already exists."}
	errNotFound  = &failure{status: http.StatusNotFound, code: "ResourceNotFound", text: "The specified resource does not exist."}
	errCondition = &failure{status: http.StatusPreconditionFailed, code: "UpdateConditionNotSatisfied", text: "The update condition specified in the request was not satisfied."}

	errNoTable      = &failure{status: http.StatusNotFound, code: "TableNotFound", text: "The table specified does not exist.", terse: true, index: true}
	errTableExists  = &failure{status: http.StatusConflict, code: "TableAlreadyExists", text: "The table specified already exists."}
	errBeingDeleted = &failure{status: http.StatusConflict, code: "TableBeingDeleted", text: "The specified table is being deleted. Try operation later."}
	errTableName    = &failure{status: http.StatusBadRequest, code: "InvalidResourceName", text: "The specifed resource name contains invalid characters."} // sic

	errTwice      = &failure{status: http.StatusBadRequest, code: "InvalidDuplicateRow", text: "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.", index: true}
	errPartitions = &failure{status: http.StatusBadRequest, code: "CommandsInBatchActOnDifferentPartitions", text: "All commands in a batch must operate on same entity group.", index: true}
	errHundred    = &failure{status: http.StatusBadRequest, code: "InvalidInput", text: "The batch request operation exceeds the maximum 100 changes per change set.", index: true}
)
