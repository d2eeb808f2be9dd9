package blobs

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
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
	if c.Method == http.MethodDelete && x.noneMatch == "*" {
		x.noneMatch = "" // which the live service does not apply to a deletion
	}
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

// createConditions returns the conditions of a write that creates or replaces a blob.
func (c *call) createConditions() (conditions, *xmlform.Failure) {
	x, f := c.parseConditions()
	if f == nil {
		f = x.checkCombination()
	}
	return x, f
}

// checkCreate checks the lease ID and the conditions of a write that creates or replaces a blob. b
// is nil if there is no blob.
func (c *call) checkCreate(b *blob, now time.Time) *xmlform.Failure {
	x, f := c.createConditions()
	if f == nil {
		f = c.checkCreateLease(b, now)
	}
	if f == nil {
		f = x.checkCreate(b, now)
	}
	return f
}

// checkCreate checks the conditions of a write that creates or replaces a blob. b is nil if there
// is no blob.
func (x conditions) checkCreate(b *blob, now time.Time) *xmlform.Failure {
	switch {
	case b.exists() && x.noneMatch == "*":
		return errBlobExists
	case b.exists():
		return x.checkWrite(b.etag, b.modified)
	case b != nil && !x.modifiedSince.IsZero() && !now.After(x.modifiedSince):
		return errCondition // a blob with uncommitted blocks only has no time of its own
	}
	if x.match != "" {
		return errCondition
	}
	return nil
}

// versionNewLease is the first version in which a blob that does not exist has no lease ID.
const versionNewLease = "2013-08-15"

// checkCreateLease checks the lease ID of a write that creates or replaces a blob. b is nil if
// there is no blob.
func (c *call) checkCreateLease(b *blob, now time.Time) *xmlform.Failure {
	switch {
	case b == nil && c.Version < versionNewLease:
		return nil
	case b == nil:
		b = &blob{}
	}
	return b.lease.checkRequired(c.Header.Get("x-ms-lease-id"), now, blobLease)
}

