package blobs

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// The types of blobs.
const (
	appendBlob = "AppendBlob"
	blockBlob  = "BlockBlob"
)

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

// checkCreateConditions checks the conditions of a write that creates or replaces a blob. b is nil if there is no blob.
func (c *call) checkCreateConditions(b *blob, now time.Time) *xmlform.Failure {
	x, f := c.parseConditions()
	if f == nil {
		f = x.checkCombination()
	}
	switch {
	case f != nil:
		return f
	case b.exists() && x.noneMatch == "*":
		return errBlobExists
	case b.exists():
		return x.checkWrite(b.etag, b.modified)
	case b != nil && !x.modifiedSince.IsZero() && !now.After(x.modifiedSince):
		return errCondition // a blob with uncommitted blocks only has no time of its own
	}
	return x.checkMissing(false)
}

// checkCreateLease checks the lease ID of a write that creates or replaces a blob. b is nil if there is no blob, and then the lease
// ID is not checked, as by the live service.
func (c *call) checkCreateLease(b *blob, now time.Time) *xmlform.Failure {
	if b == nil {
		return nil
	}
	return b.lease.checkRequired(c.Header.Get("x-ms-lease-id"), now, blobLease)
}

// createBlob creates an empty append blob or a block blob with content, or replaces a blob by one. old is nil if there is no blob.
// Uncommitted blocks of the replaced blob are discarded.
func (c *call) createBlob(parent *container, name string, old *blob, now time.Time) *xmlform.Response {
	if f := c.checkPut(); f != nil {
		return xmlform.Refuse(f)
	}
	b, f := c.newBlob(name, c.Header.Get("x-ms-blob-type"), c.Header.Get("Content-Type"))
	if f == nil {
		f = c.checkCreateConditions(old, now)
	}
	if f == nil {
		f = c.checkCreateLease(old, now)
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	if b.kind == blockBlob {
		b.headers["Content-MD5"] = md5Text(c.Body)
		if len(c.Body) > 0 {
			b.content.append(c.ownBody())
		}
	}
	c.storeBlob(parent, b, now)
	header := encrypted(b.header())
	if b.kind == blockBlob {
		header.Set("Content-MD5", b.headers["Content-MD5"])
		if c.Version >= versionCRC64 {
			header.Set("x-ms-content-crc64", crc64Text(c.Body))
		}
	}
	return &xmlform.Response{Status: http.StatusCreated, Header: header}
}

// checkPut checks the type and the body of a request that creates a blob. The MD5 of the blob, which describes the body of a block
// blob, counts more than that of the body.
func (c *call) checkPut() *xmlform.Failure {
	switch kind := c.Header.Get("x-ms-blob-type"); {
	case c.Header.Get("x-ms-copy-source") != "", kind == "PageBlob":
		return xmlform.ErrNotImplemented
	case kind == "":
		return xmlform.MissingHeader("x-ms-blob-type")
	case kind == appendBlob && len(c.Body) > 0:
		return xmlform.InvalidHeader("Content-Length", strconv.Itoa(len(c.Body)))
	case kind == appendBlob:
		return nil
	case kind != blockBlob:
		return xmlform.InvalidHeader("x-ms-blob-type", kind)
	}
	if f := c.checkSize(putLimits); f != nil {
		return f
	}
	return c.checkChecksum(cmp.Or(c.Header.Get("x-ms-blob-content-md5"), c.Header.Get("Content-MD5")))
}

// newBlob returns a blob with the headers and the metadata of the request. Tags and tiers answer 501.
func (c *call) newBlob(name, kind, contentType string) (*blob, *xmlform.Failure) {
	if c.Header.Get("x-ms-tags") != "" || c.Header.Get("x-ms-access-tier") != "" {
		return nil, xmlform.ErrNotImplemented
	}
	metadata, f := c.metadata()
	headers := c.ownHeaders()
	if headers["Content-Type"] == "" {
		headers["Content-Type"] = cmp.Or(contentType, defaultContentType)
	}
	return &blob{name: name, kind: kind, headers: headers, metadata: metadata}, f
}

// storeBlob stores a new blob. A lease of the replaced blob stays.
func (c *call) storeBlob(parent *container, b *blob, now time.Time) {
	if old := parent.blobs[b.name]; old != nil {
		b.lease = old.lease
	}
	b.created = now
	c.store.touchBlob(b, now)
	parent.blobs[b.name] = b
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
