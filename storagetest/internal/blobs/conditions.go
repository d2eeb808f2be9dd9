package blobs

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// conditions are the conditional headers of a request. The zero value is no condition.
type conditions struct {
	match, noneMatch               string
	modifiedSince, unmodifiedSince time.Time
}

// parseConditions returns the conditions of the request.
func (c *call) parseConditions() (conditions, *xmlform.Failure) { return c.conditionsOf("") }

// conditionsOf returns the conditions in the headers whose names begin with a prefix.
func (c *call) conditionsOf(prefix string) (x conditions, f *xmlform.Failure) {
	for name, etag := range map[string]*string{"If-Match": &x.match, "If-None-Match": &x.noneMatch} {
		*etag = strings.Join(c.Header.Values(prefix+name), ",")
	}
	for name, at := range map[string]*time.Time{"If-Modified-Since": &x.modifiedSince, "If-Unmodified-Since": &x.unmodifiedSince} {
		name = prefix + name
		value := c.Header.Get(name)
		if value == "" {
			continue
		}
		var err error
		if *at, err = http.ParseTime(value); err != nil {
			return x, xmlform.InvalidHeader(name, value)
		}
	}
	return x, nil
}

// matches reports whether a condition names an ETag, with quotes or without, as in lists of blobs.
func matches(condition, etag string) bool {
	for named := range strings.SplitSeq(condition, ",") {
		named = strings.TrimSpace(named)
		if named == "*" || strings.Trim(named, `"`) == strings.Trim(etag, `"`) {
			return true
		}
	}
	return false
}

// whole returns a time as responses report it, in seconds.
func whole(t time.Time) time.Time { return t.Truncate(time.Second) }

// checkCombination checks the number of the conditions of a write. Only reads support several
// ETags.
func (x conditions) checkCombination() *xmlform.Failure {
	switch {
	case strings.Contains(x.match+x.noneMatch, ","),
		x.match != "" && (x.noneMatch != "" || !x.modifiedSince.IsZero()),
		x.noneMatch != "" && !x.unmodifiedSince.IsZero(),
		!x.modifiedSince.IsZero() && !x.unmodifiedSince.IsZero():
		return errConditions
	}
	return nil
}

// checkWrite checks the conditions of a write to an existing blob or container.
func (x conditions) checkWrite(etag string, modified time.Time) *xmlform.Failure {
	if f := x.checkCombination(); f != nil {
		return f
	}
	switch {
	case x.noneMatch != "" && matches(x.noneMatch, etag),
		x.match != "" && !matches(x.match, etag),
		x.noneMatch == "" && !x.modifiedSince.IsZero() && !whole(modified).After(x.modifiedSince),
		x.match == "" && !x.unmodifiedSince.IsZero() && whole(modified).After(x.unmodifiedSince):
		return errCondition
	}
	return nil
}

// checkRead checks the conditions of a read.
func (x conditions) checkRead(etag string, modified time.Time) *xmlform.Failure {
	if x.noneMatch == "*" {
		return errUnsatisfiable
	}
	same := x.noneMatch != "" && matches(x.noneMatch, etag)
	other := x.noneMatch != "" && !same
	newer := !x.modifiedSince.IsZero() && whole(modified).After(x.modifiedSince)
	older := !x.modifiedSince.IsZero() && !newer
	switch {
	case x.match != "" && !matches(x.match, etag),
		!x.unmodifiedSince.IsZero() && whole(modified).After(x.unmodifiedSince):
		return errCondition
	case same && !newer, older && !other:
		return errNotModified
	}
	return nil
}

// The service's CRC64 has a polynomial of its own.
var crcTable = crc64.MakeTable(0x9A6C9329AC4BC9B5)

// md5Of returns the MD5 of content, and md5Text returns it as headers contain it.
func md5Of(content []byte) []byte {
	sum := md5.Sum(content)
	return sum[:]
}

func md5Text(content []byte) string { return base64.StdEncoding.EncodeToString(md5Of(content)) }

