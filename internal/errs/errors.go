package errs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/aztablekit/aztablekit/keys"
)

// OpError: an operation on a row has failed. Err is one of the errors of this package
// ([ErrNotFound] and so on), a typed error of this package or of package keys, or the cause. Its
// text contains neither data of the row nor secrets, but the key and the table: it is for logs, and
// not for users of a server.
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
	return s + Brief(e.Err)
}

// Unwrap returns Err.
func (e *OpError) Unwrap() error { return e.Err }

// MarshalJSON returns the text of the error.
func (e *OpError) MarshalJSON() ([]byte, error) { return textJSON(e) }

// LimitError reports that a property, an entity, an option or an argument violates a limit of the
// service.
type LimitError struct {
	Field    string // the property, option or argument, or "" for the whole entity
	Limit    string // the unit, as a plural; the rule may follow after a semicolon
	Got      int
	Max      int
	Property bool // Field is a property
}

func (e *LimitError) Error() string {
	s := fmt.Sprintf("%d %s", e.Got, e.Limit)
	if !strings.Contains(s, ";") {
		s += fmt.Sprintf("; at most %d are allowed", e.Max)
	}
	if e.Field != "" {
		s = subject(e.Field, e.Property) + " has " + s
	}
	return s
}

// subject returns the subject of an error text: a property, or an option (Query.Limit) or an
// argument as the caller wrote it.
func subject(field string, property bool) string {
	if property {
		return "property " + field
	}
	return field
}

// ValueError reports a value or a name that the service cannot store.
type ValueError struct {
	Field  string // the property, option or argument
	Reason string // a predicate, such as "is nil", or a sentence
	Err    error  // the error of the field's type; the text omits it, since it may contain data

	Property bool // Field is a property
}

func (e *ValueError) Error() string { return sentence(subject(e.Field, e.Property), e.Reason) }

// sentence joins a subject and a reason, which is a predicate or a sentence of its own.
func sentence(subject, reason string) string {
	verb, _, _ := strings.Cut(reason, " ")
	switch verb {
	case "is", "was", "has", "must", "belongs", "begins", "cannot", "holds", "contain", "contains", "follows", "stands":
		return subject + " " + reason
	}
	return subject + ": " + reason
}

// Unwrap returns Err.
func (e *ValueError) Unwrap() error { return e.Err }

// DecodeError reports a property that does not fit its field, or a malformed response.
type DecodeError struct {
	Field  string // the property, or "" for the whole response
	Reason string // a predicate, such as "is missing", or a sentence
	Err    error  // the error of the field's type; the text omits it, since it may contain data
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

func (e *DecodeError) Error() string {
	subject := "property " + e.Field
	switch {
	case e.Field == "":
		subject = "the response"
	case strings.Contains(e.Field, " "): // no property
		subject = e.Field
	}
	text := sentence(subject, e.Reason)
	var ve *ValueError
	if errors.As(e.Err, &ve) {
		text += ": " + ve.Field + " " + ve.Reason
	}
	return text
}

// TypeError reports a Go type that cannot be stored.
type TypeError struct {
	Type   reflect.Type
	Field  string // the field of Type, or "" for the whole type
	Reason string
}

func (e *TypeError) Error() string {
	s := e.Type.String()
	if e.Field != "" {
		s += "." + e.Field
	}
	return sentence(s, e.Reason)
}

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

// HomeError: a write over several partitions has prepared a row, and cannot be ended.
type HomeError struct {
	Row       keys.Key
	Table     string // of the commit record
	Partition string
	Gone      bool  // the table does not exist
	Err       error // the service's; if Gone is not set, why else the write cannot be ended
}

func (e *HomeError) Error() string {
	if e.Err != nil && !e.Gone {
		return fmt.Sprintf("the row %v was prepared by a write that cannot be ended: %s", e.Row, Brief(e.Err))
	}
	why := "is not a table of the store: declare it there if entities move from it"
	if e.Gone {
		why = "does not exist any more"
	}
	return fmt.Sprintf("the row %v was prepared by a write whose commit record is in table %q, which %s; verify.Repair ends such writes by Options.CommitOrphans or RollBackOrphans", e.Row, e.Table, why)
}

// Unwrap returns Err.
func (e *HomeError) Unwrap() error { return e.Err }

// BatchError names the operation because of which a transaction or bulk work failed. Nothing of the
// transaction was applied. Err is one of the errors of this package ([ErrExists], [ErrChanged] and
// so on), a typed error of a check, or the service's *azcore.ResponseError.
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
	return s + Brief(e.Err)
}

