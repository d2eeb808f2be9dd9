package blobs

import (
	"maps"
	"net/http"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// call is a request to the Blob service.
type call struct {
	*protocol.Request
	store    *store
	settings *settings.Settings
	options  *Options
	rights   *access.Rights   // of a shared access signature; nil: all rights
	refusal  *xmlform.Failure // why the head of the request is invalid
}

// Accepted implements protocol.Call.
func (c *call) Accepted() bool { return c.refusal == nil }

// reads reports whether the call changes nothing.
func (c *call) reads() bool { return c.Method == http.MethodGet || c.Method == http.MethodHead }

// challenge says how a user can be authenticated.
const challenge = "Bearer authorization_uri=https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000/oauth2/authorize resource_id=https://storage.azure.com"

// respond completes a response.
func (c *call) respond(r *xmlform.Response, now time.Time) *protocol.Response {
	out := r.ToProtocol(c.Request, "Windows-Azure-Blob/1.0", now)
	if r.Status == http.StatusUnauthorized {
		out.Header.Set("WWW-Authenticate", challenge)
	}
	maps.Copy(out.Header, c.settings.Header(c.Request))
	return out
}
