package table

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/internal/engine"
)

// UnknownError is an ErrUnknownOutcome that can be resolved: the context or the time of a write with a commit record ended before the
// outcome was known. Another process can resolve it by Table, Partition and OperationID; see [CommitRecords.Resolve].
type UnknownError struct {
	Table, Partition string
	OperationID      string
	Err              error // of the last request

	unknown *engine.UnknownError
}

func (e *UnknownError) Error() string {
	cause := e.Err
	if c, is := cause.(*engine.Condition); is {
		cause = c.Cause
	}
	return fmt.Sprintf("%s (%s; its operation ID is %s)", ErrUnknownOutcome, brief(cause), e.OperationID)
}

// Unwrap returns ErrUnknownOutcome and Err.
func (e *UnknownError) Unwrap() []error { return []error{ErrUnknownOutcome, e.Err} }

// Resolve reports whether the write was applied. If it was not, it never will be. The entities of the write can then be used again:
// with their new ETags if it was applied, unchanged if it was not. Errors: ErrExpired if the write is older than 24 hours and has no
// commit record; those of any read. 1 request if the write was not applied; otherwise 2, and 1 for each entity; none if it was
// resolved before. Idempotent.
func (e *UnknownError) Resolve(ctx context.Context) (done bool, err error) {
	if e.unknown == nil {
		return false, &ValueError{Field: "UnknownError", Reason: "was not returned by a write; use CommitRecords.Resolve"}
	}
	done, err = e.unknown.Resolve(ctx)
	return done, public(err)
}
