package table

import (
	"errors"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// The conditions that callers tell apart, with errors.Is. errors.As with *azcore.ResponseError
// finds the service's own error, if there is one.
var (
	// ErrNotFound: there is no such row.
	ErrNotFound = errs.ErrNotFound
	// ErrExists: the row to be inserted, or the table to be created, exists.
	ErrExists = errs.ErrExists
	// ErrChanged: the row has changed since the entity was read. Read it again, or use Update or
	// UpdateAndMove. After a move that another program has made first, the error is also
	// ErrNotFound, because the old key has no row.
	ErrChanged = errs.ErrChanged
	// ErrContended: concurrent writers changed a row that the write had to read, at every attempt
	// until Retry.ConflictAttempts or the time was used up. This happens to rows that several
	// entities share, such as lists and sums, and to writes by key (Upsert, and methods with Any in
	// their names). Nothing was written.
	ErrContended = errs.ErrContended
	// ErrNotCreated: the table, the queue or the container of blobs does not exist; the text says
	// which. Store.Ensure creates it. A table may be on its way to be deleted, and the error is
	// then [Retryable].
	ErrNotCreated = errs.ErrNotCreated
	// ErrUnknownOutcome: a response to a write was lost, or did not say whether the write was
	// applied (429, 5xx), and the row does not tell whether the write was applied. It may have been
	// applied, may still be applied, or may never be. The entity cannot be used until it is read
	// again. A read at once proves nothing about a write that is still on its way. The error of an
	// exact write is an *UnknownError, unless another program has deleted its commit record.
	ErrUnknownOutcome = errs.ErrUnknownOutcome
	// ErrUnreachable: the service was not reached, did not answer, was not able to answer (429,
	// 5xx), or did not let the caller in (401, 403). A response without the service's headers
	// (x-ms-request-id, x-ms-version; of a refusal, also x-ms-error-code), as of a proxy or a
	// captive portal, is no answer. The error says nothing about the row. A write was not applied,
	// and the same request may succeed later. If the request of a write may have arrived, the error
	// is ErrUnknownOutcome instead; if the caller's own context has ended, it is the context's.
	ErrUnreachable = errs.ErrUnreachable
	// ErrKeyChanged: fields that the key is made of were changed before Replace or in Update. Move
	// and UpdateAndMove move the row.
	ErrKeyChanged = errs.ErrKeyChanged
	// ErrNotRead: the entity was not read from its table as a whole. It has no ETag, because it was
	// neither read from the table nor written to it, or because an index had a copy of some of its
	// properties ([Entity.Partial]); or only some of its properties were read, so that Replace
	// would delete the others. Get it by its Key first.
	ErrNotRead = errs.ErrNotRead
	// ErrGivenUp: an exact write used up its attempts, or another process resolved it. Nothing was
	// written, and nothing will be.
	ErrGivenUp = errs.ErrGivenUp
	// ErrOutbox: the outbox did not store the notification of the write. Nothing was written.
	ErrOutbox = errs.ErrOutbox
	// ErrNotDeclared: the table or the row has something that this program lacks or has in another
	// form, so that its write would leave it behind or wrong: a definition, derived rows, parts of
	// an entity (Schema.Parts), or other layouts of the keys. Declare the same as the other
	// programs. ErrNotRecorded: the table's catalogue does not name a definition of this program;
	// call aztablekit.Store.Ensure. ErrNotReadable: a look-up by a definition that is not filled
	// yet, or is being retired. The text names the definition, its state, and the way out. Nothing
	// was sent.
	ErrNotDeclared = errs.ErrNotDeclared
	ErrNotRecorded = errs.ErrNotRecorded
	ErrNotReadable = errs.ErrNotReadable
	// ErrTaken: another entity has the value of a unique index, its details are in the target of
	// this entity's details, or it has the derived entity of a view. The *DerivedError around it
	// contains the owner of the value, unless both entities are in one transaction. Check for it
	// before ErrExists, which the error also is if the service has found the row.
	ErrTaken = errs.ErrTaken
	// ErrAltered: a blob is not the one that its entity names: another program has altered or cut
	// it.
	ErrAltered = errs.ErrAltered
	// ErrIncomplete: what was read is only a part of the whole: an export that was not finished, a
	// list of poison that took too long, or the archive's row of an entity that is not moved yet.
	ErrIncomplete = errs.ErrIncomplete
	// ErrForeignRow: the row is of another type (_type), definition or program. It is neither read
	// as one of T, nor replaced nor deleted. If a derived row would take its place, a *DerivedError
	// contains its key.
	ErrForeignRow = errs.ErrForeignRow
	// ErrRanged: the client's signature is for a range of keys, so that lists leave out rows
	// without an error. The method would have to conclude from a list that a row does not exist.
	// See account.Grant.
	ErrRanged = errs.ErrRanged
	// ErrBudget: the list has used up its Query.Budget, and more entities follow. The entities
	// before the error are complete.
	ErrBudget = errs.ErrBudget
	// ErrTableScan: the query names no partition and would read the whole table. Set
	// Query.TableScan if that is meant.
	ErrTableScan = errs.ErrTableScan
)

// The typed errors, with errors.As. Each field is documented at the type's declaration.
type (
	// OpError is the error of an operation on a row: the method (Op), the Table, the Key (zero for
	// queries, and if the key itself is wrong), the service's error Code, and Err: one of the
	// errors of this package ([ErrNotFound] and so on), a typed error of this package or of package
	// keys, or the cause. Its text contains neither data of the row nor secrets, but the key and
	// the table: it is for logs, and not for users of a server.
	OpError = errs.OpError
	// BatchError names the operation because of which a transaction or bulk work failed: its Index
	// in the caller's list or stream (-1 if the service did not name one of a transaction), and the
	// Key of its row, or of the derived row that stood in its way. Nothing of the transaction was
	// applied. Err is one of the errors of this package ([ErrExists], [ErrChanged] and so on), a
	// typed error of a check, or the service's *azcore.ResponseError, whose Code stands beside. If
	// no single operation ended bulk work, as with [ErrUnknownOutcome], Err is about the
	// transaction that begins with it.
	BatchError = errs.BatchError
	// DerivedError is the error of a write that failed because of a maintainer, with the Key of the
	// derived row if there is one, and the Owner, the entity that has the row, if the row is taken
	// and contains its owner. Err is the maintainer's own error, such as the one for a value that
	// is taken, or one of the package's conditions.
	DerivedError = errs.DerivedError
	// UnknownError is an ErrUnknownOutcome that can be resolved: the context or the time of a write
	// with a commit record ended before the outcome was known. Another process can resolve it by
	// Table, Partition and OperationID; see extend.Resolve. Its own method Resolve does it here.
	UnknownError = errs.UnknownError
	// LimitError is an entity, property or query beyond a limit: the Field (a property if Property
	// is set, else an option or argument; "" for the entity or query as a whole), the Limit (what
	// is counted, in the plural), and the numbers Got and Max. No request was sent.
	LimitError = errs.LimitError
	// ValueError is a value or name that the service cannot store, or cannot compare with: the
	// Field (a property if Property is set, else an option or argument, such as a token) and the
	// Reason. Err is the error of the field's own type, if that is the cause; it may contain data,
	// so the text leaves it out. No request was sent.
	ValueError = errs.ValueError
	// DecodeError is a stored property that does not fit its Field, or a response that cannot be
	// read (Field is ""), or the argument of Row.UnmarshalJSON ("the JSON"), with the Reason. Err
	// is the error of the field's own type, if that is the cause; it may contain data, so the text
	// contains only a *ValueError.
	DecodeError = errs.DecodeError
	// VersionError is a row of a version that this program cannot read: the Type of its schema, or
	// "", the row's version (Got), and the registered one (Want).
	VersionError = errs.VersionError
	// DefinitionError is a mistake in a Definition, such as an index, or in its use: the Field of
	// the definition, an argument or an option, and the Reason. Err is the error of the field's own
	// package, if that is the cause. Nothing was written.
	DefinitionError = errs.DefinitionError
	// TypeError is a Go Type that cannot be stored, because of a Field or as a whole, with the
	// Reason. New and ViewOf return it.
	TypeError = errs.TypeError
)

// unknown reports whether an error leaves the outcome of a write open.
func unknown(err error) bool { return errors.Is(err, ErrUnknownOutcome) }

// derived reports whether the error of a write comes from a maintainer or an outbox. The write has
// been repeated already if that could help.
func derived(err error) bool {
	return errors.As(err, new(*DerivedError)) || errors.Is(err, ErrOutbox)
}

func either(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

var (
	errNil = &errs.ValueError{Field: "value", Reason: "is nil"}
	// errDoubt is the error of an entity whose last write is in doubt.
	errDoubt = errs.With(ErrUnknownOutcome, errors.New("of an earlier write to this entity; Get it again"))
)

// partialError is why an entity that is partial cannot be written. It is also an errs.ErrNoETag.
type partialError struct{}

func (partialError) Error() string {
	return "only some of its properties were read, and the others are zero: Get it by its Key, or let the rows of the index be pointers (Only)"
}

func (partialError) Is(target error) bool { return target == errs.ErrNoETag }

// nilArgument is the error of an argument that is nil.
func nilArgument(name string) error { return &ValueError{Field: name, Reason: "is nil"} }
