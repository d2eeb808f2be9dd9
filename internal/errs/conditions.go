// Package errs declares the errors that the library returns. Package table names them again, for
// programs.
package errs

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// The conditions that callers distinguish. Package table documents each.
var (
	ErrNotFound       = errors.New("no such row")
	ErrExists         = errors.New("exists already")
	ErrChanged        = errors.New("the row has changed since it was read")
	ErrContended      = errors.New("concurrent writers changed the row at every attempt")
	ErrNotCreated     = errors.New("no such table, queue or container")
	ErrUnknownOutcome = errors.New("the outcome of the write is unknown")
	ErrCosmosDB       = wire.ErrCosmosDB
	ErrUnreachable    = errors.New("the service could not be reached, or did not let the caller in")
	ErrKeyChanged     = errors.New("fields of the key were changed, but a row keeps its key; Move and UpdateAndMove move it")
	ErrNotRead        = errors.New("the entity was not read from its table as a whole")
	ErrGivenUp        = errors.New("the write was given up; nothing of it was applied, nor will be")
	ErrOutbox         = errors.New("the outbox did not store the notification")
	ErrNotDeclared    = errors.New("the table keeps what this program does not declare in this form")
	ErrNotRecorded    = errors.New("the table's catalogue does not name what this program declares")
	ErrNotReadable    = errors.New("the definition cannot be looked up yet")
	ErrBudget         = errors.New("the budget of the query is used up")
	ErrForeignRow     = errors.New("the row belongs to another type, definition or program")
	ErrAltered        = errors.New("the blob is not the one that its entity names")
	ErrIncomplete     = errors.New("what was read is only a part")
	ErrTaken          = errors.New("the value is taken")
	ErrTableScan      = errors.New("the query would scan the table; set Query.Partition, or Query.TableScan if that is meant")
	ErrNoEndpoint     = errors.New("account: the account was opened without an endpoint for this service; set it in Endpoints or in the connection string")
	ErrRanged         = errors.New("the signature is for a range of keys, so the rest of the table is not visible")
)

// The conditions that the library distinguishes, and programs do not.
var (
	ErrTableNotFound     = Of(ErrNotCreated, "no such table")
	ErrContainerNotFound = Of(ErrNotCreated, "no such container")
	ErrQueueNotFound     = Of(ErrNotCreated, "no such queue")
	ErrPartial           = &kind{"the entity is not the whole row", ErrNotRead}
	ErrNoETag            = &kind{"the entity has no ETag of a stored row", ErrNotRead}
	ErrUnknownMaintainer = &kind{"the row has derived rows of a maintainer that this handle lacks", ErrNotDeclared}
	ErrUnknownParts      = &kind{
		"the entity has parts, which this handle does not read; give the fields their parts by tags, or set Schema.Parts", ErrNotDeclared,
	}
	ErrOtherType      = &kind{"the row is of another type", ErrForeignRow}
	ErrOldVersion     = &ValueError{Field: "the entity", Reason: "is of an older version than the schema's; Replace it, or use Update"}
	ErrDuplicateRow   = &ValueError{Field: "the transaction", Reason: "contains another operation on this row"}
	ErrOtherPartition = &ValueError{Field: "the row", Reason: "is in another partition than the transaction"}
	ErrExpired        = errors.New("the write is older than the retention of commit records, so a missing record proves nothing")
)

// Of returns a condition with a text of its own that is, for programs, another one.
func Of(is error, text string) error { return &kind{text, is} }

// kind is a condition that is one of several kinds of a condition that programs distinguish.
type kind struct {
	text string
	of   error
}

func (k *kind) Error() string { return k.text }
func (k *kind) Unwrap() error { return k.of }

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

// Condition is one of the conditions, and the error of the service or the transport behind it.
type Condition struct{ Is, Cause error }

// With returns a condition with its cause.
func With(is, cause error) *Condition { return &Condition{is, cause} }

func (c *Condition) Error() string {
	if BeingDeleted(c.Cause) {
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

// BeingDeleted reports whether an error means that a table was dropped, and that the service has
// not deleted it yet.
func BeingDeleted(err error) bool {
	var re *azcore.ResponseError
	return errors.As(err, &re) && re.ErrorCode == "TableBeingDeleted"
}

// Cause returns what is behind a condition.
func Cause(err error) error {
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

// UserCodeError is an error of the code of a maintainer or an outbox. Such code may write on its
// own: if the error contains ErrUnknownOutcome, that is about its write, and not about this one.
type UserCodeError struct{ Err error }

func (e UserCodeError) Error() string { return e.Err.Error() }

// Is reports whether the error is target, but never ErrUnknownOutcome.
func (e UserCodeError) Is(target error) bool {
	return target != ErrUnknownOutcome && errors.Is(e.Err, target)
}

// As finds an error in the user's error, but no *UnknownError.
func (e UserCodeError) As(target any) bool {
	_, is := target.(**UnknownError)
	return !is && errors.As(e.Err, target)
}

// IsUserCode reports whether an error comes from the code of a maintainer or an outbox.
func IsUserCode(err error) bool {
	return errors.As(err, new(UserCodeError))
}

// brief marks errors whose texts contain no response of the service.
func (*Condition) brief()    {}
func (*Missing) brief()      {}
func (*HomeError) brief()    {}
func (*Explained) brief()    {}
func (*DerivedError) brief() {}
func (*BatchError) brief()   {}
func (*UnknownError) brief() {}
func (UserCodeError) brief() {}

// Brief returns an error's text. The service's error prints the whole response, so its own text is
// left out.
func Brief(err error) string {
	var re *azcore.ResponseError
	var missing *Missing // which says it in the place of the response
	if _, is := err.(interface{ brief() }); !is && !errors.As(err, &missing) && errors.As(err, &re) {
		return fmt.Sprintf("the service answered %d", re.StatusCode) + said(re)
	}
	return err.Error()
}

// said is what the service says about a request that it does not allow. Its messages about other
// errors may contain data.
func said(re *azcore.ResponseError) string {
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
