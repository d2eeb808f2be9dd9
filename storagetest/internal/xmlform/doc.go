// Package xmlform is the form of requests and responses that the Queue service and the Blob service
// share: signatures, parameters, metadata, failures and XML.
package xmlform
