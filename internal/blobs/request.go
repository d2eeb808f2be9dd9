package blobs

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// Write returns the context for a request that changes something. The request is sent once, because the SDK would repeat it after a
// lost response. A negative timeout is no bound but the context's.
func Write(ctx context.Context, call *wire.Call, timeout time.Duration) context.Context {
	return call.Write(ctx, max(timeout, 0))
}

// IfMatch is the condition that the blob has an ETag.
func IfMatch(etag azcore.ETag) *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &etag}}
}

// IfNew is the condition that no blob has the name.
func IfNew() *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}}
}

// CheckLength returns err, or an error for a response without a length. It would be that of an empty blob.
func CheckLength(call *wire.Call, length *int64, err error) error {
	if err == nil && length == nil {
		return &wire.NotServiceError{Status: call.Status(), Reason: "the response has no Content-Length; a proxy or the transport has removed it"}
	}
	return err
}

// EndIfIdle ends a request by its cancel if nothing comes within a time, unless stop is called before. A negative time is no bound.
func EndIfIdle(cancel context.CancelCauseFunc, after time.Duration) (stop func()) {
	if after < 0 {
		return func() {}
	}
	t := time.AfterFunc(after, func() { cancel(wire.ErrRequestTimeout) })
	return func() { t.Stop() }
}

// Deref returns what p points to, or a zero value.
func Deref[V any](p *V) (v V) {
	if p != nil {
		v = *p
	}
	return v
}

// Ensure creates a container unless it exists, within the bounds of the options. refusal makes the error of a failed request.
func Ensure(ctx context.Context, c *container.Client, o *engine.Options, refusal func(*wire.Call, error) error) error {
	ctx, cancel := engine.Bound(ctx, o.WriteTimeout)
	defer cancel()
	return o.Retry.Repeat(ctx, engine.Log{}, func() (again bool, err error) {
		var call wire.Call
		_, err = c.Create(Write(ctx, &call, o.Retry.AttemptTimeout), nil)
		if err = call.Check(err); err == nil || bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
			return false, nil
		}
		return call.Outcome(err) != wire.Refused, refusal(&call, err)
	})
}
