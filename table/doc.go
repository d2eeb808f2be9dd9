// Package table is the typed core: entities of a Go type in one table of Azure Table storage, on the official SDK.
//
// A [Table] is made of the SDK's ServiceClient, a table name and a [Schema], which binds the two keys to fields of the type,
// both ways:
//
//	type Employee struct {
//		Department string // in the PartitionKey
//		ID         int    // in the RowKey
//		LastName   string
//		Age        int32
//	}
//
//	var (
//		dept  = keys.Tuple1(keys.Text())
//		empid = keys.Tuple1(keys.Digits[int](6)).Named("empid")
//		age   = table.FieldOf(func(e *Employee) *int32 { return &e.Age })
//	)
//
//	staff, err := table.New(service, "staff", table.Schema[Employee]{
//		Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
//		Row:       keys.Bind1(empid, func(e *Employee) *int { return &e.ID }),
//	}, nil)
//
// The row of employee 223 in Sales then has the PartitionKey Sales, the RowKey empid_000223, and the properties LastName and
// Age. Other types may live in the same partition: each sees its own rows.
//
// # Reading
//
// [Table.Get] is a point query. A [Query] is a value that names a partition, a range of rows and conditions on properties;
// its class tells what it costs, and one that would scan the table is refused unless that is asked for by name.
// [Table.List] follows the service's pages, empty ones included. A [Cursor] is where a list stands: it can be left at any
// point and be taken up by another process; [Table.Page] is that for programs that show pages. A [Budget] bounds what a list
// may cost. [As] reads a narrower type, and only its properties travel.
//
// [Table.GetMany] reads rows by their keys, several at a time; [Table.Exists], [Table.Count] and [Table.Partitions] read
// nothing but keys; [Table.EachPartition] works on all partitions at once.
//
// # Writing
//
// Verbs take and renew an [Entity], which carries the row's ETag: a row that somebody else has changed is not overwritten
// but reported as [ErrChanged]. [Table.Update] reads, changes, replaces and repeats that when it lost a race. A write that
// overwrites whatever version there is has Any in its name, or is an Upsert.
//
// A write ends in one of three ways: done; refused, with an error that says why; or [ErrUnknownOutcome]. The SDK's own
// repetition of writes, which turns a lost reply into 'exists' or into a change that is made twice, is switched off for the
// library's calls on any client. In its place, every row carries the name of the write that it is from (the property _op,
// unless Common.NoOp says otherwise), and a write whose reply was lost is sent again under the same name ([Retry]): what it
// then meets is its own work or somebody else's, and the row says which, for one more request. A refusal that might be that of
// a request which arrived twice is looked at in the same way. So the outcome is unknown only where
//
//   - the context, or the write's own time and tries, are over;
//   - a delete finds the row gone, which says nothing of who was first;
//   - the row, or one that must be free for it, carries the name of a third write, which may have come after ours or in its
//     place.
//
// What no row can tell: a request that the network repeats of itself, and whose work a rival overwrites before anybody looks,
// is taken for refused, and so is a delete whose request arrives twice. An insert whose row a rival deletes before anybody
// looks may be done once more, and so may what goes past the ETag, over what rivals have written since; each may also arrive
// late, when its caller has long been told. Programs that write to a row beside this library are not seen by its name.
//
// # Exact writes
//
// [Table.Exact] closes that: an intent, a small row beside the entity, is stored first in the same transaction, and tells for
// good whether the write was done; where it is absent, a marker in its place stops the write wherever it may be. The outcome is
// then unknown only when the context is over, as an [UnknownError] that can be resolved later, by anybody who has its names
// ([Intents.Resolve]). Intents are kept for a day; [Table.SweepIntents] deletes them. What an exact write relies on: clocks that
// agree to within hours, names of writes that never meet (80 bits of chance), and nobody else who deletes rows below ~i|.
//
// # Writing several rows
//
// [Transact] takes operations on entities of any types in one partition and does all of them or none:
//
//	table.Transact(ctx, staff.ReplaceOp(e), reviews.InsertOp(&review))
//
// A [BatchError] names the operation that failed. [InPartition] reads several rows, writes what follows from them, and begins
// again where others were faster. [Table.Rekey] moves a row to another key of its partition.
//
// [Bulk] carries out a stream of any length in as few transactions as there can be, several partitions at once, in memory that
// does not grow; [Table.DeleteQuery] deletes what a query finds.
//
// # Rows that follow from others
//
// A [Maintainer] keeps what is derived from entities: index rows, lists, sums, copies. [Table.With] attaches it, and then every
// verb and every transaction plans its rows into the same transaction as the entity, for the one request that it costs anyway:
//
//	staff, err := staff.With(nil, byEmail, byLastName)
//
// What a maintainer derives is a function of what is stored: [Change] holds the entity before and after, from the row as it was
// loaded and not from what the program has done to its value since. All maintainers of all entities of a transaction add to one
// [Plan], kept by RowKey, so that a unique value can change hands, and a list that two entities belong to is written once. The
// entity's row is always written by its ETag; a derived row that is not as it should be is read and put right with the write.
//
// Effects are work in other partitions, tables or services. A write that has effects is announced to an [Outbox] first, commits
// with an intent that holds them, and is then shown to the outbox's workers, who carry them out at least once. A worker that
// comes too early or too late asks the intent: [Intents.Resolve] makes sure that what is not committed by then never is. So no
// effect of a committed write is lost, and none of another is carried out, whoever crashes when. Writing needs the outbox and
// the table; when the outbox is down, writes with effects are refused with [ErrOutbox] before anything is done.
//
// All writers of a table must use handles with the same maintainers. A handle that lacks one refuses to change an entity that
// has its derived rows ([ErrUnknownMaintainer]). To see that, writes that go by the key alone, Upsert and those with Any, read the row
// first. A program whose rows have no derived rows saves that request by [Options].BlindWrites.
//
// # Many types, many versions
//
// Types are told apart by their layouts, or by the property _type that [Schema].Type writes; versions by _v, with functions
// that upgrade older rows when they are read. [NewTypes] gives each row as its own type; a Table[Row] reads and writes rows
// of any type as bags of properties. What a program does not know of a row, it leaves there.
//
// # Signatures
//
// A [Grant] is a shared access signature for a range of keys.
//
// # What is checked before anything is sent
//
// The service's rules for keys, property names, types, lengths, the size of an entity, of a filter and of a transaction.
// Errors are typed ([LimitError], [ValueError], [keys.KeyError]) and name the field and the limit.
//
// # The row space
//
// RowKeys and PartitionKeys that begin with ~ belong to the library, as do the properties _op, _life, _ix, _type,
// _v and _sys. Rows below ~i| are intents. Lists never show those rows. A program that reads the table
// without this library finds rows as shown above.
//
// # Requests
//
// Each verb's comment says how many requests it makes. A [Counter] counts them in production and in tests; a tracing
// provider in [Common] shows them as children of the verb's span.
package table
