package blobs

import "net/http"

// contentHeaders are the HTTP headers that a blob has of its own, in the order of a list.
var contentHeaders = []string{"Content-Type", "Content-Encoding", "Content-Language", "Content-MD5", "Cache-Control", "Content-Disposition"}

// defaultContentType is the Content-Type of a blob without one.
const defaultContentType = "application/octet-stream"

// ownHeaders returns the headers for a blob that the request contains as x-ms-blob-content-type and so on.
func (c *call) ownHeaders() map[string]string {
	own := map[string]string{}
	for _, name := range contentHeaders {
		if value := c.Header.Get("x-ms-blob-" + name); value != "" {
			own[name] = value
		}
	}
	return own
}

// contentType returns the Content-Type of a blob. Set Blob Properties can remove it.
func (b *blob) contentType() string { return b.headers["Content-Type"] }

// setContentHeaders adds the blob's own headers to the header of a response.
func (b *blob) setContentHeaders(h http.Header) {
	for _, name := range contentHeaders {
		if value := b.headers[name]; value != "" {
			h.Set(name, value)
		}
	}
	if b.contentType() == "" {
		h["Content-Type"] = nil // so that net/http does not guess it
	}
}
