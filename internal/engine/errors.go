package engine

import (
	"context"
	"errors"
	"net"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// damagedError: a preparation or a commit record cannot be read.
type damagedError struct{ err error }

func (e damagedError) Error() string { return e.err.Error() }
func (e damagedError) Unwrap() error { return e.err }

// damaged returns a damagedError for an error of what a row contains, and any other error as it is.
func damaged(err error) error {
	var ve *errs.VersionError
	var de *errs.DecodeError
	if errors.As(err, &ve) || errors.As(err, &de) {
		return damagedError{err}
	}
	return err
}

// isDamage reports whether an error means that a mark is not believed: its commit record is in a
// table that the handle does not know, or what it names cannot be read.
func isDamage(err error) bool {
	var he *errs.HomeError
	var de damagedError
	unknown := errors.As(err, &he) && !he.Gone && !errors.Is(err, ErrAhead)
	return unknown || errors.As(err, &de)
}

// isHomeError reports whether an error means that a commit record cannot be read.
func isHomeError(err error) bool {
	return errors.As(err, new(*errs.HomeError))
}

var (
	errNil     = &errs.ValueError{Field: "value", Reason: "is nil"}
	errNoTable = &errs.ValueError{Field: "Op", Reason: "was made by no method of a table"}
)

// conditioned adds the condition to an error of a request that reads. ctx is the context of the
// request: it shows whether the caller or a timeout ended the request.
func conditioned(ctx context.Context, err error) error {
	switch err.(type) {
	case *errs.Condition, *errs.Missing, *errs.DecodeError, *errs.HomeError, *errs.CatalogueError:
		return err // of what has been read
	}
	err = wire.Redact(err)
	if is := known(err); is != nil {
		return errs.With(is, err)
	}
	if wire.Unreached(ctx, err) {
		return errs.With(errs.ErrUnreachable, err)
	}
	return err
}

// withCondition adds the condition to an error of a request that writes.
func withCondition(call *wire.Call, err error) error {
	switch call.Outcome(err) {
	case wire.Refused:
		if is := known(err); is != nil {
			return errs.With(is, err)
		}
		if call.Unreached(err) {
			return errs.With(errs.ErrUnreachable, err)
		}
	case wire.NotSent:
		if call.Unreached(err) {
			return errs.With(errs.ErrUnreachable, err)
		}
	case wire.Unknown:
		return errs.With(errs.ErrUnknownOutcome, err)
	}
	return err
}

// known returns the condition that the service's error code stands for, nil for none.
func known(err error) error {
	var re *azcore.ResponseError
	if !errors.As(err, &re) {
		return nil
	}
	switch re.ErrorCode {
	case "ResourceNotFound", "EntityNotFound":
		return errs.ErrNotFound
	case "TableNotFound", "TableBeingDeleted":
		return errs.ErrTableNotFound
	case "EntityAlreadyExists", "TableAlreadyExists":
		return errs.ErrExists
	case "UpdateConditionNotSatisfied", "ConditionNotMet":
		return errs.ErrChanged
	}
	return nil
}

// isUnknown reports whether an error leaves the outcome of a write open.
func isUnknown(err error) bool { return errors.Is(err, errs.ErrUnknownOutcome) }

// dialing reports whether a request could not be sent because no connection was made, which may
// change soon.
func dialing(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