// Unwrap returns Err.
func (e *BatchError) Unwrap() error { return e.Err }

// MarshalJSON returns the text of the error.
func (e *BatchError) MarshalJSON() ([]byte, error) { return textJSON(e) }

// DerivedError: a write has failed because of a maintainer. It contains the key of the derived row,
// if there is one. Err is the maintainer's own error, such as the one for a value that is taken, or
// one of the package's conditions.
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
	return s + ": " + Brief(e.Err)
}

// Unwrap returns Err.
func (e *DerivedError) Unwrap() error { return e.Err }

// MarshalJSON returns the text of the error.
func (e *DerivedError) MarshalJSON() ([]byte, error) { return textJSON(e) }

// UnknownError: the outcome of a write with a commit record is unknown. It can be resolved later.
type UnknownError struct {
	Table, Partition string
	OperationID      string
	Err              error // of the last request

	resolve  func(context.Context) (done bool, err error)
	resolved atomic.Pointer[Outcome] // nil until Resolve has found out
}

// NewUnknownError returns an error whose Resolve calls resolve.
func NewUnknownError(table, partition, id string, err error, resolve func(context.Context) (done bool, err error)) *UnknownError {
	return &UnknownError{Table: table, Partition: partition, OperationID: id, Err: err, resolve: resolve}
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s (%s; its operation ID is %s)", ErrUnknownOutcome, Brief(Cause(e.Err)), e.OperationID)
}

// Unwrap returns ErrUnknownOutcome and Err.
func (e *UnknownError) Unwrap() []error { return []error{ErrUnknownOutcome, e.Err} }

// MarshalJSON returns the text of the error.
func (e *UnknownError) MarshalJSON() ([]byte, error) { return textJSON(e) }

// Resolve reports whether the write was applied. If it was not, it never will be. The entities of
// the write can then be used again: with their new ETags if it was applied, unchanged if it was
// not. Errors: one of which Applied returns MaybeApplied if the write is older than 24 hours and
// has no commit record; errors of a read and of a write (see package table). 1 request if the write
// was not applied; otherwise 2, and 1 for each entity; none if it was resolved before. Idempotent.
func (e *UnknownError) Resolve(ctx context.Context) (done bool, err error) {
	if e.resolve == nil {
		return false, &ValueError{Field: "UnknownError", Reason: "was not returned by a write; use extend.Resolve"}
	}
	done, err = e.resolve(ctx)
	found := NotApplied
	if done {
		found = IsApplied
	}
	if err == nil {
		e.resolved.Store(&found)
	}
	return done, err
}

// result is the outcome of the write, as far as Resolve has found out.
func (e *UnknownError) result() Outcome {
	if found := e.resolved.Load(); found != nil {
		return *found
	}
	return MaybeApplied
}

// textJSON returns an error's text as JSON, which unlike the JSON of the error's fields contains no
// response of the service.
func textJSON(err error) ([]byte, error) { return json.Marshal(err.Error()) }

// DefinitionError is a mistake in a definition, such as an index, or in its use. Nothing was
// written.
type DefinitionError struct {
	Definition string // its name
	Field      string // of the definition: an argument or an option
	Reason     string // a predicate, such as "is nil"
	Err        error  // the error of the field's own package, if that is the cause
}

func (e *DefinitionError) Error() string {
	return "definition " + e.Definition + ": " + e.Field + " " + e.Reason
}

// Unwrap returns Err.
func (e *DefinitionError) Unwrap() error { return e.Err }
