package storagetest

import (
	"net/http"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// received is a request with the call of the service that it was sent to.
type received struct {
	*protocol.Request
	service string // "table"
	call    protocol.Call
}

// reads reports whether the request changes nothing.
func (r *received) reads() bool {
	switch r.Method {
	case http.MethodGet:
		return r.call.Describe(false).Kind != requests.MessageGet // which hides messages
	case http.MethodHead, http.MethodOptions:
		return true
	}
	return false
}