// crc64Of returns the CRC64 of content, and crc64Text returns it as headers contain it.
func crc64Of(content []byte) []byte {
	return binary.LittleEndian.AppendUint64(nil, crc64.Checksum(content, crcTable))
}

func crc64Text(content []byte) string { return base64.StdEncoding.EncodeToString(crc64Of(content)) }

// checkChecksum checks the checksums of the body: an MD5, which may be empty, and the CRC64, if the
// request has one.
func (c *call) checkChecksum(sum string) *xmlform.Failure {
	return c.checkSums(sum, "x-ms-content-crc64", c.Body)
}

// checkSums checks the checksums of a content: an MD5, which may be empty, and the CRC64 of a
// header, if the request has it.
func (c *call) checkSums(sum, headerCRC string, content []byte) *xmlform.Failure {
	crc := c.Header.Get(headerCRC)
	b, ok := protocol.DecodeBase64(sum)
	crcBytes, crcOK := protocol.DecodeBase64(crc)
	switch {
	case sum != "" && crc != "":
		return errTwoChecksums
	case sum != "" && (!ok || len(b) != md5.Size):
		return errMD5
	case sum != "" && !bytes.Equal(b, md5Of(content)):
		const detail = "<UserSpecifiedMd5>%s</UserSpecifiedMd5><ServerCalculatedMd5>%s</ServerCalculatedMd5>"
		return errMD5Mismatch.With(detail, base64.StdEncoding.EncodeToString(b), md5Text(content))
	case crc != "" && (!crcOK || len(crcBytes) < crc64.Size):
		return xmlform.InvalidHeader(headerCRC, crc)
	case crc != "" && !bytes.Equal(crcBytes, crc64Of(content)):
		return errCRC64Mismatch
	}
	return nil
}

// The first version whose responses contain the CRC64 of the body instead of the MD5, unless the
// request has an MD5, and the first whose responses contain both then.
const (
	versionCRC64    = "2019-02-02"
	versionBothSums = "2026-10-06"
)

// setChecksum adds the checksum of the body to the header of a response.
func (c *call) setChecksum(h http.Header) {
	hasMD5 := c.Header.Get("Content-MD5") != "" || c.Header.Get("x-ms-source-content-md5") != ""
	if hasMD5 || c.Version < versionCRC64 {
		h.Set("Content-MD5", md5Text(c.Body))
	}
	if !hasMD5 && c.Version >= versionCRC64 || c.Version >= versionBothSums {
		h.Set("x-ms-content-crc64", crc64Text(c.Body))
	}
}

var validRange = regexp.MustCompile(`^bytes=(\d+)-(\d*)$`)

// requestedSpan returns the span that the request asks for, or false without a range.
func (c *call) requestedSpan() (span, bool) {
	return parseRange(cmp.Or(c.Header.Get("x-ms-range"), c.Header.Get("Range")))
}

// parseRange parses a range. A malformed range counts as none.
func parseRange(value string) (span, bool) {
	m := validRange.FindStringSubmatch(value)
	if m == nil {
		return span{}, false
	}
	from, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		from = math.MaxInt64 - 1
	}
	last := int64(math.MaxInt64 - 1)
	if n, err := strconv.ParseInt(m[2], 10, 64); err == nil {
		last = min(n, last)
	}
	if last < from {
		return span{}, false
	}
	return span{from, last + 1}, true
}

// sizeLimit is the most bytes of the body of a request since a version of the service.
type sizeLimit struct {
	since string
	most  int64
}

// The limits of an append, of a block and of a block blob in one request, the newest version first.
var (
	appendLimits = []sizeLimit{{"2022-11-02", 100 << 20}, {"", 4 << 20}}
	blockLimits  = []sizeLimit{{"2019-12-12", 4000 << 20}, {"2016-05-31", 100 << 20}, {"", 4 << 20}}
	putLimits    = []sizeLimit{{"2019-12-12", 5000 << 20}, {"2016-05-31", 256 << 20}, {"", 64 << 20}}
)

