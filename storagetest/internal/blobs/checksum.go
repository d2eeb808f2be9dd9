package blobs

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"hash/crc64"
	"net/http"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// The service's CRC64 has a polynomial of its own.
var crcTable = crc64.MakeTable(0x9A6C9329AC4BC9B5)

// md5Text returns the MD5 of content as headers contain it.
func md5Text(content []byte) string {
	sum := md5.Sum(content)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// crc64Text returns the CRC64 of content as headers contain it.
func crc64Text(content []byte) string {
	return base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint64(nil, crc64.Checksum(content, crcTable)))
}

// checkChecksum checks the checksums of the body: an MD5, which may be empty, and the CRC64, if the request has one.
func (c *call) checkChecksum(sum string) *xmlform.Failure {
	crc := c.Header.Get("x-ms-content-crc64")
	b, err := base64.StdEncoding.DecodeString(sum)
	crcBytes, crcErr := base64.StdEncoding.DecodeString(crc)
	switch {
	case sum != "" && crc != "":
		return errTwoChecksums
	case sum != "" && (err != nil || len(b) != md5.Size):
		return errMD5
	case sum != "" && sum != md5Text(c.Body):
		return errMD5Mismatch
	case crc != "" && (crcErr != nil || len(crcBytes) < crc64.Size):
		return xmlform.InvalidHeader("x-ms-content-crc64", crc)
	case crc != "" && crc != crc64Text(c.Body):
		return errCRC64Mismatch
	}
	return nil
}

// versionCRC64 is the first version whose responses contain the CRC64 of the body instead of the MD5.
const versionCRC64 = "2019-02-02"

// setChecksum adds the checksum of the body to the header of a response.
func (c *call) setChecksum(h http.Header) {
	if c.Header.Get("Content-MD5") != "" || c.Version < versionCRC64 {
		h.Set("Content-MD5", md5Text(c.Body))
	} else {
		h.Set("x-ms-content-crc64", crc64Text(c.Body))
	}
}
