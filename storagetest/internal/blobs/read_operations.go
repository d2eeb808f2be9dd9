package blobs

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// maxChecked is the most bytes of a range whose checksum a request may ask for.
const maxChecked = 4 << 20

// properties returns the header that describes a blob.
func (b *blob) properties(now time.Time) http.Header {
	h := b.header()
	b.setContentHeaders(h)
	xmlform.SetMetadata(h, b.metadata)
	b.lease.setHeader(h, now)
	h.Set("Accept-Ranges", "bytes")
	h.Set("x-ms-blob-type", b.kind)
	h.Set("x-ms-creation-time", xmlform.HTTPTime(b.created))
	h.Set("x-ms-server-encrypted", "true")
	if b.kind == appendBlob {
		h.Set("x-ms-blob-committed-block-count", strconv.Itoa(len(b.content.blocks)))
	}
	return h
}

// blobProperties returns the properties and the metadata of a blob, or with comp=metadata the metadata alone.
func (c *call) blobProperties(b *blob, now time.Time) *xmlform.Response {
	if f := c.checkRead(b, now); f != nil {
		return xmlform.Refuse(f)
	}
	if c.Query.Has("comp") {
		h := b.header()
		xmlform.SetMetadata(h, b.metadata)
		return &xmlform.Response{Status: http.StatusOK, Header: h}
	}
	h := b.properties(now)
	h.Set("Content-Length", strconv.FormatInt(b.content.size(), 10))
	return &xmlform.Response{Status: http.StatusOK, Header: h}
}

// getBlob returns the content of a blob, or a range of it.
func (c *call) getBlob(b *blob, now time.Time) *xmlform.Response {
	if f := c.checkRead(b, now); f != nil {
		return xmlform.Refuse(f)
	}
	size := b.content.size()
	s, partial := c.requestedSpan()
	wantsMD5, wantsCRC := c.Header.Get("x-ms-range-get-content-md5") == "true", c.Header.Get("x-ms-range-get-content-crc64") == "true"
	if !partial {
		s = span{0, size}
	}
	s.to = min(s.to, size)
	switch {
	case partial && s.from >= size:
		refusal := xmlform.Refuse(errRange)
		refusal.Header = http.Header{"Content-Range": {fmt.Sprintf("bytes */%d", size)}}
		return refusal
	case (wantsMD5 || wantsCRC) && !partial:
		return xmlform.Refuse(xmlform.InvalidHeader("x-ms-range-get-content-md5", "true"))
	case (wantsMD5 || wantsCRC) && s.size() > maxChecked:
		return xmlform.Refuse(errOutOfRange)
	}
	body := b.content.read(s)
	h := b.properties(now)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if !partial {
		return &xmlform.Response{Status: http.StatusOK, Header: h, Body: body}
	}
	h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", s.from, s.to-1, size))
	if sum := h.Get("Content-MD5"); sum != "" { // of the whole blob
		h.Del("Content-MD5")
		h.Set("x-ms-blob-content-md5", sum)
	}
	if wantsMD5 {
		h.Set("Content-MD5", md5Text(body))
	}
	if wantsCRC {
		h.Set("x-ms-content-crc64", crc64Text(body))
	}
	return &xmlform.Response{Status: http.StatusPartialContent, Header: h, Body: body}
}