// checkSize checks the length of the body.
func (c *call) checkSize(limits []sizeLimit) *xmlform.Failure {
	for _, l := range limits {
		if c.Version < l.since {
			continue
		}
		if int64(len(c.Body)) > l.most {
			return xmlform.ErrBodyTooLarge.With("<MaxLimit>%d</MaxLimit>", l.most)
		}
		return nil
	}
	return nil
}

// ownBody returns the body of the request for a blob to keep, without much spare capacity. Blobs
// never change the bytes of a block, so a body of the right capacity is not copied.
func (c *call) ownBody() []byte {
	if cap(c.Body)-len(c.Body) <= len(c.Body)/64 {
		return c.Body
	}
	return bytes.Clone(c.Body)
}

// The failures of the Blob service, in the words of the live service.
var (
	errContainerExists       = xmlform.NewFailure(http.StatusConflict, "ContainerAlreadyExists", "The specified container already exists.")
	errContainerBeingDeleted = xmlform.NewFailure(http.StatusConflict, "ContainerBeingDeleted", "The specified container is being deleted. Try operation later.")
	errContainerNotFound     = xmlform.NewFailure(http.StatusNotFound, "ContainerNotFound", "The specified container does not exist.")
	errPublicAccess          = xmlform.NewFailure(http.StatusConflict, "PublicAccessNotPermitted", "Public access is not permitted on this storage account.")

	errNoAuthentication = xmlform.NewFailure(http.StatusUnauthorized, "NoAuthenticationInformation", "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.")

	errBlobExists   = xmlform.NewFailure(http.StatusConflict, "BlobAlreadyExists", "The specified blob already exists.")
	errBlobNotFound = xmlform.NewFailure(http.StatusNotFound, "BlobNotFound", "The specified blob does not exist.")
	errMetadataSize = xmlform.NewFailure(http.StatusBadRequest, "MetadataTooLarge", "The metadata specified exceeds the maximum size permitted.")
	errOutOfRange   = xmlform.NewFailure(http.StatusBadRequest, "OutOfRangeInput", "One of the request inputs is out of range.")
	errRange        = xmlform.NewFailure(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The range specified is invalid for the current size of the resource.")

	errCondition       = xmlform.NewFailure(http.StatusPreconditionFailed, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.")
	errTargetCondition = xmlform.NewFailure(http.StatusPreconditionFailed, "TargetConditionNotMet", "The target condition specified using HTTP conditional header(s) is not met.")
	errSourceCondition = xmlform.NewFailure(http.StatusPreconditionFailed, "SourceConditionNotMet", "The source condition specified using HTTP conditional header(s) is not met.")
	errForeignSource   = xmlform.NewFailure(http.StatusUnauthorized, "CannotVerifyCopySource", "Could not verify the copy source within the specified time.")
	errSourceType      = xmlform.NewFailure(http.StatusConflict, "CannotVerifyCopySource", "The copy source must be a block blob.")
	errFiniteLease     = xmlform.NewFailure(http.StatusPreconditionFailed, "InfiniteLeaseDurationRequired", "The lease ID matched, but the specified lease must be an infinite-duration lease.")
	errNoCopy          = xmlform.NewFailure(http.StatusConflict, "NoPendingCopyOperation", "There is currently no pending copy operation.")
	errStructured      = xmlform.NewFailure(http.StatusBadRequest, "InvalidInput", "One of the request inputs is not valid.")
	errNotModified     = xmlform.NewFailure(http.StatusNotModified, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.")
	errUnsatisfiable   = xmlform.NewFailure(http.StatusBadRequest, "UnsatisfiableCondition", "The request includes an unsatisfiable condition for this operation.")
	errConditions      = xmlform.NewFailure(http.StatusBadRequest, "MultipleConditionHeadersNotSupported", "Multiple condition headers are not supported.")
	errAppendPosition  = xmlform.NewFailure(http.StatusPreconditionFailed, "AppendPositionConditionNotMet", "The append position condition specified was not met.")
	errMaxSize         = xmlform.NewFailure(http.StatusPreconditionFailed, "MaxBlobSizeConditionNotMet", "The max blob size condition specified was not met.")
	errBlockCount      = xmlform.NewFailure(http.StatusConflict, "BlockCountExceedsLimit", "The committed block count cannot exceed the maximum limit of 50,000 blocks.")
	errStagedCount     = xmlform.NewFailure(http.StatusConflict, "BlockCountExceedsLimit", "The uncommitted block count cannot exceed the maximum limit of 100,000 blocks.")
	errBlock           = xmlform.NewFailure(http.StatusBadRequest, "InvalidBlobOrBlock", "The specified blob or block content is invalid.")
	errBlockID         = xmlform.NewFailure(http.StatusBadRequest, "InvalidBlockId", "The specified block ID is invalid. The block ID must be Base64-encoded.")
	errBlockList       = xmlform.NewFailure(http.StatusBadRequest, "InvalidBlockList", "The specified block list is invalid.")
	errBlockListLength = xmlform.NewFailure(http.StatusBadRequest, "BlockListTooLong", "The block list may not contain more than 50,000 blocks.")
	errMD5             = xmlform.NewFailure(http.StatusBadRequest, "InvalidMd5", "The MD5 value specified in the request is invalid. MD5 value must be 128 bits and base64 encoded.")
	errMD5Mismatch     = xmlform.NewFailure(http.StatusBadRequest, "Md5Mismatch", "The MD5 value specified in the request did not match with the MD5 value calculated by the server.")
	errCRC64Mismatch   = xmlform.NewFailure(http.StatusBadRequest, "Crc64Mismatch", "The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.")
	errTwoChecksums    = xmlform.NewFailure(http.StatusBadRequest, "BothCrc64AndMd5HeaderPresent", "Both x-ms-content-crc64 header and Content-MD5 header are present.")
	errLeasePresent    = xmlform.NewFailure(http.StatusConflict, "LeaseAlreadyPresent", "There is already a lease present.")
	errLeaseBreaking   = xmlform.NewFailure(http.StatusConflict, "LeaseIsBreakingAndCannotBeAcquired", "The lease ID matched, but the lease is currently in breaking state and cannot be acquired until it is broken.")
	errLeaseNoChange   = xmlform.NewFailure(http.StatusConflict, "LeaseIsBreakingAndCannotBeChanged", "The lease ID matched, but the lease is currently in breaking state and cannot be changed.")
	errLeaseBroken     = xmlform.NewFailure(http.StatusConflict, "LeaseIsBrokenAndCannotBeRenewed", "The lease ID matched, but the lease has been broken explicitly and cannot be renewed.")
	errWrongBlobType   = xmlform.NewFailure(http.StatusConflict, "InvalidBlobType", "The blob type is invalid for this operation.")
)

// leaseFailures are the failures of requests with a wrong lease ID, for a container or for a blob.
type leaseFailures struct {
	missing, mismatch, absent, lost *xmlform.Failure // of a read or a write
	noLease, otherLease             *xmlform.Failure // of a lease operation
}

func newLeaseFailures(resource, suffix string) leaseFailures {
	failed := func(status int, code, format string) *xmlform.Failure {
		return xmlform.NewFailure(status, code, fmt.Sprintf(format, resource))
	}
	const other, none = "The lease ID specified did not match the lease ID for the %s.", "There is currently no lease on the %s."
	return leaseFailures{
		missing:    failed(http.StatusPreconditionFailed, "LeaseIdMissing", "There is currently a lease on the %s and no lease ID was specified in the request."),
		mismatch:   failed(http.StatusPreconditionFailed, "LeaseIdMismatchWith"+suffix, other),
		absent:     failed(http.StatusPreconditionFailed, "LeaseNotPresentWith"+suffix, none),
		lost:       failed(http.StatusPreconditionFailed, "LeaseLost", "A lease ID was specified, but the lease for the %s has expired."),
		noLease:    failed(http.StatusConflict, "LeaseNotPresentWithLeaseOperation", none),
		otherLease: failed(http.StatusConflict, "LeaseIdMismatchWithLeaseOperation", other),
	}
}

var (
	blobLease      = newLeaseFailures("blob", "BlobOperation")
	containerLease = newLeaseFailures("container", "ContainerOperation")
)
