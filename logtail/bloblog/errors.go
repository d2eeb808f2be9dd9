package bloblog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

var (
	// ErrContainerNotFound: the container does not exist. See [Log.Ensure].
	ErrContainerNotFound = errors.New("no such container")
	// ErrClosed: the writer is closed. The record is not stored.
	ErrClosed = errors.New("the writer is closed")
)

// LineError is a stored line that cannot be read. Its text contains no data of the line.
type LineError struct {
	Blob   string // the name of the blob
	Line   int    // the number of the line; starts with 1
	Offset int64  // the position of the line in the blob, in bytes
	Err    error  // the error of Options.Decode, or a *table.LimitError
}

func (e *LineError) Error() string {
	reason := "cannot be decoded"
	var limit *table.LimitError
	if errors.As(e.Err, &limit) {
		reason = "is too long: " + limit.Error()
	}
	return fmt.Sprintf("bloblog: line %d of blob %q, at byte %d, %s", e.Line, e.Blob, e.Offset, reason)
}

// Unwrap returns Err.
func (e *LineError) Unwrap() error { return e.Err }

// refusal returns the error for a request that the service refused, or that did not reach the service. Nothing was changed.
func refusal(call *wire.Call, err error) error {
	return blobs.Refusal(call, err, ErrContainerNotFound, "Log.Ensure")
}

// ended returns the error for a context that has ended: that of the caller, or table.ErrUnreachable if a bound of Options has
// passed.
func ended(ctx context.Context) error {
	if wire.Unreached(ctx, ctx.Err()) {
		return &engine.Condition{Is: table.ErrUnreachable, Cause: context.Cause(ctx)}
	}
	return ctx.Err()
}

// isTaken reports whether a blob was not created because another one has its name.
func isTaken(err error) bool {
	return isConflict(err) || bloberror.HasCode(err, bloberror.UnauthorizedBlobOverwrite)
}

// isConflict reports whether a request was refused because of the state of the blob: it has another length, is full, sealed,
// leased, or of another type.
func isConflict(err error) bool {
	var re *azcore.ResponseError
	return errors.As(err, &re) && (re.StatusCode == http.StatusConflict || re.StatusCode == http.StatusPreconditionFailed) &&
		!strings.HasPrefix(re.ErrorCode, "Container") && !strings.HasPrefix(re.ErrorCode, "Account")
}

// isMoved reports whether a block was refused because the blob is not as the writer knows it.
func isMoved(err error) bool {
	return bloberror.HasCode(err, bloberror.AppendPositionConditionNotMet, bloberror.ConditionNotMet)
}

// isFull reports whether a blob can never take another block.
func isFull(err error) bool {
	return bloberror.HasCode(err, bloberror.BlockCountExceedsLimit, "BlobIsSealed")
}

// isTooLong reports whether a line was not read because of its length.
func isTooLong(err error) bool {
	var limit *table.LimitError
	return errors.As(err, &limit)
}
