package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// The conditions that callers tell apart, with errors.Is. errors.As with *azcore.ResponseError finds the service's own error, if
// there is one.
var (
	// ErrNotFound: there is no such row.
	ErrNotFound = engine.ErrNotFound
	// ErrExists: the row to be inserted, or the table to be created, exists.
	ErrExists = engine.ErrExists
	// ErrChanged: the row has changed since the entity was read. Read it again, or use Update or UpdateAndMove. After a move that
	// another program has made first, the error is also ErrNotFound, because the old key has no row.
	ErrChanged = engine.ErrChanged
	// ErrContended: concurrent writers changed a row that the write had to read, at every attempt until Retry.ConflictAttempts or
	// the time was used up. This happens to rows that several entities share, such as lists and sums, and to writes by key (Upsert,
	// and methods with Any in their names). Nothing was written.
	ErrContended = engine.ErrContended
	// ErrTableNotFound: the table does not exist, or is being deleted. See Table.Ensure.
	ErrTableNotFound = engine.ErrTableNotFound
	// ErrUnknownOutcome: a response to a write was lost, or did not say whether the write was applied (429, 5xx), and the row does
	// not tell whether the write was applied. It may have been applied, may still be applied, or may never be. The entity cannot be
	// used until it is read again. A read at once proves nothing about a write that is still on its way. The error of an exact
	// write is an *UnknownError, unless another program has deleted its commit record.
	ErrUnknownOutcome = engine.ErrUnknownOutcome
	// ErrUnreachable: the service was not reached, did not answer, was not able to answer (429, 5xx), or did not let the caller in
	// (401, 403). A response without the service's headers (x-ms-request-id, x-ms-version; of a refusal, also x-ms-error-code), as of
	// a proxy or a captive portal, is no answer. The error says nothing about the row. A write was not applied, and the same request
	// may succeed later. If the request of a write may have arrived, the error is ErrUnknownOutcome instead; if the caller's own
	// context has ended, it is the context's.
	ErrUnreachable = engine.ErrUnreachable
	// ErrCosmosDB: the service is Azure Cosmos DB, and the request was not sent. Only clients with [ClientOptions] find this out.
	ErrCosmosDB = engine.ErrCosmosDB
	// ErrKeyChanged: fields that are part of the key were changed before Replace or in Update. Rekey, Move and UpdateAndMove move the row.
	ErrKeyChanged = engine.ErrKeyChanged
	// ErrPartial: only a part of the entity was read, so that Replace would delete the other properties. Get it first, or merge. An
	// entity from a copy of some properties ([Entity.Partial]) has no ETag either, so that Merge and Delete are refused as well:
	// Get it by its Key, or let the index read entities (index.Options.ReadEntities).
	ErrPartial = engine.ErrPartial
	// ErrNoETag: the entity was not read from the table or written to it, so it has no ETag.
	ErrNoETag = engine.ErrNoETag
	// ErrGivenUp: an exact write used up its attempts, or another process resolved it. Nothing was written, and nothing will be.
	ErrGivenUp = engine.ErrGivenUp
	// ErrExpired: the write is older than a day (commit.Retention) and has no commit record any more, so its outcome cannot be
	// resolved.
	ErrExpired = engine.ErrExpired
	// ErrOutbox: the outbox did not store the notification of the write. Nothing was written.
	ErrOutbox = engine.ErrOutbox
	// ErrUnknownParts: the entity has parts, and this handle does not maintain them. Give the fields of T their parts by tags, or set
	// Schema.Parts.
	ErrUnknownParts = engine.ErrUnknownParts

	// ErrUnknownMaintainer: the entity has maintainer state of a maintainer that this handle lacks, so a write would leave that
	// maintainer's rows behind. Write by a handle that has the maintainer; see maintain.With and index.Attach.
	ErrUnknownMaintainer = engine.ErrUnknownMaintainer
	// ErrForeignRow: a derived row would take the place of a row of another type, definition or program. That row is neither
	// replaced nor deleted. The *DerivedError around it contains the row's key.
	ErrForeignRow = engine.ErrForeignRow
	// ErrRanged: the client's signature is for a range of keys, so that lists leave out rows without an error. The method would
	// have to conclude from a list that a row does not exist. See account.Grant.
	ErrRanged = engine.ErrRanged
	// ErrBudget: the list has used up its Query.Budget, and more entities follow. The entities before the error are complete.
	ErrBudget = engine.ErrBudget
	// ErrDuplicateRow: a transaction contains two operations on one row.
	ErrDuplicateRow = engine.ErrDuplicateRow
	// ErrOtherPartition: a transaction contains operations on two partitions.
	ErrOtherPartition = engine.ErrOtherPartition
	// ErrTableScan: the query names no partition and would read the whole table. Set Query.TableScan if that is meant.
	ErrTableScan = engine.ErrTableScan

	// ErrOtherType: the type that is stored in the row (_type) is another type.
	ErrOtherType = errors.New("the row is of another type")
	// ErrOldVersion: the stored row is of an older version than the entity, so a merge would mix the two. Replace it first.
	ErrOldVersion = errors.New("the stored row is of an older version; Replace it, or use Update")
)

