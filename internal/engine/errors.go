package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"unicode"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// The conditions that callers tell apart. Package table documents each.
var (
	ErrNotFound          = errors.New("no such row")
	ErrExists            = errors.New("exists already")
	ErrChanged           = errors.New("the row has changed since it was read")
	ErrContended         = errors.New("concurrent writers changed the row at every attempt")
	ErrTableNotFound     = errors.New("no such table")
	ErrUnknownOutcome    = errors.New("the outcome of the write is unknown")
	ErrCosmosDB          = wire.ErrCosmosDB
	ErrUnreachable       = errors.New("the service could not be reached, or did not let the caller in")
	ErrKeyChanged        = errors.New("fields of the key were changed, but a row keeps its key; Rekey moves it within its partition, and Move, which needs an outbox, to another")
	ErrPartial           = errors.New("the entity is not the whole row")
	ErrNoETag            = errors.New("the entity has no ETag of a stored row")
	ErrGivenUp           = errors.New("the write was given up; nothing of it was applied, nor will be")
	ErrExpired           = errors.New("the write is older than the retention of commit records, so a missing record proves nothing")
	ErrOutbox            = errors.New("the outbox did not store the notification")
	ErrUnknownParts      = errors.New("the entity has parts, which this handle does not read; give the fields their parts by tags, or set Schema.Parts")
	ErrUnknownMaintainer = errors.New("the row has derived rows of a maintainer that this handle lacks")
	ErrBudget            = errors.New("the budget of the query is used up")
	ErrDuplicateRow      = errors.New("the transaction contains another operation on this row")
	ErrOtherPartition    = errors.New("the row is in another partition than the transaction")
	ErrForeignRow        = errors.New("the row belongs to another type, definition or program")
	ErrRanged            = errors.New("the signature is for a range of keys, so the rest of the table is not visible")
)

// HomeError is table.HomeError.
type HomeError struct {
	Row       keys.Key
	Table     string
	Partition string
	Gone      bool
	Err       error
}

func (e *HomeError) Error() string {
	if e.Err != nil && !e.Gone {
		return fmt.Sprintf("the row %v was prepared by a write that cannot be ended: %s", e.Row, Brief(e.Err))
	}
	why := "is not one of the tables that this handle believes: name it in Options.MovedFrom if entities move from there"
	if e.Gone {
		why = "does not exist any more"
	}
	return fmt.Sprintf("the row %v was prepared by a write whose commit record is in table %q, which %s; commit.Records.FinishPrepared ends such writes by FinishOptions.Orphans", e.Row, e.Table, why)
}

func (e *HomeError) Unwrap() error { return e.Err }

// damagedError is the error of a preparation or a commit record that cannot be read.
type damagedError struct{ err error }

func (e damagedError) Error() string { return e.err.Error() }
func (e damagedError) Unwrap() error { return e.err }

// damaged returns a damagedError for an error of what a row contains, and any other error as it is.
func damaged(err error) error {
	var ve *VersionError
	var de *DecodeError
	if errors.As(err, &ve) || errors.As(err, &de) {
		return damagedError{err}
	}
	return err
}

// isDamage reports whether an error is that of a mark that is not believed: its commit record is in a table that the handle does not
// know, or what it names cannot be read.
func isDamage(err error) bool {
	var he *HomeError
	var de damagedError
	return errors.As(err, &he) && !he.Gone || errors.As(err, &de)
}

// isHomeError reports whether an error is that of a commit record that cannot be read.
func isHomeError(err error) bool {
	var he *HomeError
	return errors.As(err, &he)
}

// Error is an error as this package returns it. Package table makes it one of its own.
type Error = error

// The errors of the codec.
type (
	LimitError  = edm.LimitError
	ValueError  = edm.ValueError
	DecodeError = edm.DecodeError
)

var (
	errNil     = &ValueError{Field: "value", Reason: "is nil"}
	errNoTable = &ValueError{Field: "Op", Reason: "was made by no method of a table"}
)

// OpError is table.OpError.
type OpError struct {
	Op, Table string
	Key       keys.Key
	Code      string
	Err       error
}

func (e *OpError) Error() string { return "table: " + e.Op + ": " + Brief(e.Err) }
func (e *OpError) Unwrap() error { return e.Err }

// AddressErr returns the error of a key by which no row can be read or deleted. A row with an empty RowKey can be, because other programs
// store such rows. Writes check keys.Key.Err. Errors: *keys.KeyError.
func AddressErr(k keys.Key) error {
	if k.PartitionKey() == "" {
		return k.Err()
	}
	return QueryErr(k)
}

