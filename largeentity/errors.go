package largeentity

import (
	"errors"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

var (
	// ErrNoValue: the field has no value.
	ErrNoValue = errors.New("the field has no value")
	// ErrContainerNotFound: the container does not exist. See [Store.Ensure].
	ErrContainerNotFound = errors.New("no such container")
	// ErrBlobNotFound: the blob does not exist. If the Blob was read a while ago, its entity may have another value by now: read
	// the entity again, as [Open] does.
	ErrBlobNotFound = errors.New("the blob does not exist")
	// ErrAltered: the stored blob is not the uploaded one: it has another length, or another SHA-256 hash.
	ErrAltered = errors.New("the blob is not the one that was uploaded")
	// ErrForeignBlob: the value belongs to another table or to an entity of another partition. Upload it for this entity.
	ErrForeignBlob = errors.New("the value belongs to another entity")
	// ErrUploadAgain: the value cannot be stored any more, because it was stored before and replaced or deleted, because another
	// entity has it, or because it was uploaded too long ago. Upload it again.
	ErrUploadAgain = errors.New("the value cannot be stored any more: upload it again")
)

// condition returns an error that is one of the above, with the reason.
func condition(is error, format string, args ...any) error {
	return &engine.Condition{Is: is, Cause: fmt.Errorf(format, args...)}
}

// responseError shortens the text of an error response to one line: the SDK's text is the whole response.
type responseError struct{ *azcore.ResponseError }

func (e responseError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the service answered %d %s", e.StatusCode, e.ErrorCode))
}
func (e responseError) Unwrap() error { return e.ResponseError }

// failed returns the error for a request that was refused, or whose outcome does not matter because it is repeated or because
// nothing refers to the blob.
func failed(call *wire.Call, err error) error {
	cause := wire.Redact(err)
	var re *azcore.ResponseError
	if errors.As(err, &re) {
		cause = responseError{re}
	}
	switch {
	case err == nil:
		return nil
	case bloberror.HasCode(err, bloberror.ContainerNotFound):
		return &engine.Condition{Is: ErrContainerNotFound, Cause: cause}
	case isGone(err):
		return &engine.Condition{Is: ErrBlobNotFound, Cause: cause}
	case bloberror.HasCode(err, bloberror.ContainerBeingDeleted), call.Unreached(err):
		return &engine.Condition{Is: table.ErrUnreachable, Cause: cause}
	}
	return cause
}

// isGone reports whether a blob does not exist. The response to a HEAD has no body, and the SDK then takes the code from a header.
func isGone(err error) bool {
	return bloberror.HasCode(err, bloberror.BlobNotFound, bloberror.ResourceNotFound)
}
