package blobs

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

const (
	maxBlocks = 50_000 // of an append blob

	// versionLargeBlocks is the first version with blocks of 100 MiB.
	versionLargeBlocks = "2022-11-02"
	maxBlock           = 100 << 20
	maxBlockBefore     = 4 << 20

	// versionCRC64 is the first version whose responses contain the CRC64 of a block instead of the MD5.
	versionCRC64 = "2019-02-02"
)

// appendBlock appends a block to an append blob.
func (c *call) appendBlock(b *blob, now time.Time) *xmlform.Response {
	if f := c.checkBlock(); f != nil {
		return xmlform.Refuse(f)
	}
	if b.kind != appendBlob {
		return xmlform.Refuse(errWrongBlobType)
	}
	f := c.checkWrite(b, now)
	if f == nil {
		f = c.checkAppend(b)
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	offset := b.content.size()
	b.content.append(bytes.Clone(c.Body)) // without the spare capacity of the body
	c.store.touchBlob(b, now)
	header := encrypted(b.header())
	header.Set("x-ms-blob-append-offset", strconv.FormatInt(offset, 10))
	header.Set("x-ms-blob-committed-block-count", strconv.Itoa(len(b.content.blocks)))
	if c.Header.Get("Content-MD5") != "" || c.Version < versionCRC64 {
		header.Set("Content-MD5", md5Text(c.Body))
	} else {
		header.Set("x-ms-content-crc64", crc64Text(c.Body))
	}
	return &xmlform.Response{Status: http.StatusCreated, Header: header}
}

// checkBlock checks the body and the header of an append.
func (c *call) checkBlock() *xmlform.Failure {
	most := maxBlock
	if c.Version < versionLargeBlocks {
		most = maxBlockBefore
	}
	match := c.Header.Get("If-Match")
	switch {
	case c.Header.Get("x-ms-copy-source") != "":
		return xmlform.ErrNotImplemented
	case len(c.Body) > most:
		return xmlform.ErrBodyTooLarge.With("<MaxLimit>%d</MaxLimit>", most)
	case len(c.Body) == 0:
		return xmlform.InvalidHeader("Content-Length", "0")
	case match != "" && match != "*" && !strings.HasPrefix(match, `"`):
		return errOutOfRange // recorded for appends only
	}
	return c.checkChecksum()
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