// OpError is the error of an operation on a row. Err is one of the errors of this package ([ErrNotFound] and so on), a typed error
// of this package or of package keys, or the cause. Its text contains neither data of the row nor secrets, but the
// key and the table: it is for logs, and not for users of a server.
type OpError struct {
	Op    string // the method, such as Replace
	Table string
	Key   keys.Key // zero for queries, and if the key itself is wrong
	Code  string   // the service's error code, if the service sent one
	Err   error
}

func (e *OpError) Error() string {
	s := "table: " + e.Op
	if e.Table != "" {
		s += " " + e.Table
	}
	if e.Key != (keys.Key{}) {
		s += e.Key.String()
	}
	s += ": "
	if e.Code != "" {
		s += e.Code + ": "
	}
	return s + brief(e.Err)
}

// Unwrap returns Err.
func (e *OpError) Unwrap() error { return e.Err }

// MarshalJSON returns the text of the error.
func (e *OpError) MarshalJSON() ([]byte, error) { return textJSON(e) }

// brief returns an error's text, without the text of the service's error, which prints the whole response.
func brief(err error) string {
	switch err.(type) {
	case *UnknownError, *DerivedError, *HomeError, foreign:
		return err.Error()
	case *BatchError:
		return err.Error()
	}
	return engine.Brief(err)
}

// LimitError is an entity, property or query beyond a limit. No request was sent.
type LimitError struct {
	Field    string // the property, option or argument, or "" for the entity or query as a whole
	Limit    string // what is counted, in the plural
	Got      int
	Max      int
	Property bool // Field is a property
}

func (e *LimitError) Error() string { return (*edm.LimitError)(e).Error() }

// ValueError is a value or name that the service cannot store, or cannot compare with. No request was sent.
type ValueError struct {
	Field  string // the property, option or argument
	Reason string
	Err    error // the error of the field's own type, if that is the cause; it may contain data, so Error leaves it out

	Property bool // Field is a property
}

func (e *ValueError) Error() string { return (*edm.ValueError)(e).Error() }

// Unwrap returns Err.
func (e *ValueError) Unwrap() error { return e.Err }

// DecodeError is a stored property that does not fit its field, or a response that cannot be read.
type DecodeError struct {
	Field  string // the property, "" for the response as a whole, or "the JSON" for the argument of Row.UnmarshalJSON
	Reason string
	Err    error // the error of the field's own type, if that is the cause; it may contain data, so Error contains only a *ValueError
}

