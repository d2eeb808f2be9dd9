package tables

import (
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// response is the response to a call, or to an operation inside a transaction.
type response struct {
	status      int
	failure     *odata.Failure
	preference  string // the preference that the service applied
	location    string
	serviceID   bool // DataServiceId accompanies Location
	etag        string
	dataVersion string // DataServiceVersion
	body        []byte
	contentType string
	next        http.Header // continuation tokens
	innerCode   string      // the error code of the failed operation of a transaction
	xml         bool        // the response is XML
	cors        http.Header // of the answer to a preflight request
}

// The values of DataServiceVersion.
const (
	dataVersion1 = "1.0;"
	dataVersion3 = "3.0;"
)

// refuse returns the response to a failed call.
func refuse(f *odata.Failure) *response {
	return &response{status: f.Status, failure: f, dataVersion: dataVersion3}
}

// writeError writes the body of a failed call's response.
func (r *response) writeError(c *call, now time.Time) {
	switch f := r.failure; {
	case f == nil:
	case f.FrontEnd, r.xml:
		r.contentType, r.body = "application/xml", f.XML(c.ID, now)
	default:
		r.contentType, r.body = c.level.ContentType(), f.JSON("", c.ID, now)
		if c.Method == http.MethodPost {
			r.preference = c.preference()
		}
	}
}

// toProtocol returns the response to a call that is not inside a transaction.
func (r *response) toProtocol(c *call, now time.Time) *protocol.Response {
	r.writeError(c, now)
	out := &protocol.Response{Status: r.status, Header: r.header(c), Body: r.body, Code: r.innerCode}
	if r.failure != nil {
		out.Code = r.failure.Code
	}
	maps.Copy(out.Header, r.cors)
	maps.Copy(out.Header, c.settings.Header(c.Request))
	return out
}

// header returns the header of a response that is not inside a transaction.
func (r *response) header(c *call) http.Header {
	if f := r.failure; f != nil && f.FrontEnd {
		h := http.Header{}
		h.Set("Server", "Microsoft-HTTPAPI/2.0")
		h.Set("Content-Type", r.contentType)
		h.Set("Content-Length", strconv.Itoa(len(r.body)))
		h.Set("x-ms-error-code", f.Code)
		return h
	}
	h := protocol.StandardHeader(c.Request, "Windows-Azure-Table/1.0")
	if r.xml {
		r.xmlHeader(h)
		return h
	}
	h.Set("X-Content-Type-Options", "nosniff")
	if r.failure == nil || !r.failure.NoCacheControl {
		h.Set("Cache-Control", "no-cache")
	}
	set := func(name, value string) {
		if value != "" {
			h.Set(name, value)
		}
	}
	set("Preference-Applied", r.preference)
	set("Location", r.location)
	if r.serviceID {
		set("DataServiceId", r.location)
	}
	set("ETag", r.etag)
	for name, values := range r.next {
		h[name] = values
	}
	if r.body == nil {
		h.Set("Content-Length", "0")
	} else {
		h.Set("Content-Type", r.contentType)
	}
	return h
}

// xmlHeader sets the header of a response that is XML.
func (r *response) xmlHeader(h http.Header) {
	if r.failure != nil {
		h.Set("x-ms-error-code", r.failure.Code)
	}
	if r.body != nil {
		h.Set("Content-Type", "application/xml")
	}
	if r.failure != nil || r.body == nil {
		h.Set("Content-Length", strconv.Itoa(len(r.body)))
	}
}

// appendPart appends the response to an operation inside a transaction. The lines of the header
// have the order in which the service sends them.
func (r *response) appendPart(b []byte, contentID string) []byte {
	b = append(append(strconv.AppendInt(append(b, "HTTP/1.1 "...), int64(r.status), 10), ' '), http.StatusText(r.status)...)
	b = append(b, "\r\n"...)
	line := func(name, value string) {
		if value != "" {
			b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
		}
	}
	cacheControl := "no-cache"
	if r.failure != nil && (r.failure.NoCacheControl || r.failure.NoPartHeader) {
		cacheControl = ""
	}
	common := func() {
		line("Content-ID", contentID)
		line("X-Content-Type-Options", "nosniff")
		line("Cache-Control", cacheControl)
		line("Preference-Applied", r.preference)
	}
	switch {
	case r.failure != nil:
		common()
		line("DataServiceVersion", r.dataVersion)
		line("Content-Type", r.contentType)
	case r.body != nil:
		line("DataServiceVersion", r.dataVersion)
		line("Content-Type", r.contentType)
		common()
		line("Location", r.location)
		line("ETag", r.etag)
	default:
		common()
		line("DataServiceVersion", r.dataVersion)
		line("Location", r.location)
		if r.serviceID {
			line("DataServiceId", r.location)
		}
		line("ETag", r.etag)
	}
	b = append(append(b, "\r\n"...), r.body...)
	return append(b, "\r\n"...)
}

// invalid returns a failure with status 400, whose text begins with the index of the operation in a
// transaction.
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
	errMissingLength     = &odata.Failure{Failure: protocol.MissingLength}
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
