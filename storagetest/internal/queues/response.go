package queues

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// response is the response to a call.
type response struct {
	status  int
	failure *failure
	header  http.Header // besides the header that each response has
	body    []byte      // XML
}

// refuse returns the response to a failed call.
func refuse(f *failure) *response { return &response{status: f.Status, failure: f} }

// toProtocol completes the response.
func (r *response) toProtocol(c *call, now time.Time) *protocol.Response {
	out := &protocol.Response{Status: r.status, Header: protocol.StandardHeader(c.Request, "Windows-Azure-Queue/1.0"), Body: r.body}
	for name, values := range r.header {
		out.Header[name] = values
	}
	reads := c.Method == http.MethodGet || c.Method == http.MethodHead
	switch f := r.failure; {
	case f != nil:
		var b bytes.Buffer
		b.WriteString(xmlHead + "<Error>")
		writeElement(&b, "Code", f.Code)
		writeElement(&b, "Message", f.Message(c.ID, now))
		b.WriteString(f.detail + "</Error>")
		out.Body, out.Code = b.Bytes(), f.Code
		out.Header.Set("x-ms-error-code", f.Code)
	case reads:
		out.Header.Set("Cache-Control", "no-cache")
	}
	if c.Method == http.MethodHead {
		out.Body = nil
	}
	if out.Body != nil {
		out.Header.Set("Content-Type", "application/xml")
	}
	if r.failure != nil || out.Body == nil {
		out.Header.Set("Content-Length", strconv.Itoa(len(out.Body)))
	}
	return out
}