// QueryErr is AddressErr for a query, which also finds a row with an empty PartitionKey.
func QueryErr(k keys.Key) error {
	if err := k.Partition().Err(); err != nil {
		return err
	}
	return keys.Stored(cmp.Or(k.PartitionKey(), "p"), cmp.Or(k.RowKey(), "r")).Err()
}

// readable is a key for an error, or none if the error is about the key.
func readable(k keys.Key) keys.Key {
	if QueryErr(k) != nil {
		return keys.Key{}
	}
	return k
}

// BatchError is table.BatchError.
type BatchError struct {
	Index int
	Key   keys.Key
	Code  string
	Err   error
}

func (e *BatchError) Error() string { return fmt.Sprintf("operation %d: %s", e.Index, Brief(e.Err)) }
func (e *BatchError) Unwrap() error { return e.Err }

// DerivedError is table.DerivedError.
type DerivedError struct {
	Maintainer string
	Key        keys.Key
	Owner      keys.Key
	Err        error

	Verbatim bool // Err is to be shown alone: a maintainer has put its own words around the error of a Plan
}

func (e *DerivedError) Error() string { return "maintainer " + e.Maintainer + ": " + Brief(e.Err) }
func (e *DerivedError) Unwrap() error { return e.Err }

// VersionError is table.VersionError.
type VersionError struct {
	Type      string
	Got, Want int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has version %d, not %d", e.Type, e.Got, e.Want)
}

// Missing is the service's error about a table, a queue or a container that does not exist.
type Missing struct {
	Is   error  // the condition
	Name string // of what is missing, "" if that is not known
	Made string // the call that creates it
	Err  error  // the service's
}

func (m *Missing) Error() string {
	text := m.Is.Error()
	if m.Name != "" {
		text += " " + m.Name
	}
	return text + "; " + m.Made + " creates it"
}

func (m *Missing) Unwrap() []error { return []error{m.Is, m.Err} }

// Condition is one of the conditions above, and the error of the service or the transport behind it.
type Condition struct{ Is, Cause error }

func (c *Condition) Error() string {
	if beingDeleted(c.Cause) {
		return "the table is being deleted; the service refuses its name for 40 s or more, so try again later"
	}
	switch c.Is {
	case ErrUnknownOutcome, ErrUnreachable, ErrBudget, ErrGivenUp, ErrOutbox, ErrNoETag, ErrPartial:
		return c.Is.Error() + " (" + Brief(c.Cause) + ")"
	case ErrContended:
		for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
			if errors.Is(c.Cause, ended) {
				return c.Is.Error() + " (" + ended.Error() + ")"
			}
		}
	}
	return c.Is.Error()
}

func (c *Condition) Unwrap() []error { return []error{c.Is, c.Cause} }

// beingDeleted reports whether an error is that of a table that was dropped, and that the service has not deleted yet.
func beingDeleted(err error) bool {
	var re *azcore.ResponseError
	return errors.As(err, &re) && re.ErrorCode == "TableBeingDeleted"
}

// cause returns what is behind a condition.
func cause(err error) error {
	switch e := err.(type) {
	case *Condition:
		return e.Cause
	case *Missing:
		return e.Err
	}
	return err
}

// Explained is an error with an explanation for its reader.
type Explained struct {
	Err         error
	Explanation string
}

func (e *Explained) Error() string { return Brief(e.Err) + " (" + e.Explanation + ")" }
func (e *Explained) Unwrap() error { return e.Err }

// UserCodeError is an error of the code of a maintainer or an outbox. If it contains ErrUnknownOutcome, that is about another
// write, which this code has made.
type UserCodeError struct{ Err error }

func (f UserCodeError) Error() string { return f.Err.Error() }

// Is reports whether the error is target, but never ErrUnknownOutcome.
func (f UserCodeError) Is(target error) bool {
	return target != ErrUnknownOutcome && errors.Is(f.Err, target)
}

// The errors of this package print no responses of the service.
func (*Condition) brief()    {}
func (*Missing) brief()      {}
func (*HomeError) brief()    {}
func (*Explained) brief()    {}
func (*DerivedError) brief() {}
func (*BatchError) brief()   {}
func (UserCodeError) brief() {}

// Brief returns an error's text. The service's error prints the whole response, so its own text is left out.
func Brief(err error) string {
	var re *azcore.ResponseError
	var missing *Missing // which says it in the place of the response
	if _, is := err.(interface{ brief() }); !is && !errors.As(err, &missing) && errors.As(err, &re) {
		return fmt.Sprintf("the service answered %d", re.StatusCode) + sentence(re)
	}
	return err.Error()
}

