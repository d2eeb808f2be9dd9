package eventual

import (
	"context"
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// errStopped is the cause of the end of a handler's context if the worker stops.
var errStopped = errors.New("eventual: the worker stops")

// requestOutcome returns the outcome for a failed request of the worker. Without a fault of the message, the message is deferred.
func requestOutcome(ctx context.Context, err error) outcome {
	var re *azcore.ResponseError
	var de *table.DecodeError
	switch {
	case context.Cause(ctx) == errStopped:
		return outcome{kind: deferred, expected: true, reason: err}
	case !isOutage(err) && (errors.As(err, &de) || errors.As(err, &re)):
		return outcome{kind: retried, class: ClassAttempts, reason: err}
	}
	return outcome{kind: deferred, outage: true, reason: err}
}

// handlerOutcome returns the outcome for a failed handler. unknownDelay is the delay for an entity of a newer version.
func handlerOutcome(ctx context.Context, effect string, unknownDelay time.Duration, err error) outcome {
	var p *poisonError
	var r *retryError
	var newer *table.VersionError
	out := outcome{kind: retried, class: ClassAttempts, effect: effect, reason: err}
	switch {
	case context.Cause(ctx) == errStopped:
		out.kind, out.expected = deferred, true // the handler had not its full time
	case errors.As(err, &p):
		out.kind, out.class = poisoned, ClassHandler
	case errors.As(err, &newer) && newer.Got > newer.Want:
		out.kind, out.unknown, out.class, out.delay = deferred, true, ClassUnknown, unknownDelay
	case errors.As(err, &r):
		out.kind, out.requested, out.delay = deferred, true, max(r.delay, time.Second)
	case isOutage(err):
		out.kind, out.outage = deferred, true
	}
	return out
}

// isOutage reports whether storage is down, cannot be reached or denies access. The message is not the cause of such an error.
func isOutage(err error) bool {
	for _, is := range []error{table.ErrUnreachable, table.ErrUnknownOutcome, table.ErrTableNotFound, table.ErrGivenUp} {
		if errors.Is(err, is) {
			return true
		}
	}
	var le *table.LimitError
	var de *table.DecodeError
	var re *azcore.ResponseError
	switch {
	case errors.Is(err, table.ErrOutbox): // of a handler's own write
		return !errors.As(err, &le)
	case errors.As(err, &de):
		switch de.Field {
		case "", "PartitionKey", "RowKey", "Timestamp", "odata.etag":
			return true // not an entity of the service: the response was truncated, or comes from a proxy
		}
		return false
	}
	return errors.As(err, &re) && wire.Unreached(context.Background(), err) // of a handler's own client
}
