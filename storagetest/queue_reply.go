package storagetest

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// finishQueue gives an answer of the Queue service what every one has.
func (r *reply) finishQueue(c *call, now time.Time) {
	r.queue, r.reads = true, c.method == http.MethodGet || c.method == http.MethodHead
	if f := r.failure; f != nil {
		var b bytes.Buffer
		b.WriteString(xmlHead + "<Error>")
		element(&b, "Code", f.code)
		element(&b, "Message", message(f.text, r.id, now))
		b.WriteString(f.detail + "</Error>")
		r.body, r.mime = b.Bytes(), "application/xml"
	}
	if c.method == http.MethodHead {
		r.body = nil
	}
}

// queueHead is the head of an answer of the Queue service.
func (r *reply) queueHead(now time.Time) http.Header {
	h := http.Header{}
	h.Set("Date", httpTime(now))
	h.Set("Server", "Windows-Azure-Queue/1.0 Microsoft-HTTPAPI/2.0")
	h.Set("x-ms-request-id", r.id)
	if r.apiVersion != "" {
		h.Set("x-ms-version", r.apiVersion)
	}
	if r.echo != "" && r.apiVersion >= "2019-02-02" {
		h.Set("x-ms-client-request-id", r.echo)
	}
	for _, f := range r.extra {
		h.Set(f.name, f.value)
	}
	if r.body != nil {
		h.Set("Content-Type", r.mime)
	}
	if r.failure != nil {
		h.Set("x-ms-error-code", r.failure.code)
	} else if r.reads {
		h.Set("Cache-Control", "no-cache")
	}
	if r.failure != nil || r.body == nil {
		h.Set("Content-Length", strconv.Itoa(len(r.body)))
	}
	return h
}
