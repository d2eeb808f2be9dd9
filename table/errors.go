package table

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"unicode"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// The conditions that callers tell apart, with errors.Is. errors.As with *azcore.ResponseError reaches the service's own
// error wherever there is one.
var (
	// ErrNotFound: there is no such row.
	ErrNotFound = errors.New("no such row")
	// ErrExists: the row to be inserted, or the table to be created, exists.
	ErrExists = errors.New("exists already")
	// ErrChanged: the row has changed since the entity was read. Read it again, or use Update.
	ErrChanged = errors.New("the row has changed since it was read")
	// ErrContended: concurrent writers changed a row that the write had to read, at every attempt until Retry.ConflictAttempts or the time was used
	// up. Such a row is one that entities share, as a list or a sum, or the row of a write by key. Nothing was written.
	ErrContended = errors.New("others were faster in every round")
	// ErrTableNotFound: the table does not exist. See Table.Ensure.
	ErrTableNotFound = errors.New("no such table")
	// ErrUnknownOutcome: the responses to a write were lost, and the row does not tell whether the write was applied. It may have been
	// applied, may still be applied, or may never be. The entity cannot be used until it is read again. A read at once proves nothing about
	// a write that is still on its way. The error of an exact write is an *UnknownError.
	ErrUnknownOutcome = errors.New("the outcome of the write is unknown")
	// ErrUnreachable: the service was not reached, did not answer, was not able to answer (429, 5xx), or did not let the caller in
	// (401, 403). The error says nothing about the row. A write was not applied, and the same request may succeed later. If the request
	// of a write may have arrived, the error is ErrUnknownOutcome instead; if the caller's own context has ended, it is the context's.
	ErrUnreachable = errors.New("the service could not be reached, or did not let the caller in")
	// ErrKeyChanged: fields that are part of the key were changed before Replace or in Update. Rekey moves the row.
	ErrKeyChanged = errors.New("fields of the key were changed, but a row keeps its key; Rekey moves it")
	// ErrPartial: only a part of the entity was read, so Replace would delete the other properties. Get it first, or merge.
	ErrPartial = errors.New("the entity is not the whole row")
	// ErrNoETag: the entity was not read from the table or written to it, so it has no ETag.
	ErrNoETag = errors.New("the entity carries no ETag of a stored row")
	// ErrGivenUp: an exact write used up its attempts, or another process resolved it. Nothing was written, and nothing will be.
	ErrGivenUp = errors.New("the write was given up; nothing of it is done, nor will be")
	// ErrExpired: the write is older than CommitRecordRetention and has no commit record any more, so its outcome cannot be resolved.
	ErrExpired = errors.New("the write is too old for its absence to say anything")
	// ErrOutbox: the outbox did not store the notification of the write. Nothing was written.
	ErrOutbox = errors.New("the outbox did not take the announcement")
	// ErrNoOutbox: a maintainer adds effects, and the table has no outbox. See Table.With.
	ErrNoOutbox = errors.New("the write has effects, and the table has no outbox")
	// ErrOtherOutbox: a transaction holds operations of tables with different outboxes.
	ErrOtherOutbox = errors.New("the table has another outbox than the transaction")
	// ErrUnknownMaintainer: the entity has maintainer state of a maintainer that this handle lacks, so a write would leave that
	// maintainer's rows behind. Write by a handle that has the maintainer; see Table.With and index.Attach.
	ErrUnknownMaintainer = errors.New("the row has derived rows of a maintainer that this handle does not know")
	// ErrBudget: the list has used up its budget, and there are more entities. The yielded entities are right.
	ErrBudget = errors.New("the budget of the query is used up")

	// ErrDuplicateRow: a transaction holds two operations on one row.
	ErrDuplicateRow = errors.New("the transaction holds another operation on this row")

	// ErrOtherPartition: a transaction holds operations on two partitions.
	ErrOtherPartition = errors.New("the row is in another partition than the transaction")

	// ErrOtherTable: a transaction holds operations on two tables, or on one table by two services.
	ErrOtherTable = errors.New("the row is in another table, or another service's, than the transaction")

	// ErrOtherType: the row says of itself that it is of another type.
	ErrOtherType = errors.New("the row is of another type")

	// ErrOldVersion: the stored row is of an older version than the entity, so a merge would mix the two. Replace it first.
	ErrOldVersion = errors.New("the stored row is of an older version; Replace it, or use Update")

	// ErrTableScan: the query names no partition and would read the whole table. Set Query.TableScan if that is meant.
	ErrTableScan = errors.New("the query would scan the table")
)

