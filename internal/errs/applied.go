package errs

import (
	"errors"

	"github.com/aztablekit/aztablekit/keys"
)

// Outcome is what became of a write; see [Applied].
type Outcome int

// The outcomes of a write.
const (
	NotApplied   Outcome = iota // nothing was written, and nothing will be
	IsApplied                   // all was written
	MaybeApplied                // it was written, may still be, or may never be
)

// String returns the outcome in words.
func (o Outcome) String() string {
	switch o {
	case NotApplied:
		return "not applied"
	case IsApplied:
		return "applied"
	}
	return "maybe applied"
}

// Applied returns the outcome of a write by its error; see package table.
func Applied(err error) Outcome {
	var u *UnknownError
	switch {
	case err == nil:
		return IsApplied
	case errors.As(err, &u):
		return u.result()
	case errors.Is(err, ErrUnknownOutcome), errors.Is(err, ErrExpired), !ours(err):
		return MaybeApplied
	}
	return NotApplied
}

// Retryable reports whether the same call may succeed later; see package table.
func Retryable(err error) bool {
	var le *LimitError
	var u *UnknownError
	switch {
	case Applied(err) != NotApplied:
		return false
	case errors.As(err, &u): // it was resolved
		return true
	case errors.Is(err, ErrOutbox):
		return !errors.As(err, &le)
	}
	return isAny(err, ErrUnreachable, ErrContended, ErrGivenUp) || BeingDeleted(err)
}

// ours reports whether an error is one of this library, which then knows what became of the write.
func ours(err error) bool {
	return as[*OpError](err) || as[*BatchError](err) || as[*DerivedError](err) || as[*LimitError](err) ||
		as[*ValueError](err) || as[*DecodeError](err) || as[*TypeError](err) || as[*VersionError](err) ||
		as[*DefinitionError](err) || as[*HomeError](err) || as[*CatalogueError](err) || as[*keys.KeyError](err) || isAny(err, refusals...)
}

// refusals are the conditions under which nothing was written.
var refusals = []error{
	ErrNotFound, ErrExists, ErrChanged, ErrContended, ErrNotCreated, ErrUnreachable, ErrCosmosDB,
	ErrKeyChanged, ErrNotRead, ErrGivenUp, ErrOutbox, ErrNotDeclared, ErrNotRecorded, ErrNotReadable, ErrBudget,
	ErrForeignRow, ErrTableScan, ErrRanged, ErrAltered, ErrIncomplete, ErrTaken, ErrNoEndpoint,
}

func as[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func isAny(err error, all ...error) bool {
	for _, is := range all {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}
