package blobs

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

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
	return &xmlform.Response{Status: http.StatusCreated, Header: header}
}

// checkBlock checks the body of a request that contains a block.
func (c *call) checkBlock(limits []sizeLimit) *xmlform.Failure {
	switch f := c.checkSize(limits); {
	case c.Header.Get("x-ms-copy-source") != "":
		return xmlform.ErrNotImplemented
	case f != nil:
		return f
	case len(c.Body) == 0:
		return xmlform.InvalidHeader("Content-Length", "0")
	}
	return c.checkChecksum(c.Header.Get("Content-MD5"))
}

// The first and the last time that an ETag can name, as numbers of 100 ns since the year 1: those of the years 1601 to 9999.
const firstETag, lastETag = 0x701CE1722770000, 0x2BCA2875F4373FFF

// checkETagForm checks the form of the ETag in If-Match. Recordings show that appends refuse a number without quotes that is no time.
// Other text is only another ETag.
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