// OpError is the error of an operation on a row. Err is one of the conditions above, a typed error of this package or of package
// keys, or the cause. Its text contains neither the row's data nor a secret.
type OpError struct {
	Op    string // the verb, such as Replace
	Table string
	Key   keys.Key // zero for queries, and where the key itself is wrong
	Code  string   // the service's error code, if it answered with one
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

func (e *OpError) Unwrap() error { return e.Err }

// condition is one of the conditions above with the service's error or the transport's behind it.
type condition struct{ is, cause error }

func (c *condition) Error() string {
	switch c.is {
	case ErrUnknownOutcome, ErrUnreachable, ErrBudget, ErrGivenUp, ErrOutbox, ErrNoETag:
		return c.is.Error() + " (" + brief(c.cause) + ")"
	case ErrContended:
		for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
			if errors.Is(c.cause, ended) {
				return c.is.Error() + " (" + ended.Error() + ")"
			}
		}
	}
	return c.is.Error()
}

// brief is an error's text, but for the service's error, whose own text prints the whole response.
func brief(err error) string {
	var re *azcore.ResponseError
	switch err.(type) {
	case *condition, *explainedError, *UnknownError, *DerivedError, foreign:
		return err.Error()
	}
	if _, is := err.(*BatchError); !is && errors.As(err, &re) {
		return fmt.Sprintf("the service answered %d", re.StatusCode) + sentence(re)
	}
	return err.Error()
}

// sentence is what the service says about a request that it does not allow. Its messages about other errors may hold data.
func sentence(re *azcore.ResponseError) string {
	if re.StatusCode != http.StatusForbidden && re.StatusCode != http.StatusUnauthorized || re.RawResponse == nil {
		return ""
	}
	var body struct {
		Error struct{ Message struct{ Value string } } `json:"odata.error"`
	}
	b, err := runtime.Payload(re.RawResponse)
	if err == nil && json.Unmarshal(b, &body) != nil {
		var asXML struct { // as a wrong signature is answered, whatever was asked for
			Message string `xml:"message"`
		}
		err = xml.Unmarshal(b, &asXML)
		body.Error.Message.Value = asXML.Message
	}
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(body.Error.Message.Value, "\n")
	if first = strings.TrimSpace(first); first == "" || len(first) > 200 || strings.ContainsFunc(first, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return ": " + wire.Redact(errors.New(first)).Error()
}

func (c *condition) Unwrap() []error { return []error{c.is, c.cause} }

// hinted is an error with what its reader may want to know.
type explainedError struct {
	err         error
	explanation string
}

func (h *explainedError) Error() string { return brief(h.err) + " (" + h.explanation + ")" }
func (h *explainedError) Unwrap() error { return h.err }

// LimitError is a limit of the service that a property, an entity or a query exceeds, or falls short of. No request was sent.
type LimitError struct {
	Field string // the property, option or argument, or "" for the entity or query as a whole
	Limit string // what is counted: a plural
	Got   int
	Max   int
}

func (e *LimitError) Error() string { return (*edm.LimitError)(e).Error() }

// ValueError is a value or a name that the service cannot store or compare with. No request was sent.
type ValueError struct {
	Field  string
	Reason string
	Err    error // what the field's own type says, if that is the cause; it may hold data, so Error leaves it out
}

func (e *ValueError) Error() string { return (*edm.ValueError)(e).Error() }

// Unwrap returns Err.
func (e *ValueError) Unwrap() error { return e.Err }

// DecodeError is a stored property that does not fit its field, or a response that cannot be read.
type DecodeError struct {
	Field  string // the property, or "" for the response as a whole
	Reason string
	Err    error // what the field's own type says, if that is the cause; it may hold data, so Error leaves it out
}

func (e *DecodeError) Error() string { return (*edm.DecodeError)(e).Error() }

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// VersionError is a row of a version that cannot be read here.
type VersionError struct {
	Type      string // the schema's, or ""
	Got, Want int    // the row's version, and the one that is registered
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

// TypeError is a Go type that cannot be stored. It comes from New and As.
type TypeError struct {
	Type   reflect.Type
	Field  string // the field of Type, or "" for the type as a whole
	Reason string
}

func (e *TypeError) Error() string { return (*edm.TypeError)(e).Error() }

// unknown tells whether an error leaves the outcome of a write open.
func unknown(err error) bool { return errors.Is(err, ErrUnknownOutcome) }

// derived tells whether a maintainer or an outbox has something against a write. The write path has tried again where that
// could help.
func derived(err error) bool {
	var de *DerivedError
	return errors.As(err, &de) || errors.Is(err, ErrOutbox)
}

// foreign is an error of somebody else's code, which may come from writes of its own: that their outcome is unknown says nothing
// of ours.
type foreign struct{ err error }

func (f foreign) Error() string { return f.err.Error() }
func (f foreign) Is(target error) bool {
	return target != ErrUnknownOutcome && errors.Is(f.err, target)
}
func (f foreign) As(target any) bool {
	_, is := target.(**UnknownError)
	return !is && errors.As(f.err, target)
}

// public turns the codec's errors into this package's.
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
	}
	return err
}

