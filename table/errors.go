package table

import (
	"errors"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// The conditions that callers tell apart, with errors.Is. errors.As with *azcore.ResponseError finds the service's own error, if
// there is one.
var (
	// ErrNotFound: there is no such row.
	ErrNotFound = errs.ErrNotFound
	// ErrExists: the row to be inserted, or the table to be created, exists.
	ErrExists = errs.ErrExists
	// ErrChanged: the row has changed since the entity was read. Read it again, or use Update or UpdateAndMove. After a move that
	// another program has made first, the error is also ErrNotFound, because the old key has no row.
	ErrChanged = errs.ErrChanged
	// ErrContended: concurrent writers changed a row that the write had to read, at every attempt until Retry.ConflictAttempts or
	// the time was used up. This happens to rows that several entities share, such as lists and sums, and to writes by key (Upsert,
	// and methods with Any in their names). Nothing was written.
	ErrContended = errs.ErrContended
	// ErrTableNotFound: the table does not exist, or is being deleted. Store.Ensure creates it.
	ErrTableNotFound = errs.ErrTableNotFound
	// ErrUnknownOutcome: a response to a write was lost, or did not say whether the write was applied (429, 5xx), and the row does
	// not tell whether the write was applied. It may have been applied, may still be applied, or may never be. The entity cannot be
	// used until it is read again. A read at once proves nothing about a write that is still on its way. The error of an exact
	// write is an *UnknownError, unless another program has deleted its commit record.
	ErrUnknownOutcome = errs.ErrUnknownOutcome
	// ErrUnreachable: the service was not reached, did not answer, was not able to answer (429, 5xx), or did not let the caller in
	// (401, 403). A response without the service's headers (x-ms-request-id, x-ms-version; of a refusal, also x-ms-error-code), as of
	// a proxy or a captive portal, is no answer. The error says nothing about the row. A write was not applied, and the same request
	// may succeed later. If the request of a write may have arrived, the error is ErrUnknownOutcome instead; if the caller's own
	// context has ended, it is the context's.
	ErrUnreachable = errs.ErrUnreachable
	// ErrCosmosDB: the service is Azure Cosmos DB, and the request was not sent. Only clients with [ClientOptions] find this out.
	ErrCosmosDB = errs.ErrCosmosDB
	// ErrKeyChanged: fields that the key is made of were changed before Replace or in Update. Rekey, Move and UpdateAndMove move
	// the row.
	ErrKeyChanged = errs.ErrKeyChanged
	// ErrPartial: only some properties of the entity were read, so that Replace would delete the other properties. Get it first,
	// or merge. An entity from a copy of some properties ([Entity.Partial]) has no ETag either, so that Merge and Delete are
	// refused as well: Get it by its Key, or let the index read entities (index.Options.ReadEntities).
	ErrPartial = errs.ErrPartial
	// ErrNoETag: the entity was not read from the table or written to it, so it has no ETag.
	ErrNoETag = errs.ErrNoETag
	// ErrGivenUp: an exact write used up its attempts, or another process resolved it. Nothing was written, and nothing will be.
	ErrGivenUp = errs.ErrGivenUp
	// ErrExpired: the write is older than a day and has no commit record any more, so its outcome cannot be
	// resolved.
	ErrExpired = errs.ErrExpired
	// ErrOutbox: the outbox did not store the notification of the write. Nothing was written.
	ErrOutbox = errs.ErrOutbox
	// ErrUnknownParts: the entity has parts, and this handle does not maintain them. Give the fields of T their parts by tags, or set
	// Schema.Parts.
	ErrUnknownParts = errs.ErrUnknownParts

	// ErrUnknownMaintainer: the entity has maintainer state of a maintainer that this handle lacks, so a write would leave that
	// maintainer's rows behind. Write by a handle that has the maintainer; see aztablekit.Table.
	ErrUnknownMaintainer = errs.ErrUnknownMaintainer
	// ErrNotDeclared: the table has a definition that this program lacks, or has in another form,
	// or other layouts of its keys, so that its writes would make the look-ups of other programs
	// wrong. ErrNotRecorded: the table's catalogue does not name a definition of this program; call
	// aztablekit.Store.Ensure. ErrNotReadable: a look-up by a definition that is not filled yet, or
	// is being retired. The *CatalogueError around them names the definition, its state, and the
	// way out. Nothing was sent.
	ErrNotDeclared = errs.ErrNotDeclared
	ErrNotRecorded = errs.ErrNotRecorded
	ErrNotReadable = errs.ErrNotReadable
	// ErrForeignRow: a derived row would take the place of a row of another type, definition or program. That row is neither
	// replaced nor deleted. The *DerivedError around it contains the row's key.
	ErrForeignRow = errs.ErrForeignRow
	// ErrRanged: the client's signature is for a range of keys, so that lists leave out rows without an error. The method would
	// have to conclude from a list that a row does not exist. See account.Grant.
	ErrRanged = errs.ErrRanged
	// ErrBudget: the list has used up its Query.Budget, and more entities follow. The entities before the error are complete.
	ErrBudget = errs.ErrBudget
	// ErrDuplicateRow: a transaction contains two operations on one row.
	ErrDuplicateRow = errs.ErrDuplicateRow
	// ErrOtherPartition: a transaction contains operations on two partitions.
	ErrOtherPartition = errs.ErrOtherPartition
	// ErrTableScan: the query names no partition and would read the whole table. Set Query.TableScan if that is meant.
	ErrTableScan = errs.ErrTableScan

	// ErrOtherType: the type that is stored in the row (_type) is another type.
	ErrOtherType = errors.New("the row is of another type")
	// ErrOldVersion: the stored row is of an older version than the entity, so a merge would mix the two. Replace it first.
	ErrOldVersion = errors.New("the stored row is of an older version; Replace it, or use Update")
)

// The typed errors, with errors.As. Each field is documented at the type's declaration.
type (
	// OpError is the error of an operation on a row: the method (Op), the Table, the Key (zero for queries, and if the key itself is
	// wrong), the service's error Code, and Err: one of the errors of this package ([ErrNotFound] and so on), a typed error of this
	// package or of package keys, or the cause. Its text contains neither data of the row nor secrets, but the key and the table: it
	// is for logs, and not for users of a server.
	OpError = errs.OpError
	// BatchError names the operation because of which a transaction failed: its Index in the caller's list (-1 if the service did not
	// name one of it), and the Key of its row, or of the derived row that stood in its way. Nothing of the transaction was applied.
	// Err is one of the errors of this package ([ErrExists], [ErrChanged] and so on), a typed error of a check, or the service's
	// *azcore.ResponseError, whose Code stands beside.
	BatchError = errs.BatchError
	// BulkError is the error that ended bulk work: the Index of the operation in the stream, its Key, and its error Err. If no single
	// operation is the cause, as with [ErrUnknownOutcome] or a service that cannot be reached, Err is the error of the transaction
	// that begins with it.
	BulkError = errs.BulkError
	// DerivedError is the error of a write that failed because of a maintainer, with the Key of the derived row if there is one, and
	// the Owner, the entity that has the row, if the row is taken and contains its owner. Err is the maintainer's own error, such as
	// the one for a value that is taken, or one of the package's conditions.
	DerivedError = errs.DerivedError
	// CatalogueError: the table's catalogue does not allow the write or the look-up; see ErrNotDeclared.
	CatalogueError = errs.CatalogueError
	// UnknownError is an ErrUnknownOutcome that can be resolved: the context or the time of a write with a commit record ended before
	// the outcome was known. Another process can resolve it by Table, Partition and OperationID; see extend.Resolve. Its own
	// method Resolve does it here.
	UnknownError = errs.UnknownError
	// LimitError is an entity, property or query beyond a limit: the Field (a property if Property is set, else an option or argument;
	// "" for the entity or query as a whole), the Limit (what is counted, in the plural), and the numbers Got and Max. No request was
	// sent.
	LimitError = errs.LimitError
	// ValueError is a value or name that the service cannot store, or cannot compare with: the Field (a property if Property is set,
	// else an option or argument) and the Reason. Err is the error of the field's own type, if that is the cause; it may contain data,
	// so the text leaves it out. No request was sent.
	ValueError = errs.ValueError
	// DecodeError is a stored property that does not fit its Field, or a response that cannot be read (Field is ""), or the argument of
	// Row.UnmarshalJSON ("the JSON"), with the Reason. Err is the error of the field's own type, if that is the cause; it may contain
	// data, so the text contains only a *ValueError.
	DecodeError = errs.DecodeError
	// VersionError is a row of a version that this program cannot read: the Type of its schema, or "", the row's version (Got), and
	// the registered one (Want).
	VersionError = errs.VersionError
	// HomeError is returned if a Row is prepared by a write over several partitions, such as
	// [Table.MoveTo], whose commit record cannot be read: its Table is gone (Gone), or is none of
	// the store. Err is the service's error, if there is one.
	HomeError = errs.HomeError
	// TypeError is a Go Type that cannot be stored, because of a Field or as a whole, with the Reason. New and ViewOf return it.
	TypeError = errs.TypeError
	// TokenError is a token that a query cannot use, with the Reason. No request was sent.
	TokenError = errs.TokenError
)

// unknown reports whether an error leaves the outcome of a write open.
func unknown(err error) bool { return errors.Is(err, ErrUnknownOutcome) }

// derived reports whether the error of a write comes from a maintainer or an outbox. The write has been repeated already if that
// could help.
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

// partialError is why an entity that is partial cannot be written. It is also an ErrNoETag.
type partialError struct{}

func (partialError) Error() string {
	return "only some of its properties were read, and the others are zero: Get it by its Key, or let the index read entities (ReadEntities)"
}

func (partialError) Is(target error) bool { return target == ErrNoETag }

// nilArgument is the error of an argument that is nil.
func nilArgument(name string) error { return &ValueError{Field: name, Reason: "is nil"} }

// DefinitionError is a mistake in a definition, such as an index, or in its use. Nothing was written.
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