func (e *DecodeError) Error() string {
	text := (*edm.DecodeError)(e).Error()
	var ve *ValueError
	if errors.As(e.Err, &ve) {
		text += ": " + ve.Field + " " + ve.Reason
	}
	return text
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// VersionError is a row of a version that this program cannot read.
type VersionError struct {
	Type      string // the schema's, or ""
	Got, Want int    // the row's version, and the registered one
}

func (e *VersionError) Error() string {
	s := fmt.Sprintf("the row has version %d", e.Got)
	if e.Type != "" {
		s = fmt.Sprintf("the row of type %q has version %d", e.Type, e.Got)
	}
	if e.Got > e.Want {
		return fmt.Sprintf("%s, newer than %d, the last that is registered", s, e.Want)
	}
	return fmt.Sprintf("%s, and only a whole row can be upgraded to %d", s, e.Want)
}

// HomeError is returned if a row is prepared by a write over several partitions, such as [Table.MoveTo], whose commit record cannot be
// read: its table is gone, or is none of Options.MovedFrom. Err is the service's error, if there is one.
type HomeError struct {
	Row       keys.Key
	Table     string // of the commit record
	Partition string
	Gone      bool  // the table does not exist
	Err       error // the service's; if Gone is not set, why else the write cannot be ended
}

func (e *HomeError) Error() string { return (*engine.HomeError)(e).Error() }

// Unwrap returns Err.
func (e *HomeError) Unwrap() error { return e.Err }

// TypeError is a Go type that cannot be stored. New and view.Of return it.
type TypeError struct {
	Type   reflect.Type
	Field  string // the field of Type, or "" for the type as a whole
	Reason string
}

func (e *TypeError) Error() string { return (*edm.TypeError)(e).Error() }

// foreign is an error of the code of a maintainer or an outbox. Such code may write on its own. If the error contains
// ErrUnknownOutcome, that is about its write, and not about this one.
type foreign struct{ err error }

func (f foreign) Error() string { return f.err.Error() }
func (f foreign) Is(target error) bool {
	return target != ErrUnknownOutcome && errors.Is(f.err, target)
}
func (f foreign) As(target any) bool {
	_, is := target.(**UnknownError)
	return !is && errors.As(f.err, target)
}

// unknown reports whether an error leaves the outcome of a write open.
func unknown(err error) bool { return errors.Is(err, ErrUnknownOutcome) }

// derived reports whether the error of a write comes from a maintainer or an outbox. The write has been repeated already if that
// could help.
func derived(err error) bool {
	var de *DerivedError
	return errors.As(err, &de) || errors.Is(err, ErrOutbox)
}

func either(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// public turns the errors of the engine and the codec into this package's, with those that they wrap.
func public(err error) error {
	switch e := err.(type) {
	case *edm.LimitError:
		return (*LimitError)(e)
	case *edm.ValueError:
		return (*ValueError)(e)
	case *edm.DecodeError:
		return (*DecodeError)(e)
	case *edm.TypeError:
		return (*TypeError)(e)
	case *engine.OpError:
		return &OpError{e.Op, e.Table, e.Key, e.Code, public(e.Err)}
	case *engine.BatchError:
		return &BatchError{e.Index, e.Key, e.Code, public(e.Err)}
	case *engine.DerivedError:
		if e.Verbatim {
			return e.Err
		}
		return &DerivedError{e.Maintainer, e.Key, e.Owner, public(e.Err)}
	case *engine.VersionError:
		return (*VersionError)(e)
	case *engine.HomeError:
		return (*HomeError)(e)
	case *engine.TokenError:
		return (*TokenError)(e)
	case *engine.UnknownError:
		return &UnknownError{Table: e.Table, Partition: e.Partition, OperationID: e.ID, Err: public(e.Err), unknown: e}
	case *engine.Condition:
		return &engine.Condition{Is: public(e.Is), Cause: public(e.Cause)}
	case *engine.Explained:
		return &engine.Explained{Err: public(e.Err), Explanation: e.Explanation}
	case engine.UserCodeError:
		return foreign{e.Err}
	}
	return err
}

var (
	errNil = &edm.ValueError{Field: "value", Reason: "is nil"}
	// errDoubt is the error of an entity whose last write is in doubt.
	errDoubt = &engine.Condition{Is: ErrUnknownOutcome, Cause: errors.New("of an earlier write to this entity; Get it again")}
)

// partError is why an entity that is partial cannot be written. It is also an ErrNoETag.
type partError struct{}

func (partError) Error() string {
	return "only some of its properties were read, and the others are zero: Get it by its Key, or let the index read entities (ReadEntities)"
}

func (partError) Is(target error) bool { return target == ErrNoETag }

// BatchError names the operation because of which a transaction failed. Nothing of the transaction was applied. Err is one of the
// errors of this package ([ErrExists], [ErrChanged] and so on), a typed error of a check, or the service's *azcore.ResponseError.
type BatchError struct {
	Index int      // of the operation in the caller's list; -1 if the service did not name one of it
	Key   keys.Key // its row, or the derived row that stood in its way
	Code  string   // the service's error code, if it answered with one
	Err   error
}

func (e *BatchError) Error() string {
	s := fmt.Sprintf("operation %d", e.Index)
	if e.Index < 0 {
		s = "an operation"
	}
	if e.Key != (keys.Key{}) {
		s += " " + e.Key.String()
	}
	s += ": "
	if e.Code != "" {
		s += e.Code + ": "
	}
	return s + brief(e.Err)
}

// Unwrap returns Err.
func (e *BatchError) Unwrap() error { return e.Err }

// DerivedError is the error of a write that failed because of a maintainer, with the derived row if there is one. Err is the
// maintainer's own error, such as the one for a value that is taken, or one of the package's conditions.
type DerivedError struct {
	Maintainer string
	Key        keys.Key // of the derived row, or zero
	Owner      keys.Key // the entity that has the row, if the row is taken and contains its owner
	Err        error
}

func (e *DerivedError) Error() string {
	s := "maintainer " + e.Maintainer
	if e.Key != (keys.Key{}) {
		s += ", row " + e.Key.String()
	}
	if e.Owner != (keys.Key{}) {
		s += ", held by " + e.Owner.String()
	}
	return s + ": " + brief(e.Err)
}

// Unwrap returns Err.
func (e *DerivedError) Unwrap() error { return e.Err }

// MarshalJSON returns the text of the error.
func (e *DerivedError) MarshalJSON() ([]byte, error) { return textJSON(e) }

// UnknownError is an ErrUnknownOutcome that can be resolved: the context or the time of a write with a commit record ended before
// the outcome was known. Another process can resolve it by Table, Partition and OperationID; see commit.Records.Resolve.
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

// MarshalJSON returns the text of the error.
func (e *UnknownError) MarshalJSON() ([]byte, error) { return textJSON(e) }

// Resolve reports whether the write was applied. If it was not, it never will be. The entities of the write can then be used again:
// with their new ETags if it was applied, unchanged if it was not. Errors: ErrExpired if the write is older than 24 hours and has
// no commit record; those of any read. 1 request if the write was not applied; otherwise 2, and 1 for each entity; none if it was
// resolved before. Idempotent.
func (e *UnknownError) Resolve(ctx context.Context) (done bool, err error) {
	if e.unknown == nil {
		return false, &ValueError{Field: "UnknownError", Reason: "was not returned by a write; use Resolve of commit.Records"}
	}
	done, err = e.unknown.Resolve(ctx)
	return done, public(err)
}

// TokenError is a token that a query cannot use. No request was sent.
type TokenError struct {
	Reason string
}

func (e *TokenError) Error() string { return "continuation token: " + e.Reason }

// textJSON returns an error's text as JSON, which unlike the JSON of the error's fields contains no response of the service.
func textJSON(err error) ([]byte, error) { return json.Marshal(err.Error()) }

// nilArgument is the error of an argument that is nil.
func nilArgument(name string) error { return &ValueError{Field: name, Reason: "is nil"} }
