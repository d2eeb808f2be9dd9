package largeentity

import (
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
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
	ErrForeignBlob = errors.New("the value was uploaded for another table or partition; Store.Copy makes a copy for another partition of its table")
	// ErrUploadAgain: the value cannot be stored any more, because it was stored before and replaced or deleted, because another
	// entity has it, or because it was uploaded too long ago. Upload it again.
	ErrUploadAgain = errors.New("the value cannot be stored any more: upload it again")
)

// condition returns an error that is one of the above, with the reason.
func condition(is error, format string, args ...any) error {
	return &engine.Condition{Is: is, Cause: fmt.Errorf(format, args...)}
}

// failed returns the error for a request that was refused, or whose outcome does not matter because it is repeated or because
// nothing refers to the blob.
func failed(call *wire.Call, err error) error {
	switch {
	case err == nil:
		return nil
	case blobs.IsGone(err):
		return &engine.Condition{Is: ErrBlobNotFound, Cause: blobs.Refusal(call, err, ErrContainerNotFound, "Store.Ensure")}
	}
	return blobs.Refusal(call, err, ErrContainerNotFound, "Store.Ensure")
}
