// Package table reads and writes entities of a Go type in one table of Azure Table storage, on the
// official SDK.
//
// A [Table] binds a Go type to the two keys of a row:
//
//	type Employee struct {
//		Department string // in the PartitionKey
//		ID         int    // in the RowKey
//		LastName   string
//		Age        int32
//	}
//
//	var (
//		dept  = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
//		empid = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
//		age   = table.FieldOf(func(e *Employee) *int32 { return &e.Age })
//	)
//
//	company := aztablekit.Open(acc, "company", nil)
//	staff := aztablekit.Table(company, "staff", dept, empid)
//	err := company.Ensure(ctx) // creates the table
//
// Employee 223 has the PartitionKey Sales, the RowKey empid_000223, and the properties LastName and
// Age.
//
// # Reading
//
// [Table.Get] reads one entity. [Table.List] reads the entities of a [Query]: a partition, a range
// of rows, conditions on properties. A query without a partition fails with [ErrTableScan] unless
// Query.TableScan is set. A [Cursor] stores a list's position. A [View] reads some properties, and
// a [Mixed] reads entities of several types.
//
// # Writing
//
// An [Entity] contains the ETag of its row. Replace, Merge and Delete fail with [ErrChanged] if a
// concurrent writer has changed the row. [Table.Update] reads, changes and replaces, and repeats
// this after a conflict. Upsert, and methods with Any in their names, overwrite any version.
//
// A write is applied, or fails with an error that says why, or fails with [ErrUnknownOutcome].
// After a lost response, the library sends the operation again with the same operation ID, which
// shows whether an earlier request was applied. docs/writes.md lists the limitations; the outcomes
// of a [Table.Exact] handle can always be resolved.
//
// # Several rows
//
// [Transact] applies all of its operations on entities of any types in one partition, or none. A
// function of txn.Run reads rows and writes what follows from them. [Bulk] applies a stream of
// operations of any length, and [BulkDelete] deletes the rows of a query.
//
// # Derived rows and effects
//
// Package index derives rows from entities, such as secondary indexes, and changes them in the
// transaction of the entity. Package eventual executes effects. Package extend is for authors of
// other maintainers. All writers of a table declare the same definitions: the catalogue of the
// table refuses a program that lacks one ([ErrNotDeclared]). A write by key (Upsert, methods with
// Any) reads the row first, to find out whether it has derived rows, unless [Options].BlindWrites
// is set.
//
// # Limits and requests
//
// The service's limits are checked before anything is sent. Errors are typed ([LimitError],
// [ValueError], [keys.KeyError]) and name the field and the limit. Each method's comment says how
// many requests it makes, [Table] what maintainers add.
//
// # Names in rows
//
// The library owns keys that begin with ~, and the properties _op, _life, _ix, _sys, _type, _v,
// _parts, _part and _tx. Lists leave such rows out.
//
// # Terms
//
//   - Operation ID: the ID of one write, stored as _op in each row that the write stores.
//   - Read-back: reading a row to learn the outcome of a write.
//   - Conflict: a concurrent writer has changed a row first.
//   - Incarnation: one existence of a key, from insert to delete (_life).
//   - Derived row: a row that a maintainer has made from an entity.
//   - Maintainer state: the keys of an entity's derived rows, stored with the entity (_ix).
//   - Effect: work that is due outside the partition once a write is committed.
//   - Commit record (package extend, RowKey ~i| and the operation ID): a row in the write's own
//     transaction. It proves the commit, and contains the effects that are still to be done.
//   - Abort record: a row in the commit record's place. The write can no longer commit.
//   - Notification: a message that names a commit record.
//
// # Errors
//
// [Applied] tells what became of the write that returned an error, and [Retryable] whether the same
// call may succeed later. The variables of this package are the errors that a program may tell
// apart.
//
// # Errors of a read
//
// A method that reads rows returns an *[OpError] around one of these errors, besides the errors
// that its comment names:
//
//   - [ErrUnreachable]: the service was not reached, could not answer, or denied access.
//   - [ErrNotCreated]: the table does not exist.
//   - *[keys.KeyError]: the key, or the range of a query, is invalid. Nothing was sent.
//   - *[DecodeError]: a response cannot be read.
//   - *[VersionError]: the row is of a version that the schema does not know.
//   - [ErrContended]: the entity has parts, and concurrent writers changed them during each of 5
//     reads.
//   - context.Canceled or context.DeadlineExceeded: the caller's context has ended.
//   - *azcore.ResponseError alone: the service refused the request for another reason.
//
// If a write over several partitions, such as [Table.Move], has prepared the row, a read by key
// ends that write first. This can fail with [ErrRanged], [ErrContended] or [ErrUnknownOutcome], and
// a list with [ErrRanged]. It fails with another error if the table of the write is gone or is not
// one of the store.
//
// # Errors of a write
//
// A method that writes returns an *[OpError] around one of these errors, besides the errors that
// its comment names:
//
//   - [ErrUnknownOutcome]: the write may be applied or not. After an exact write, the error is an
//     *[UnknownError].
//   - *[LimitError], *[ValueError], *[keys.KeyError]: the entity cannot be stored, or an argument
//     is wrong.
//   - [ErrUnreachable], [ErrNotCreated]: as above. Nothing was written.
//   - context.Canceled or context.DeadlineExceeded: the caller's context ended before the write was
//     sent.
//   - [ErrContended]: concurrent writers changed a row that the write reads first, at each attempt.
//   - [ErrNotDeclared], [ErrNotRecorded]: the table or the row has definitions, derived rows or
//     parts that this handle lacks.
//   - *[DerivedError]: a maintainer refused the write, for example with [ErrForeignRow], or with
//     [ErrTaken] for a unique value.
//   - [ErrOutbox], [ErrGivenUp]: the handle has an outbox or is exact, and the write was given up.
//     Nothing was written.
//   - Errors of a read, if the write reads rows first.
//   - *azcore.ResponseError alone: the service refused the request for another reason.
package table
