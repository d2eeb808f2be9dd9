package tables

import (
	"net/http"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// invalid returns a failure with status 400, whose text begins with the index of the operation in a transaction.
func invalid(code, text string) *odata.Failure {
	f := odata.NewFailure(http.StatusBadRequest, code, text)
	f.AlwaysWithIndex = true
	return f
}

// The failures of the Table service, in the words of the live service.
var (
	errAuthentication = &odata.Failure{Failure: protocol.AuthenticationFailed, FrontEnd: true}
	errAuthorization  = &odata.Failure{Failure: access.Unauthorized}

	errHeader            = invalid("InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.")
	errMethodNotAllowed  = &odata.Failure{Failure: protocol.Failure{Status: http.StatusMethodNotAllowed, Code: "MethodNotAllowed", Text: "The requested method is not allowed on the specified resource."}, AlwaysWithIndex: true}
	errBodyTooLarge      = &odata.Failure{Failure: protocol.RequestBodyTooLarge}
	errMissingKeys       = invalid("PropertiesNeedValue", "The values are not specified for all properties in the entity.")
	errKeyTooLarge       = invalid("KeyValueTooLarge", "The key value exceeds the maximum allowed size (1KB).")
	errNameTooLong       = invalid("PropertyNameTooLong", "The property name exceeds the maximum allowed length (255).")
	errNameInvalid       = invalid("PropertyNameInvalid", "The property name is invalid.")
	errTooManyProperties = invalid("TooManyProperties", "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.")
	errValueTooLarge     = invalid("PropertyValueTooLarge", "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.")
	errEntityTooLarge    = invalid("EntityTooLarge", "The entity is larger than the maximum allowed size (1MB).")

	errEntityExists    = odata.NewFailure(http.StatusConflict, "EntityAlreadyExists", "The specified entity already exists.")
	errNotFound        = odata.NewFailure(http.StatusNotFound, "ResourceNotFound", "The specified resource does not exist.")
	errConditionNotMet = odata.NewFailure(http.StatusPreconditionFailed, "UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied.")

	errOtherETag = odata.NewFailure(http.StatusPreconditionFailed, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.")

	errTableNotFound     = &odata.Failure{Failure: protocol.Failure{Status: http.StatusNotFound, Code: "TableNotFound", Text: "The table specified does not exist."}, NoPartHeader: true, AlwaysWithIndex: true}
	errTableExists       = odata.NewFailure(http.StatusConflict, "TableAlreadyExists", "The table specified already exists.")
	errStatistics        = odata.NewFailure(http.StatusBadRequest, "InvalidQueryParameterValue", "Value for one of the query parameters specified in the request URI is invalid.")
	errTableBeingDeleted = odata.NewFailure(http.StatusConflict, "TableBeingDeleted", "The specified table is being deleted. Try operation later.")
	errTableName         = &odata.Failure{Failure: protocol.InvalidResourceName}

	errDuplicateRow      = invalid("InvalidDuplicateRow", "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.")
	errPartitions        = invalid("CommandsInBatchActOnDifferentPartitions", "All commands in a batch must operate on same entity group.")
	errTooManyOperations = invalid("InvalidInput", "The batch request operation exceeds the maximum 100 changes per change set.")
)