// createBlob creates an empty append blob or a block blob with content, or replaces a blob by one.
// old is nil if there is no blob. from has the properties of a blob that are not in the request.
// Uncommitted blocks of the replaced blob are discarded.
func (c *call) createBlob(parent *container, name string, old, from *blob, now time.Time) *xmlform.Response {
	if f := c.checkPut(); f != nil {
		return xmlform.Refuse(f)
	}
	b, f := c.newBlob(name, c.Header.Get("x-ms-blob-type"), c.Header.Get("Content-Type"), from)
	if f == nil {
		f = c.checkCreate(old, now)
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
	c.echoStructured(header)
	return &xmlform.Response{Status: http.StatusCreated, Header: header}
}

// checkPut checks the type and the body of a request that creates a blob. The MD5 of the blob,
// which describes the body of a block blob, counts more than that of the body.
func (c *call) checkPut() *xmlform.Failure {
	switch kind := c.Header.Get("x-ms-blob-type"); {
	case kind == "PageBlob":
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

// newBlob returns a blob with the headers and the metadata of the request, or those of another blob
// that the request does not have.
func (c *call) newBlob(name, kind, contentType string, from *blob) (*blob, *xmlform.Failure) {
	metadata, f := c.metadata()
	if metadata == nil {
		metadata = from.metadata
	}
	headers := c.ownHeaders()
	for name, value := range from.headers {
		headers[name] = cmp.Or(headers[name], value)
	}
	headers["Content-Type"] = cmp.Or(headers["Content-Type"], contentType, defaultContentType)
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
	switch snapshots := c.Header.Get("x-ms-delete-snapshots"); snapshots {
	case "", "include":
	case "only":
		return xmlform.Refuse(xmlform.ErrNotImplemented)
	default:
		return xmlform.Refuse(xmlform.InvalidHeader("x-ms-delete-snapshots", snapshots))
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
	b.headers, b.copied = c.ownHeaders(), nil
	c.store.touchBlob(b, now)
	return &xmlform.Response{Status: http.StatusOK, Header: b.header()}
}

// maxBlocks is the maximum number of committed blocks of a blob.
const maxBlocks = 50_000

// appendBlock appends a block to an append blob.
func (c *call) appendBlock(b *blob, now time.Time) *xmlform.Response {
	f := c.checkBlock(appendLimits)
	if f == nil {
		f = c.checkETagForm()
	}
	if f == nil && b.kind != appendBlob {
		f = errWrongBlobType
	}
	if f == nil {
		f = c.checkWrite(b, now)
	}
	if f == nil {
		f = c.checkAppend(b)
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	offset := b.content.size()
	b.content.append(c.ownBody())
	c.store.touchBlob(b, now)
	header := encrypted(b.header())
	header.Set("x-ms-blob-append-offset", strconv.FormatInt(offset, 10))
	header.Set("x-ms-blob-committed-block-count", strconv.Itoa(len(b.content.blocks)))
	c.setChecksum(header)
	c.echoStructured(header)
	return &xmlform.Response{Status: http.StatusCreated, Header: header}
}

// checkBlock checks the body of a request that contains a block.
func (c *call) checkBlock(limits []sizeLimit) *xmlform.Failure {
	switch f := c.checkSize(limits); {
	case f != nil:
		return f
	case len(c.Body) == 0:
		return xmlform.InvalidHeader("Content-Length", "0")
	}
	return c.checkChecksum(c.Header.Get("Content-MD5"))
}

// The first and the last time that an ETag can name, as numbers of 100 ns since the year 1, for the
// years 1601 to 9999.
const firstETag, lastETag = 0x701CE1722770000, 0x2BCA2875F4373FFF

// checkETagForm checks the form of the ETag in If-Match. Recordings show that appends refuse a
// number without quotes that is no time. Other text is only another ETag.
func (c *call) checkETagForm() *xmlform.Failure {
	number, ok := strings.CutPrefix(c.Header.Get("If-Match"), "0x")
	if at, err := strconv.ParseInt(number, 16, 64); ok && (err != nil || at < firstETag || at > lastETag) {
		return errOutOfRange
	}
	return nil
}

// checkAppend checks the number of blocks and the conditions of an append.
func (c *call) checkAppend(b *blob) *xmlform.Failure {
	offset := b.content.size()
	maxSize, f := c.size("x-ms-blob-condition-maxsize", 1<<62)
	if f != nil {
		return f
	}
	position, f := c.size("x-ms-blob-condition-appendpos", offset)
	switch {
	case f != nil:
		return f
	case len(b.content.blocks) >= maxBlocks:
		return errBlockCount
	case offset != position:
		return errAppendPosition
	case offset+int64(len(c.Body)) > maxSize:
		return errMaxSize
	}
	return nil
}

// size returns a number of bytes in a header.
func (c *call) size(name string, defaultValue int64) (int64, *xmlform.Failure) {
	value := c.Header.Get(name)
	if value == "" {
		return defaultValue, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 {
		return 0, xmlform.InvalidHeader(name, value)
	}
	return n, nil
}

// maxChecked is the most bytes of a range whose checksum a request may ask for.
const maxChecked = 4 << 20

// properties returns the header that describes a blob.
func (b *blob) properties(now time.Time) http.Header {
	h := b.header()
	b.setContentHeaders(h)
	xmlform.SetMetadata(h, b.metadata)
	b.lease.setHeader(h, now)
	if b.copied != nil {
		b.copied.setHeader(h)
	}
	h.Set("Accept-Ranges", "bytes")
	h.Set("x-ms-blob-type", b.kind)
	h.Set("x-ms-creation-time", xmlform.HTTPTime(b.created))
	h.Set("x-ms-server-encrypted", "true")
	if b.kind == appendBlob {
		h.Set("x-ms-blob-committed-block-count", strconv.Itoa(len(b.content.blocks)))
	}
	return h
}

// blobProperties returns the properties and the metadata of a blob, or with comp=metadata the
// metadata alone.
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
	const headerMD5, headerCRC = "x-ms-range-get-content-md5", "x-ms-range-get-content-crc64"
	wantsMD5, wantsCRC := c.Header.Get(headerMD5) == "true", c.Header.Get(headerCRC) == "true"
	wanted := headerMD5
	if wantsCRC {
		wanted = headerCRC
	}
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
		return xmlform.Refuse(xmlform.InvalidHeader(wanted, "true"))
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
