// Package table reads and writes entities of a Go type in one table of Azure Table storage, on the official SDK.
//
// A [Table] binds a Go type to the two keys of a row, in both directions:
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
// Employee 223 has the PartitionKey Sales, the RowKey empid_000223, and the properties LastName and Age.
//
// # Reading
//
// [Table.Get] reads one entity. [Table.List] reads the entities of a [Query]: a partition, a range of rows, conditions on
// properties. A query without a partition fails with [ErrTableScan] unless Query.TableScan is set. A [Cursor] stores the position
// of a list for another process. A [View] reads some properties, and a [Mixed] reads entities of several types.
//
// # Writing
//
// An [Entity] contains the ETag of its row. Replace, Merge and Delete fail with [ErrChanged] if a concurrent writer has changed the
// row. [Table.Update] reads, changes and replaces, and repeats this after a conflict. Upsert, and methods with Any in their names,
// overwrite any version.
//
// A write is applied, or fails with an error that says why, or fails with [ErrUnknownOutcome]. After a lost response, the library
// sends the operation again with the same operation ID, which shows whether an earlier request was applied. docs/writes.md lists
// the limitations; the outcomes of a [Table.Exact] handle can always be resolved.
//
// # Several rows
//
// [Transact] applies all of its operations on entities of any types in one partition, or none. [InPartition] reads rows and writes
// what follows from them. [Bulk] applies a stream of operations of any length, and [BulkDelete] deletes the rows of a query.
//
// # Derived rows and effects
//
// Package index derives rows from entities, such as secondary indexes, and changes them in the transaction of the entity. Package
// eventual executes effects. Package extend is for authors of other maintainers. All writers of a table must attach the same
// maintainers: a handle without them fails with [ErrUnknownMaintainer] if the row has derived rows, and reads the row before a
// write by key (Upsert, methods with Any) to find out, unless [Options].BlindWrites is set.
//
// # Limits and requests
//
// The service's limits are checked before anything is sent. Errors are typed ([LimitError], [ValueError], [keys.KeyError]) and name
// the field and the limit. Each method's comment says how many requests it makes; a requests.Counter counts them.
//
// # Names in rows
//
// The library owns keys that begin with ~, and the properties _op, _life, _ix, _type, _v and _sys. Lists leave such rows out.
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
//   - Commit record (package extend, RowKey ~i| and the operation ID): a row in the write's own transaction. It proves the commit, and contains
//     the effects that are still to be done. It is the outbox of the transactional outbox pattern.
//   - Abort record: a row in the commit record's place. The write can no longer commit.
//   - Notification: a message that names a commit record.
package table