// sentence is what the service says about a request that it does not allow. Its messages about other errors may contain data.
func sentence(re *azcore.ResponseError) string {
	if re.StatusCode != http.StatusForbidden && re.StatusCode != http.StatusUnauthorized || re.RawResponse == nil {
		return ""
	}
	var body struct {
		Error struct{ Message struct{ Value string } } `json:"odata.error"`
	}
	b, err := runtime.Payload(re.RawResponse)
	if err == nil && json.Unmarshal(b, &body) != nil {
		var asXML struct { // the form of a response to a wrong signature, whatever was requested
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

// conditioned adds the condition to an error of a request that reads. ctx is the context of the request: it tells who ended a
// request that ran out of time.
func conditioned(ctx context.Context, err error) error {
	switch err.(type) {
	case *Condition, *Missing, *DecodeError, *HomeError:
		return err // of what has been read
	}
	err = wire.Redact(err)
	if is := known(err); is != nil {
		return &Condition{is, err}
	}
	if wire.Unreached(ctx, err) {
		return &Condition{ErrUnreachable, err}
	}
	return err
}

// checkRead returns the error of a request that reads. If a complete response of status 200 came, there is none: whether it can be
// read, the library decides, and not the SDK.
func checkRead(call *wire.Call, err error) error {
	if call.Check(nil) == nil && call.Status() == http.StatusOK {
		if body, berr := call.Body(); berr == nil && len(body) > 0 {
			return nil
		}
	}
	return call.Check(err)
}

// withCondition adds the condition to an error of a request that writes.
func withCondition(call *wire.Call, err error) error {
	switch call.Outcome(err) {
	case wire.Refused:
		if is := known(err); is != nil {
			return &Condition{is, err}
		}
		if call.Unreached(err) {
			return &Condition{ErrUnreachable, err}
		}
	case wire.NotSent:
		if call.Unreached(err) {
			return &Condition{ErrUnreachable, err}
		}
	case wire.Unknown:
		return &Condition{ErrUnknownOutcome, err}
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
		return ErrNotFound
	case "TableNotFound", "TableBeingDeleted":
		return ErrTableNotFound
	case "EntityAlreadyExists", "TableAlreadyExists":
		return ErrExists
	case "UpdateConditionNotSatisfied", "ConditionNotMet":
		return ErrChanged
	}
	return nil
}

// isUnknown reports whether an error leaves the outcome of a write open.
func isUnknown(err error) bool { return errors.Is(err, ErrUnknownOutcome) }

func firstError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// dialing reports whether a request could not be sent because no connection was made, which may change soon.
func dialing(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// UnknownError is the error of a write with a commit record whose outcome is unknown. It can be resolved later.
type UnknownError struct {
	Table, Partition string
	ID               string // the operation ID
	Err              error

	write *write
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s (%s; its operation ID is %s)", ErrUnknownOutcome, Brief(cause(e.Err)), e.ID)
}

func (*UnknownError) brief() {}

func (e *UnknownError) Unwrap() []error { return []error{ErrUnknownOutcome, e.Err} }

// Resolve reports whether the write was applied; see table.UnknownError.Resolve.
func (e *UnknownError) Resolve(ctx context.Context) (done bool, err error) {
	w := e.write
	w.resolving.Lock()
	defer w.resolving.Unlock()
	if w.state != stateInDoubt {
		return w.state == stateCommitted, nil
	}
	ctx, end := w.table.Span(ctx, "Resolve")
	defer func() { end(err) }()
	ctx, cancel := Bound(ctx, w.table.Options.WriteTimeout)
	defer cancel()
	state, err := w.table.abort(ctx, e.Partition, e.ID, placesOf(w.currentPlan.remotes)...)
	if err != nil {
		return false, w.table.OpError("Resolve", RecordKey(e.Partition, e.ID), err)
	}
	if state != RecordAborted {
		w.state = stateCommitted
		w.showing = nil // the bulk work of the write has ended
		w.show(ctx)
		defer w.awaitShow()
		w.finish(ctx)
		w.applied(callersPart(w, w.etags(ctx, -1, "")))
		w.appliedRemotes()
		w.showLate(ctx)
		return true, nil
	}
	w.state = stateAborted
	_ = w.rollBack(ctx) // else a worker does it
	w.tellTargets(false)
	return false, nil
}

// newUnknownError is the error of a write with a commit record whose outcome is not known.
func (w *write) newUnknownError(err error) error {
	return &UnknownError{Table: w.table.Name, Partition: w.partition(), ID: w.id, Err: err, write: w}
}
