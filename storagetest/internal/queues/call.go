package queues

import (
	"maps"
	"net/http"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// call is a request to the Queue service.
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

// respond completes a response.
func (c *call) respond(r *xmlform.Response, now time.Time) *protocol.Response {
	out := r.ToProtocol(c.Request, "Windows-Azure-Queue/1.0", now)
	if r.Failure == nil && (c.Method == http.MethodGet || c.Method == http.MethodHead) {
		out.Header.Set("Cache-Control", "no-cache")
	}
	maps.Copy(out.Header, c.settings.Header(c.Request))
	return out
}
