package blobs

import (
	"net/http"
	"strconv"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// appendBlob is the type of append blobs.
const appendBlob = "AppendBlob"

// header returns the header of the response to a write.
func (b *blob) header() http.Header { return validators(b.etag, b.modified) }

// encrypted adds the header of a response to a write of content or metadata.
func encrypted(h http.Header) http.Header {
	h.Set("x-ms-request-server-encrypted", "true")
	return h
}

// checkWrite checks the conditions and the lease ID of a write to a blob.
func (c *call) checkWrite(b *blob, now time.Time) *xmlform.Failure {
	x, f := c.parseConditions()
	if f == nil {
		f = x.checkWrite(b.etag, b.modified)
	}
	if f == nil {
		f = b.lease.checkRequired(c.Header.Get("x-ms-lease-id"), now, blobLease)
	}
	return f
}

// checkRead checks the conditions and the lease ID of a read of a blob.
func (c *call) checkRead(b *blob, now time.Time) *xmlform.Failure {
	x, f := c.parseConditions()
	if f == nil {
		f = x.checkRead(b.etag, b.modified)
	}
	if f == nil {
		f = b.lease.checkGiven(c.Header.Get("x-ms-lease-id"), now, blobLease)
	}
	return f
}

// checkCreate checks the conditions and the lease ID of a write that creates or replaces a blob. b is nil if there is no blob, and
// then the lease ID is not checked, as by the live service.
func (c *call) checkCreate(b *blob, now time.Time) *xmlform.Failure {
	x, f := c.parseConditions()
	switch {
	case f != nil:
		return f
	case b != nil && x.noneMatch == "*":
		return errBlobExists
	case b != nil:
		return c.checkWrite(b, now)
	}
	return x.checkMissing(false)
}

// createBlob creates an empty append blob, or replaces a blob by one. Other types of blobs get 501.
func (c *call) createBlob(parent *container, name string, now time.Time) *xmlform.Response {
	switch kind := c.Header.Get("x-ms-blob-type"); {
	case c.Header.Get("x-ms-copy-source") != "", kind == "BlockBlob", kind == "PageBlob", c.Header.Get("x-ms-tags") != "":
		return xmlform.Refuse(xmlform.ErrNotImplemented)
	case kind == "":
		return xmlform.Refuse(xmlform.MissingHeader("x-ms-blob-type"))
	case kind != appendBlob:
		return xmlform.Refuse(xmlform.InvalidHeader("x-ms-blob-type", kind))
	case len(c.Body) > 0:
		return xmlform.Refuse(xmlform.InvalidHeader("Content-Length", strconv.Itoa(len(c.Body))))
	}
	return c.putBlob(parent, &blob{name: name, kind: appendBlob}, now)
}

// putBlob stores a blob with the headers and the metadata of the request. A lease of the replaced blob stays.
func (c *call) putBlob(parent *container, b *blob, now time.Time) *xmlform.Response {
	var f *xmlform.Failure
	if b.metadata, f = c.metadata(); f != nil {
		return xmlform.Refuse(f)
	}
	b.headers, b.created = c.ownHeaders(), now
	if b.headers["Content-Type"] == "" {
		b.headers["Content-Type"] = c.Header.Get("Content-Type")
	}
	old := parent.blobs[b.name]
	if f := c.checkCreate(old, now); f != nil {
		return xmlform.Refuse(f)
	}
	if old != nil {
		b.lease = old.lease
	}
	c.store.touchBlob(b, now)
	parent.blobs[b.name] = b
	return &xmlform.Response{Status: http.StatusCreated, Header: encrypted(b.header())}
}

// deleteBlob deletes a blob.
func (c *call) deleteBlob(parent *container, b *blob, now time.Time) *xmlform.Response {
	if c.Header.Get("x-ms-delete-snapshots") == "only" {
		return xmlform.Refuse(xmlform.ErrNotImplemented)
	}
	if f := c.checkWrite(b, now); f != nil {
		return xmlform.Refuse(f)
	}
	delete(parent.blobs, b.name)
	header := http.Header{}
	header.Set("x-ms-delete-type-permanent", "true")
	return &xmlform.Response{Status: http.StatusAccepted, Header: header}
}

// setBlobMetadata replaces the metadata of a blob.
func (c *call) setBlobMetadata(b *blob, now time.Time) *xmlform.Response {
	metadata, f := c.metadata()
	if f == nil {
		f = c.checkWrite(b, now)
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	b.metadata = metadata
	c.store.touchBlob(b, now)
	return &xmlform.Response{Status: http.StatusOK, Header: encrypted(b.header())}
}

// setBlobHeaders replaces all headers of a blob.
func (c *call) setBlobHeaders(b *blob, now time.Time) *xmlform.Response {
	if f := c.checkWrite(b, now); f != nil {
		return xmlform.Refuse(f)
	}
	b.headers = c.ownHeaders()
	c.store.touchBlob(b, now)
	return &xmlform.Response{Status: http.StatusOK, Header: b.header()}
}
