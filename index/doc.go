// Package index keeps rows that follow from entities: secondary indexes, lists, details of one entity in another, and summaries ('Azure
// Table storage table design guide': secondary indexes, index entities, denormalization). They are in the partition of their entities
// and change in the same transaction, unless a definition has [Elsewhere] or [Global].
//
// An index stores more rows for each entity, under other keys. A definition says which, and has the methods that look entities up:
//
//	var byEmail = index.New("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) {
//		return e.Email, e.Email != "" // an employee without an address is not in the index
//	}, &index.Options[Employee]{Unique: index.InPartition})
//
//	staff, err := index.Attach(base, byEmail, byLastName) // base is a *table.Table[Employee]
//
//	e, err := byEmail.Get(ctx, staff, dept.Of("Sales"), "JonesJ@contoso.com") // 1 request
//
// All writes by the handle of [Attach] update the rows. Employee 223 is stored twice, under empid_000223 and under
// email_jonesj@contoso.com. Lists show her once.
//
// # Definitions
//
//   - [Index]: a row for each entity and value. A full copy by default, from which 1 request reads the entity; a copy of some
//     fields; or a pointer. Unique or not, with several values for an entity ([NewMulti]), over several fields
//     ([keys.Struct2]). Entities may be left out.
//   - [Lists]: one row for all entities with a value.
//   - [Details]: fields of one entity in another, such as the manager's in the department.
//   - [Summary]: counts, sums, least and greatest values of a group, in one row.
//
// # Guarantees
//
// At every instant, the stored index has every match, and a stored summary is exact: derived rows are written in the transaction of
// their entity. Rows elsewhere follow, except unique ones. A unique value has one owner, in its partition or everywhere.
//
// # Not guaranteed
//
// A query of several requests, or by pointers, may miss an entity that just got the value.
//
// A program that writes entities without this library leaves index rows as they are; package verify reports and repairs them.
// A handle that lacks a definition fails with [ErrUnknownIndex] for an entity that has its rows; its inserts succeed without them. docs/indexes.md describes rows of other programs, and how to change an index in use.
//
// # Costs
//
// A write of a loaded entity is 1 request, with up to 97 derived rows. Writes by key read the row
// first. Lists, summaries and details are shared by several entities: a write that changes one reads it first, 1 request more, and
// is replanned after a conflict. A look-up in a full copy is 1 request, by a pointer 2. A list is 1 request for each 1,000 rows; by
// pointers, 1 more for each entity, 10 at a time. A partition takes about 2,000 rows a second, index rows included.
package index