// opError wraps what went wrong before or after a request.
func (c *core) opError(op string, k keys.Key, err error) error {
	if err == nil {
		return nil
	}
	if k.Err() != nil {
		k = keys.Key{} // the cause says what is wrong with it
	}
	e := &OpError{Op: op, Table: c.name, Key: k, Err: public(err)}
	var re *azcore.ResponseError
	var theirs foreign
	if _, is := err.(*BatchError); !is && !errors.As(err, &theirs) && errors.As(err, &re) {
		e.Code = re.ErrorCode
	}
	return e
}

// readError is the error of a request that reads.
func (c *core) readError(ctx context.Context, op string, k keys.Key, err error) error {
	return c.opError(op, k, conditioned(ctx, err))
}

// conditioned is an error of a request that reads, with the condition that it stands for. ctx is the context of the request, which
// says who ended a request that ran out of time.
func conditioned(ctx context.Context, err error) error {
	switch err.(type) {
	case *condition, *DecodeError, *edm.DecodeError:
		return public(err) // of what has been read
	}
	err = wire.Redact(err)
	if is := known(err); is != nil {
		return &condition{is, err}
	}
	if wire.Unreached(ctx, err) {
		return &condition{ErrUnreachable, err}
	}
	return err
}

// unreadable is the error of a request that reads: a *DecodeError where a response of status 200 came whole and the SDK could not
// read it.
func unreadable(call *wire.Call, err error) error {
	if call.Status() != http.StatusOK {
		return err
	}
	if body, berr := call.Body(); berr != nil || len(body) == 0 {
		return err
	}
	return &DecodeError{Reason: "it is neither an entity nor a page", Err: err}
}

// writeError is the error of a request that writes: refused, not sent, or unknown.
func (c *core) writeError(op string, k keys.Key, call *wire.Call, err error) error {
	return c.opError(op, k, c.judged(call, wire.Redact(err)))
}

// judged names the condition of a write that failed.
func (c *core) judged(call *wire.Call, err error) error {
	switch call.Verdict(err) {
	case wire.Refused:
		if is := known(err); is != nil {
			return &condition{is, err}
		}
		if call.Unreached(err) {
			return &condition{ErrUnreachable, err}
		}
	case wire.NotSent:
		if call.Unreached(err) {
			return &condition{ErrUnreachable, err}
		}
	case wire.Unknown:
		return &condition{ErrUnknownOutcome, err}
	}
	return err
}

// known names the condition that the service's error code stands for.
func known(err error) error {
	var re *azcore.ResponseError
	if !errors.As(err, &re) {
		return nil
	}
	switch re.ErrorCode {
	case "ResourceNotFound", "EntityNotFound":
		return ErrNotFound
	case "TableNotFound":
		return ErrTableNotFound
	case "EntityAlreadyExists", "TableAlreadyExists":
		return ErrExists
	case "UpdateConditionNotSatisfied", "ConditionNotMet":
		return ErrChanged
	}
	return nil
}
