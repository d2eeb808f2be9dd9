package storagetest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// field is a line of an answer's head.
type field struct{ name, value string }

// reply is an answer to a call.
type reply struct {
	status   int
	failure  *failure
	prefer   string // what of the Prefer header was heeded
	location string
	dataID   bool // DataServiceId goes with Location
	etag     string
	version  string // DataServiceVersion
	body     []byte
	mime     string
	extra    []field // continuation tokens
	inside   string  // the error code of a transaction that failed

	id, echo, apiVersion string
	level                level

	queue bool // an answer of the Queue service,
	reads bool // to a GET
}

// refuse is the answer that a call failed.
func refuse(f *failure) *reply { return &reply{status: f.status, failure: f, version: "3.0;"} }

// finish gives an answer what every answer has.
func (r *reply) finish(c *call, now time.Time) {
	r.id, r.apiVersion, r.level = c.id, c.version, c.level
	r.echo = c.header.Get("x-ms-client-request-id")
	if c.queue {
		r.finishQueue(c, now)
		return
	}
	if f := r.failure; f != nil && f.xml {
		var text bytes.Buffer
		xml.EscapeText(&text, []byte(message(f.text, r.id, now)))
		r.mime = "application/xml"
		r.body = fmt.Appendf(nil, `<?xml version="1.0" encoding="utf-8"?><m:error xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><m:code>%s</m:code><m:message xml:lang="en-US">%s</m:message></m:error>`, f.code, strings.ReplaceAll(text.String(), "&#xA;", "\n"))
	} else if f != nil {
		r.mime, r.body = r.level.contentType(), f.json("", r.id, now)
		if m := c.method; m == http.MethodPost {
			r.prefer = preference(c)
		}
	}
}

// message is an error's text as the service writes it.
func message(text, id string, now time.Time) string {
	return text + "\nRequestId:" + id + "\nTime:" + now.UTC().Format("2006-01-02T15:04:05.0000000Z")
}

// json is the body of an error.
func (f *failure) json(prefix, id string, now time.Time) []byte {
	var w writer
	w.WriteString(`{"odata.error":{`)
	w.member("code", f.code)
	w.key("message")
	w.WriteByte('{')
	w.more = false
	w.member("lang", "en-US")
	w.member("value", message(prefix+f.text, id, now))
	w.WriteString("}}}")
	return w.Bytes()
}

// head is the answer's head when it stands alone.
func (r *reply) head(now time.Time) http.Header {
	if r.queue {
		return r.queueHead(now)
	}
	h := http.Header{}
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	if f := r.failure; f != nil && f.xml {
		h.Set("Server", "Microsoft-HTTPAPI/2.0")
		h.Set("Content-Type", r.mime)
		h.Set("Content-Length", strconv.Itoa(len(r.body)))
		h.Set("x-ms-error-code", f.code)
		return h
	}
	h.Set("Server", "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0")
	h.Set("x-ms-request-id", r.id)
	h.Set("X-Content-Type-Options", "nosniff")
	if r.apiVersion != "" {
		h.Set("x-ms-version", r.apiVersion)
	}
	if r.echo != "" && r.apiVersion >= "2019-02-02" {
		h.Set("x-ms-client-request-id", r.echo)
	}
	if r.failure == nil || !r.failure.bare {
		h.Set("Cache-Control", "no-cache")
	}
	if r.prefer != "" {
		h.Set("Preference-Applied", r.prefer)
	}
	if r.location != "" {
		h.Set("Location", r.location)
		if r.dataID {
			h.Set("DataServiceId", r.location)
		}
	}
	if r.etag != "" {
		h.Set("ETag", r.etag)
	}
	for _, f := range r.extra {
		h.Set(f.name, f.value)
	}
	if r.body == nil {
		h.Set("Content-Length", "0")
		return h
	}
	h.Set("Content-Type", r.mime)
	return h
}

// part writes the answer as one of a transaction's, in the order in which the service writes the lines of its head.
func (r *reply) part(b *bytes.Buffer, contentID string) {
	fmt.Fprintf(b, "HTTP/1.1 %d %s\r\n", r.status, http.StatusText(r.status))
	line := func(name, value string) {
		if value != "" {
			b.WriteString(name + ": " + value + "\r\n")
		}
	}
	cache := "no-cache"
	if r.failure != nil && (r.failure.bare || r.failure.terse) {
		cache = ""
	}
	switch {
	case r.failure != nil:
		line("Content-ID", contentID)
		line("X-Content-Type-Options", "nosniff")
		line("Cache-Control", cache)
		line("Preference-Applied", r.prefer)
		line("DataServiceVersion", r.version)
		line("Content-Type", r.mime)
	case r.body != nil:
		line("DataServiceVersion", r.version)
		line("Content-Type", r.mime)
		line("Content-ID", contentID)
		line("X-Content-Type-Options", "nosniff")
		line("Cache-Control", cache)
		line("Preference-Applied", r.prefer)
		line("Location", r.location)
		line("ETag", r.etag)
	default:
		line("Content-ID", contentID)
		line("X-Content-Type-Options", "nosniff")
		line("Cache-Control", cache)
		line("Preference-Applied", r.prefer)
		line("DataServiceVersion", r.version)
		line("Location", r.location)
		if r.dataID {
			line("DataServiceId", r.location)
		}
		line("ETag", r.etag)
	}
	b.WriteString("\r\n")
	b.Write(r.body)
	b.WriteString("\r\n")
}

// preference is what an insert asks for in its Prefer header.
func preference(c *call) string {
	switch p := strings.TrimSpace(c.header.Get("Prefer")); p {
	case "return-content", "return-no-content":
		return p
	}
	return ""
}
