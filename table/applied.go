package table

import "github.com/aztablekit/aztablekit/internal/errs"

// Outcome is what became of a write; see [Applied].
type Outcome = errs.Outcome

// The outcomes of a write.
const (
	NotApplied   = errs.NotApplied   // nothing was written, and nothing will be
	IsApplied    = errs.IsApplied    // all was written
	MaybeApplied = errs.MaybeApplied // it was written, may still be, or may never be
)

// Applied returns what became of the write that returned err:
//
//	err := staff.Replace(ctx, e)
//	if table.Applied(err) == table.MaybeApplied {
//		e, err = staff.Get(ctx, key) // look
//	}
//
// A nil error is IsApplied. An *[UnknownError] is MaybeApplied until its Resolve has found out. An
// error of bulk work is about the transaction that begins with its operation. An error of which the
// library does not know where it comes from is MaybeApplied: one of the SDK or of a context alone,
// and one of your own function, which Update and txn.Run return unchanged and which means that they
// wrote nothing. docs/errors.md lists all errors.
func Applied(err error) Outcome { return errs.Applied(err) }

// Retryable reports whether the same call may succeed later and cannot apply the write twice:
// nothing was written, and the cause passes by itself, as with [ErrUnreachable] and [ErrContended].
// It is false for a nil error, for an unknown outcome, and if a context has ended. A call that is
// idempotent by its comment may also be repeated after an unknown outcome.
func Retryable(err error) bool { return errs.Retryable(err) }
