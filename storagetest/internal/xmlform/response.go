package xmlform

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// Response is the response to a request.
type Response struct {
	Status  int
	Failure *Failure
	Header  http.Header // besides the header that each response has
	Body    []byte      // XML, unless Header has a Content-Type
}

// Refuse returns the response to a failed request.
func Refuse(f *Failure) *Response { return &Response{Status: f.Status, Failure: f} }

// ToProtocol completes the response of a server. A response to HEAD has no body.
func (r *Response) ToProtocol(c *protocol.Request, server string, now time.Time) *protocol.Response {
	out := &protocol.Response{Status: r.Status, Header: protocol.StandardHeader(c, server), Body: r.Body}
	for name, values := range r.Header {
		out.Header[name] = values
	}
	if f := r.Failure; f != nil {
		out.Body, out.Code = f.body(c.ID, now), f.Code
		out.Header.Set("x-ms-error-code", f.Code)
	}
	if c.Method == http.MethodHead || r.Status == http.StatusNotModified {
		out.Body = nil
	}
	if _, set := out.Header["Content-Type"]; out.Body != nil && !set { // the Content-Type of a blob may be none
		out.Header.Set("Content-Type", "application/xml")
	}
	if (r.Failure != nil || out.Body == nil) && out.Header.Get("Content-Length") == "" {
		out.Header.Set("Content-Length", strconv.Itoa(len(out.Body)))
	}
	return out
}

// body returns the failure as XML.
func (f *Failure) body(requestID string, now time.Time) []byte {
	var b bytes.Buffer
	b.WriteString(Head + "<Error>")
	WriteElement(&b, "Code", f.Code)
	WriteElement(&b, "Message", f.Message(requestID, now))
	b.WriteString(f.Detail + "</Error>")
	return b.Bytes()
}
