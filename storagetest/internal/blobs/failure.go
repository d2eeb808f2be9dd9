package blobs

import (
	"fmt"
	"net/http"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

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
